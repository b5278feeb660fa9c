// Whom relationships lead to once what is pending is saved, of which plans of saves and fetches ask alike.

internal import CipherSQLite

/// The ids at the two ends of a link.
package struct LinkEnds: Hashable {
  package let own: Int64
  package let other: Int64

  package init(own: Int64, other: Int64) { (self.own, self.other) = (own, other) }
}

/// The links of objects: those of the file, corrected by what was changed in memory.
///
/// An object that was changed refers to whom it says, whatever its row holds until the save. One that was not changed
/// may be older than its row, which counts then.
struct RelatedRows {
  private let pending: PendingChanges
  /// The live objects, by their entity's index.
  private let maps: IdentityMaps
  private let reader: any LinkReader
  /// What a save is to set in objects that did not say so themselves.
  var released: [ManagedObject: Overlay] = [:]
  /// New and changed objects by whom a to-one leads to; made when it is first asked for.
  private var referrers: [SlotPlace: [Int64: [ManagedObject]]] = [:]
  /// Pending links by their table; made when they are first asked for.
  private var linksByTable: [String: [PendingLink]]?
  /// Who knows the new and changed objects by what their to-ones hold; nil where all are looked through once.
  private let index: PendingIndex?

  init(
    _ pending: PendingChanges, _ maps: IdentityMaps, _ reader: any LinkReader, index: PendingIndex? = nil
  ) {
    (self.pending, self.maps, self.reader, self.index) = (pending, maps, reader, index)
  }

  /// The links of some objects by one relationship. Deleted objects take part with what they were related to.
  mutating func links(_ relationship: RelationshipMapping, of ids: RowIDSet) throws -> [LinkEnds] {
    switch relationship.storage {
    case .column: return try targets(relationship, ids)
    case .inverseColumn:
      guard let inverse = relationship.inverseSlot else { return [] }
      return try storedReferrers(relationship.destination, inverse, to: ids)
        + changedReferrers(relationship.destination, inverse, to: ids)
    case .join(let table, let isSource): return try linked(table, isSource, ids)
    }
  }

  /// The rows that refer to some objects by a to-one, but for those of objects whose to-one was changed.
  func storedReferrers(_ entity: EntityMapping, _ slot: Int, to ids: RowIDSet) throws -> [LinkEnds] {
    let map = maps[entity.index]
    return try reader.referrers(entity, slot, to: Array(ids.rows)).filter { link in
      map.find(link.other).map { isChanged($0, slot) } != true
    }
  }

  /// New and changed objects whose to-one was set to some objects.
  mutating func changedReferrers(_ entity: EntityMapping, _ slot: Int, to ids: RowIDSet) -> [LinkEnds] {
    if let index {
      return index.objects(
        of: entity, where: entity.slots[slot].name, isOneOf: ids.map { .integer($0) }
      ).compactMap { object in
        guard entity.includes(object.entity), isChanged(object, slot), let id = target(of: object, slot),
          ids.contains(id)
        else { return nil }
        return LinkEnds(own: id, other: object.rowID)
      }
    }
    let place = SlotPlace(entity: entity.index, slot: slot)
    let known = referrers[place] ?? changed(place, entity)
    // Of a deep hierarchy each level asks: looking through all of them each time would be quadratic.
    referrers[place] = known
    guard !known.isEmpty else { return [] }
    return ids.flatMap { id in (known[id] ?? []).map { LinkEnds(own: id, other: $0.rowID) } }
  }

  private func changed(_ place: SlotPlace, _ entity: EntityMapping) -> [Int64: [ManagedObject]] {
    var known: [Int64: [ManagedObject]] = [:]
    for object in [pending.inserted, pending.updated].joined()
    where entity.includes(object.entity) && (object.state == .loaded || object.state == .inserted)
      && isChanged(object, place.slot)
    {
      if let id = target(of: object, place.slot) { known[id, default: []].append(object) }
    }
    return known
  }

  private func targets(_ relationship: RelationshipMapping, _ ids: RowIDSet) throws -> [LinkEnds] {
    let (slot, destination) = (relationship.slot, maps[relationship.destination.index])
    var found: [LinkEnds] = []
    var stored: [Int64] = []
    for id in ids {
      if let object = maps[relationship.owner.index].find(id), isChanged(object, slot) {
        // A new object that was deleted again has left its temporary id behind.
        if let target = target(of: object, slot), target > 0 || destination.find(target) != nil {
          found.append(LinkEnds(own: id, other: target))
        }
      } else if id > 0 {
        stored.append(id)
      }
    }
    return found + (try reader.targets(relationship.owner, slot, of: stored))
  }

