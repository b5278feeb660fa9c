// The object graph for the evaluation of a predicate in memory: rows and links of the file at the time of
// the fetch, with the pending changes.

internal import CipherSQLite

/// The objects and relationships that one fetch evaluates in memory.
///
/// Unchanged objects are read again, even if the context has them in memory, so that the evaluation uses
/// the same data as the statement. A changed object keeps its values in memory, as the save compares them
/// with the row.
final class PendingView {
  private let context: ObjectContext
  private let pending: PendingObjects
  private let deletion: PlannedDeletion
  private var related: RelatedRows
  /// The targets or members, by relationship and by the owner's id.
  private var ends: [SlotPlace: [Int64: [ManagedObject]]] = [:]
  /// The ids whose row was read, by the entity's index.
  private var read: [Set<Int64>]
  /// The ids without a row, by the entity's index.
  private var gone: [Set<Int64>]

  /// Makes the view of one fetch.
  /// - Parameters:
  ///   - entities: The indexes of the entities that the fetch uses.
  ///   - deletion: The rows that pending deletions delete.
  init(_ context: ObjectContext, of entities: Set<Int>, related: RelatedRows, after deletion: PlannedDeletion)
  {
    (self.context, self.related, self.deletion) = (context, related, deletion)
    pending = PendingObjects(context, of: entities, deletion)
    read = Array(repeating: [], count: context.maps.count)
    gone = read
  }

  /// Returns the objects of an entity that differ from the file.
  func changed(_ entity: EntityMapping) -> [ManagedObject] { pending.changed(entity) }

  /// Returns the ids of the rows of an entity that SQL must not evaluate.
  func rows(of entity: EntityMapping) -> Set<Int64> { pending.rows(of: entity) }

  /// Returns the objects that a relationship of an object refers to, after ``follow(_:of:)`` has read the
  /// relationship.
  func ends(_ slot: Int, of object: ManagedObject) -> [ManagedObject] {
    guard let owner = object.entity?.slots[slot].relationship?.owner else { return [] }
    return ends[SlotPlace(entity: owner.index, slot: slot)]?[object.rowID] ?? []
  }

  /// Reads the objects that a relationship refers to, for many owners at once.
  /// - Returns: The objects that the relationship refers to, each once.
  func follow(_ relationship: RelationshipMapping, of owners: [ManagedObject]) throws -> [ManagedObject] {
    let place = SlotPlace(entity: relationship.owner.index, slot: relationship.slot)
    // After a cast, objects of other entities do not have the relationship.
    let owners = owners.filter { relationship.owner.includes($0.entity) }
    var known = ends.removeValue(forKey: place) ?? [:]
    let asked = RowIDSet(owners.lazy.map(\.rowID).filter { known[$0] == nil })
    let links = try related.links(relationship, of: asked)
    let destination = relationship.destination
    let there = try present(RowIDSet(links.lazy.map(\.other)), destination)
    for id in asked { known[id] = [] }
    for link in links { if let object = there[link.other] { known[link.own]?.append(object) } }
    if relationship.isOrdered {
      try sort(&known, by: relationship, of: owners.filter { asked.contains($0.rowID) })
    }
    ends[place] = known
    var (found, seen): ([ManagedObject], Set<Int64>) = ([], [])
    for owner in owners {
      for object in known[owner.rowID] ?? [] where seen.insert(object.rowID).inserted { found.append(object) }
    }
    return found
  }

  /// Puts the members of an ordered relationship into the order that a save will give them: the order in
  /// the file with new members after it, or the order in memory if it was changed there.
  private func sort(
    _ members: inout [Int64: [ManagedObject]], by relationship: RelationshipMapping,
    of owners: [ManagedObject]
  ) throws {
    let several = owners.filter { members[$0.rowID, default: []].count > 1 }
    let stored = try ContextReader(context: context).places(
      relationship, of: several.lazy.map(\.rowID).filter { $0 > 0 }.sorted())
    var ranks: [Int64: [Int64: Int]] = [:]
    for (rank, place) in stored.enumerated() { ranks[place.owner, default: [:]][place.member] = rank }
    for owner in several {
      let order = owner.toMany[relationship.slot]?.order
      let inMemory = Dictionary(
        (order?.objects ?? []).enumerated().map { (ObjectIdentifier($1), $0) },
        uniquingKeysWith: { first, _ in first })
      let inFile = order?.isRearranged == true ? [:] : ranks[owner.rowID, default: [:]]
      // Members without a place in the file follow those with one.
      let keys = members[owner.rowID, default: []].map { member in
        (
          inFile[member.rowID] ?? Int.max, inMemory[ObjectIdentifier(member)] ?? Int.max,
          IDOrder.rank(member.rowID),
          member
        )
      }
      members[owner.rowID] = keys.sorted { ($0.0, $0.1, $0.2) < ($1.0, $1.1, $1.2) }.map(\.3)
    }
  }

