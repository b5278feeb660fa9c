// The graph as a predicate sees it in memory: rows and links of the file at the moment of the fetch, and what is pending.

internal import CipherSQLite

/// What one fetch asks about objects that it evaluates in memory.
///
/// What was not changed here is read anew, whatever a context has known of it: so the evaluation sees what the
/// statement sees. Of an object that was changed here stands what it holds, as the save compares it with the row.
final class PendingView {
  private let context: ObjectContext
  private let pending: PendingObjects
  private let reader: ContextReader
  private var related: RelatedRows
  /// By relationship and owner: who is at the other end.
  private var ends: [SlotPlace: [Int64: [ManagedObject]]] = [:]
  /// By the entity's index: whose row was read, and was there.
  private var read: [Set<Int64>]
  /// By the entity's index: whose row is gone.
  private var gone: [Set<Int64>]

  /// - Parameter entities: The indexes of those that the fetch looks at.
  init(_ context: ObjectContext, of entities: Set<Int>) throws {
    self.context = context
    reader = ContextReader(context: context)
    related = RelatedRows(context.pending, context.maps, reader)
    pending = try PendingObjects(context, of: entities, &related)
    read = Array(repeating: [], count: context.maps.count)
    gone = read
  }

  /// The objects of an entity that differ from the file.
  func changed(_ entity: EntityMapping) -> [ManagedObject] { pending.changed(entity) }

  /// The rows of an entity that memory decides about.
  func rows(of entity: EntityMapping) -> Set<Int64> { pending.rows(of: entity) }

  /// The rows of an entity that go with deleted objects, or are theirs.
  func doomedRows(of entity: EntityMapping) -> RowIDSet { pending.doomedRows(of: entity) }

  func isPresent(_ object: ManagedObject) -> Bool { pending.isPresent(object) }

  /// Whom a relationship of an object leads to; of one that ``follow(_:of:)`` was asked for.
  func ends(_ slot: Int, of object: ManagedObject) -> [ManagedObject] {
    guard let owner = object.entity?.slots[slot].relationship?.owner else { return [] }
    return ends[SlotPlace(entity: owner.index, slot: slot)]?[object.rowID] ?? []
  }

  /// Reads whom a relationship of objects leads to, for all of them at once.
  /// - Returns: Those at the other end.
  func follow(_ relationship: RelationshipMapping, of owners: [ManagedObject]) throws -> [ManagedObject] {
    let place = SlotPlace(entity: relationship.owner.index, slot: relationship.slot)
    var known = ends.removeValue(forKey: place) ?? [:]
    let asked = RowIDSet(owners.lazy.map(\.rowID).filter { known[$0] == nil })
    let links = try related.links(relationship, of: asked)
    let destination = relationship.destination
    let there = try present(RowIDSet(links.lazy.map(\.other)), destination)
    for id in asked { known[id] = [] }
    for link in links { if let object = there[link.other] { known[link.own]?.append(object) } }
    ends[place] = known
    var (found, seen): ([ManagedObject], Set<Int64>) = ([], [])
    for owner in owners {
      for object in known[owner.rowID] ?? [] where seen.insert(object.rowID).inserted { found.append(object) }
    }
    return found
  }

  /// The objects of some ids, as far as they are there once all is saved.
  private func present(_ ids: RowIDSet, _ entity: EntityMapping) throws -> [Int64: ManagedObject] {
    let (map, doomed) = (context.maps[entity.index], pending.doomedRows(of: entity))
    var found: [Int64: ManagedObject] = [:]
    var unknown: [Int64] = []
    for id in ids where !doomed.contains(id) {
      if let object = map.find(id),
        object.overlay != nil || object.state == .deleted || read[entity.index].contains(id)
      {
        if pending.isPresent(object) { found[id] = object }
      } else if id > 0, !gone[entity.index].contains(id) {
        unknown.append(id)
      }
    }
    for batch in unknown.chunked(batchSize) {
      let rows = try context.rows(batch, of: entity)
      read[entity.index].formUnion(rows.lazy.map(\.rowID))
      for object in rows where pending.isPresent(object) { found[object.rowID] = object }
    }
    gone[entity.index].formUnion(unknown.lazy.filter { !self.read[entity.index].contains($0) })
    return found
  }

  /// The rows of the file that lead to some rows by a relationship.
  func owners(_ relationship: RelationshipMapping, leadingTo ids: Set<Int64>) throws -> Set<Int64> {
    let sorted = ids.sorted()
    switch relationship.storage {
    case .column:
      let links = try reader.referrers(relationship.owner, relationship.slot, to: sorted)
      return Set(links.lazy.map(\.other))
    case .inverseColumn:
      guard let inverse = relationship.inverseSlot else { return [] }
      return Set(try reader.targets(relationship.destination, inverse, of: sorted).lazy.map(\.other))
    case .join(let table, let isSource):
      return Set(try reader.links(table, fromSource: !isSource, of: sorted).lazy.map(\.other))
    }
  }
}

/// An object with what is pending.
struct PendingSubject: PredicateSubject {
  let object: ManagedObject
  let view: PendingView

  var subjectID: Int64 { object.rowID }

  func value(of attribute: String) -> SQLValue { slot(attribute).flatMap { object.storedValue($0) } ?? .null }

  func target(of relationship: String) -> PendingSubject? { members(of: relationship).first }

  func members(of relationship: String) -> [PendingSubject] {
    guard let slot = slot(relationship) else { return [] }
    return view.ends(slot, of: object).map { PendingSubject(object: $0, view: view) }
  }

  private func slot(_ name: String) -> Int? { object.entity?.slot(named: name) }
}

/// The answers of the connection that a context reads on.
struct ContextReader: LinkReader {
  let context: ObjectContext

  private func asking<Result>(_ body: (ConnectionReader) throws -> Result) throws -> Result {
    context.statistics.queries += 1
    return try context.withConnection { try body(ConnectionReader(connection: $0)) }
  }

  func targets(_ entity: EntityMapping, _ slot: Int, of owners: [Int64]) throws -> [LinkEnds] {
    owners.isEmpty ? [] : try asking { try $0.targets(entity, slot, of: owners) }
  }
  func referrers(_ entity: EntityMapping, _ slot: Int, to targets: [Int64]) throws -> [LinkEnds] {
    targets.isEmpty ? [] : try asking { try $0.referrers(entity, slot, to: targets) }
  }
  func entities(of ids: [Int64], _ entity: EntityMapping) throws -> [(id: Int64, entity: EntityMapping)] {
    ids.isEmpty ? [] : try asking { try $0.entities(of: ids, entity) }
  }
  func links(_ table: JoinTable, fromSource: Bool, of ids: [Int64]) throws -> [LinkEnds] {
    ids.isEmpty ? [] : try asking { try $0.links(table, fromSource: fromSource, of: ids) }
  }
}