  private mutating func linked(_ table: JoinTable, _ isSource: Bool, _ ids: RowIDSet) throws -> [LinkEnds] {
    let links = linksByTable ?? Dictionary(grouping: pending.links.values.filter(\.isLive), by: \.join.name)
    linksByTable = links
    var (found, removed): (Set<LinkEnds>, Set<LinkEnds>) = ([], [])
    for link in links[table.name] ?? [] {
      let (own, other) = isSource ? (link.source, link.target) : (link.target, link.source)
      guard ids.contains(own.rowID) else { continue }
      let ends = LinkEnds(own: own.rowID, other: other.rowID)
      if link.isAdded { found.insert(ends) } else { removed.insert(ends) }
    }
    let stored = try reader.links(table, fromSource: isSource, of: Array(ids.rows))
    if found.isEmpty, removed.isEmpty { return stored }
    return Array(found.union(stored.lazy.filter { !removed.contains($0) }))
  }

  // MARK: Cascades

  /// Adds the objects with some ids, by the index of each one's own entity, who goes with them by cascades, and so on.
  /// - Parameter left: The relationships that are not followed.
  mutating func followCascades(
    of ids: [Int: RowIDSet], in mapping: SchemaMapping, but left: Set<ObjectIdentifier> = [],
    into deletion: inout PlannedDeletion
  ) throws {
    // Of entities of which something goes, and of no others: a chain of entities has as many levels as it has entities.
    var level = ids
    while !level.isEmpty {
      let going = level.sorted { $0.key < $1.key }.map { (entity: mapping.entities[$0.key], ids: $0.value) }
      for (entity, ids) in going { deletion.add(ids, of: entity) }
      var next: [Int: RowIDSet] = [:]
      for (entity, ids) in going {
        for relationship in entity.relationships
        where relationship.deleteRule == .cascade && !left.contains(ObjectIdentifier(relationship)) {
          let others = RowIDSet(try links(relationship, of: ids).lazy.map(\.other))
          // An object may be of an entity below the destination, which has rules of its own.
          for (entity, some) in try byEntity(others, relationship.destination) {
            let staying = some.filter { !deletion.goes($0, entity) }
            if !staying.isEmpty { next[entity.index, default: RowIDSet()].formUnion(staying) }
          }
        }
      }
      level = next
    }
  }

  // MARK: Families

  /// Some ids of objects of an entity, or of those below it, by the entity of each. Rows that are gone are left out where
  /// the row alone would say it.
  func byEntity(_ ids: RowIDSet, _ entity: EntityMapping) throws -> [(
    entity: EntityMapping, ids: RowIDSet
  )] {
    guard entity.hasChildren, !ids.isEmpty else { return [(entity, ids)] }
    var found: [Int: [Int64]] = [:]
    var unknown: [Int64] = []
    for id in ids {
      if let own = maps[entity.index].find(id)?.entity {
        found[own.index, default: []].append(id)
      } else if id > 0 {
        unknown.append(id)
      }
    }
    for (id, own) in try reader.entities(of: unknown, entity) {
      found[own.index, default: []].append(id)
    }
    return entity.branch.compactMap { member in found[member.index].map { (member, RowIDSet($0)) } }
  }

  // MARK: Objects

  /// Whom a to-one leads to, as far as it is known without a fetch.
  func target(of object: ManagedObject, _ slot: Int) -> Int64? {
    let value: SQLValue? =
      if let overlay = overlay(of: object), overlay.changed.contains(slot) {
        overlay[slot]
      } else {
        object.rowValue(slot)
      }
    if case .integer(let id)? = value { return id }
    return nil
  }

  /// Whether memory alone says whom a to-one leads to.
  private func isChanged(_ object: ManagedObject, _ slot: Int) -> Bool {
    overlay(of: object)?.changed.contains(slot) == true
  }

  @inline(__always) private func overlay(of object: ManagedObject) -> Overlay? {
    released.isEmpty ? object.overlay : released[object] ?? object.overlay
  }
}

/// A property of an entity.
struct SlotPlace: Hashable {
  let entity: Int
  let slot: Int
}
