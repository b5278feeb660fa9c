// Finds the links of objects as they will be when pending changes are saved. Used by the plans of saves
// and by fetches.

internal import CipherSQLite

/// The ids of the two objects of a link: the object that the query is for, and the related one.
package struct LinkEnds: Hashable {
  package let own: Int64
  package let other: Int64

  package init(own: Int64, other: Int64) { (self.own, self.other) = (own, other) }
}

/// The links of objects: those in the file, corrected by the changes in memory.
///
/// For a changed to-one, the value in memory counts, whatever the row has until the save. For an
/// unchanged one, the row counts, because the object may be older than its row.
struct RelatedRows {
  private let pending: PendingChanges
  /// The live objects, by the index of their entity.
  private let maps: IdentityMaps
  private let reader: any LinkReader
  /// The to-ones that a save is to set to nil in objects where the program did not change them.
  var released: [ManagedObject: Overlay] = [:]
  /// New and changed objects, by to-one and then by the target of the to-one. Built on first use.
  private var referrers: [SlotPlace: [Int64: [ManagedObject]]] = [:]
  /// Pending links by table, built on first use.
  private var linksByTable: [String: [PendingLink]]?
  /// The index of new and changed objects by the values of their to-ones; nil if all objects are searched
  /// once instead.
  private let index: PendingIndex?

  init(
    _ pending: PendingChanges, maps: IdentityMaps, reader: any LinkReader, index: PendingIndex? = nil
  ) {
    (self.pending, self.maps, self.reader, self.index) = (pending, maps, reader, index)
  }

  /// Returns the links of objects by one relationship. Deleted objects are included, with the links that
  /// they had.
  mutating func links(_ relationship: RelationshipMapping, of ids: RowIDSet) throws -> [LinkEnds] {
    switch relationship.storage {
    case .column: return try targets(relationship, ids)
    case .inverseColumn:
      guard let inverse = relationship.inverseSlot else { return [] }
      return try storedReferrers(relationship.destination, inverse, to: ids)
        + changedReferrers(relationship.destination, inverse, to: ids)
    case .join(let table, let isSource): return try linked(table, isSource: isSource, of: ids)
    }
  }

  /// Returns the rows whose to-one refers to one of the objects `ids`, except rows of objects whose
  /// to-one was changed in memory.
  func storedReferrers(_ entity: EntityMapping, _ slot: Int, to ids: RowIDSet) throws -> [LinkEnds] {
    let map = maps[entity.index]
    return try reader.referrers(entity, slot, to: Array(ids.rows)).filter { link in
      map.find(link.other).map { isChanged($0, slot) } != true
    }
  }

  /// Returns the new and changed objects whose to-one was set to one of the objects `ids`.
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
    // Stored, because each level of a deep hierarchy calls this, and searching all objects each time
    // would be quadratic.
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
        // The target may be a new object that was deleted again: its temporary id then belongs to no
        // object.
        if let target = target(of: object, slot), target > 0 || destination.find(target) != nil {
          found.append(LinkEnds(own: id, other: target))
        }
      } else if id > 0 {
        stored.append(id)
      }
    }
    return found + (try reader.targets(relationship.owner, slot, of: stored))
  }

  mutating func linked(_ table: JoinTable, isSource: Bool, of ids: RowIDSet) throws -> [LinkEnds] {
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

  /// Adds objects to a deletion, with all objects that cascades delete along with them, level by level.
  /// - Parameters:
  ///   - ids: The ids of the objects, by the index of each object's own entity.
  ///   - left: The relationships that are not followed, because the engine's cascade deletes their
  ///     members.
  mutating func followCascades(
    of ids: [Int: RowIDSet], in mapping: SchemaMapping, but left: Set<ObjectIdentifier> = [],
    into deletion: inout PlannedDeletion
  ) throws {
    // Only entities with objects to delete are visited. A chain of entities has as many levels as
    // entities, so visiting all entities at each level would be quadratic.
    var level = ids
    while !level.isEmpty {
      let going = level.sorted { $0.key < $1.key }.map { (entity: mapping.entities[$0.key], ids: $0.value) }
      for (entity, ids) in going { deletion.add(ids, of: entity) }
      var next: [Int: RowIDSet] = [:]
      for (entity, ids) in going {
        for relationship in entity.relationships
        where relationship.deleteRule == .cascade && !left.contains(ObjectIdentifier(relationship)) {
          let others = RowIDSet(try links(relationship, of: ids).lazy.map(\.other))
          // An object may belong to a subentity of the destination, which has its own delete rules.
          for (entity, some) in try byEntity(others, relationship.destination) {
            let staying = some.filter { !deletion.contains($0, entity) }
            if !staying.isEmpty { next[entity.index, default: RowIDSet()].formUnion(staying) }
          }
        }
      }
      level = next
    }
  }

  // MARK: Inheritance

  /// Groups ids of objects of an entity and its subentities by each object's own entity. For an object
  /// that is not in memory, the row determines its entity; the id is omitted if the row does not exist.
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

  /// Returns the target of a to-one from memory; nil if there is none or the row is not in memory.
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

  /// Whether the target of a to-one was changed in memory.
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