  /// Returns the objects with the given ids, by id; without those that will not exist after the save.
  private func present(_ ids: RowIDSet, _ entity: EntityMapping) throws -> [Int64: ManagedObject] {
    let map = context.maps[entity.index]
    var found: [Int64: ManagedObject] = [:]
    var unknown: [Int64] = []
    for id in ids where !deletion.contains(id, entity) {
      if let object = map.find(id),
        object.overlay != nil || object.state == .deleted || read[entity.index].contains(id)
      {
        if deletion.leaves(object) { found[id] = object }
      } else if id > 0, !gone[entity.index].contains(id) {
        unknown.append(id)
      }
    }
    for batch in unknown.chunked(batchSize) {
      let rows = try context.scan(entity).rows(batch)
      read[entity.index].formUnion(rows.lazy.map(\.rowID))
      for object in rows where deletion.leaves(object) { found[object.rowID] = object }
    }
    gone[entity.index].formUnion(unknown.lazy.filter { !self.read[entity.index].contains($0) })
    return found
  }
}

/// The context and data that evaluated objects of one fetch share.
final class EvaluationContext {
  let context: ObjectContext
  /// The rows that pending deletions delete; empty if they do not affect the fetch.
  let deletion: PlannedDeletion
  /// nil if the fetch needs no more of related objects than the ids of to-ones' targets.
  let view: PendingView?

  init(_ context: ObjectContext, after deletion: PlannedDeletion, view: PendingView?) {
    (self.context, self.deletion, self.view) = (context, deletion, view)
  }
}

/// An object with its pending changes, as the evaluator reads it.
struct PendingSubject: PredicateSubject {
  /// nil for a target of which only the id is used.
  private let object: ManagedObject?
  private let id: Int64
  private let ground: EvaluationContext

  init(_ object: ManagedObject, on ground: EvaluationContext) {
    (self.object, id, self.ground) = (object, 0, ground)
  }

  private init(id: Int64, on ground: EvaluationContext) { (object, self.id, self.ground) = (nil, id, ground) }

  var subjectID: Int64 { object?.visibleRowID ?? id }

  func value(of attribute: String) -> SQLValue {
    slot(attribute).flatMap { object?.storedValue($0) } ?? .null
  }

  func target(of relationship: String) -> PendingSubject? {
    guard ground.view == nil else { return members(of: relationship).first }
    guard let slot = slot(relationship), let id = object?.storedValue(slot)?.int64,
      let destination = object?.entity?.slots[slot].relationship?.destination,
      ground.deletion.isEmpty || !ground.deletion.contains(id, destination)
    else { return nil }
    guard id < 0 else { return PendingSubject(id: id, on: ground) }
    // A temporary id. If the object was deleted again, no object has the id.
    return ground.context.maps[destination.index].find(id).map { PendingSubject($0, on: ground) }
  }

  func isOne(of entities: Set<String>) -> Bool { object?.entity.map { entities.contains($0.name) } ?? false }

  func members(of relationship: String) -> [PendingSubject] {
    guard let slot = slot(relationship), let object, let view = ground.view else { return [] }
    return view.ends(slot, of: object).map { PendingSubject($0, on: ground) }
  }

  private func slot(_ name: String) -> Int? { object?.entity?.slot(named: name) }
}

/// Reads links on the connection that a context reads on.
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

  /// Returns the members of owners in the file, with their places, in order.
  func places(_ relationship: RelationshipMapping, of owners: [Int64]) throws -> [MemberPlace] {
    owners.isEmpty ? [] : try asking { try $0.places(relationship, of: owners) }
  }

  /// Returns the ids of the rows in the file that refer to the given rows by a relationship.
  func owners(_ relationship: RelationshipMapping, leadingTo ids: [Int64]) throws -> Set<Int64> {
    switch relationship.storage {
    case .column:
      return Set(try referrers(relationship.owner, relationship.slot, to: ids).lazy.map(\.other))
    case .inverseColumn:
      guard let inverse = relationship.inverseSlot else { return [] }
      return Set(try targets(relationship.destination, inverse, of: ids).lazy.map(\.other))
    case .join(let table, let isSource):
      return Set(try links(table, fromSource: !isSource, of: ids).lazy.map(\.other))
    }
  }
}
