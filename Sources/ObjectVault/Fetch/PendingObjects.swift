// What is pending in a context, as a fetch sees it: who differs from the file, and who goes with deleted objects.

internal import CipherSQLite

/// The objects of a context whose part in a fetch the file cannot tell.
final class PendingObjects {
  /// By the entity's index: who is new, changed or deleted, or has other members than in the file.
  private(set) var changed: [[ManagedObject]]
  /// Who goes with deleted objects by their delete rules, which the save applies.
  private var doomed: Set<ManagedObject> = []
  private var seen: Set<ManagedObject> = []
  private let entities: Set<Int>

  /// - Parameter entities: The indexes of those that the fetch looks at.
  init(_ context: ObjectContext, of entities: Set<Int>) throws {
    self.entities = entities
    changed = context.maps.map { _ in [] }
    for object in context.pending.inserted where object.state == .inserted { note(object) }
    for object in context.pending.updated where object.overlay != nil { note(object) }
    for object in context.pending.deleted where object.state == .deleted { note(object) }
    for object in context.pending.touched { note(object) }
    for object in context.pending.waiting.values.joined() { note(object) }
    try follow(context.pending.deleted.filter { $0.state == .deleted }, in: context)
  }

  private func note(_ object: ManagedObject) {
    guard let index = object.entity?.index, entities.contains(index), seen.insert(object).inserted else {
      return
    }
    changed[index].append(object)
  }

  /// Whether the object is there once what is pending is saved.
  func isPresent(_ object: ManagedObject) -> Bool {
    switch object.state {
    case .inserted, .fault, .loaded: !doomed.contains(object)
    case .deleted, .invalid, .detached: false
    }
  }

  // MARK: Delete rules

  private func follow(_ deleted: [ManagedObject], in context: ObjectContext) throws {
    var level = deleted
    while !level.isEmpty {
      var next: [ManagedObject] = []
      for (index, objects) in Dictionary(grouping: level, by: { $0.entity?.index ?? -1 }) where index >= 0 {
        for relationship in context.maps[index].entity.relationships
        where relationship.deleteRule == .cascade {
          for object in try related(by: relationship, objects, in: context) where isPresent(object) {
            doomed.insert(object)
            note(object)
            next.append(object)
          }
        }
      }
      level = next
    }
  }

  private func related(
    by relationship: RelationshipMapping, _ owners: [ManagedObject], in context: ObjectContext
  ) throws -> [ManagedObject] {
    if relationship.isToMany {
      _ = try context.prefetch(relationship.slot, of: owners)
      return owners.flatMap { $0.loadedMembers(relationship.slot).members ?? [] }
    }
    // What was deleted as a fault has no row in memory, and gets none any more.
    let isUnknown = { (owner: ManagedObject) in
      owner.row == nil && owner.overlay == nil && owner.state == .deleted
    }
    var found = owners.filter { !isUnknown($0) }.compactMap { $0.toOneTarget(relationship.slot) }
    let unknown = owners.filter(isUnknown).map(\.rowID)
    if !unknown.isEmpty {
      context.statistics.queries += 1
      let ids = try context.withConnection {
        try ConnectionReader(connection: $0).targets(relationship.owner, relationship.slot, of: unknown)
      }
      found += ids.map { context.object(relationship.destination, $0) }
    }
    return found
  }
}

/// An object with what is pending.
struct PendingSubject: PredicateSubject {
  let object: ManagedObject
  let pending: PendingObjects

  var subjectID: Int64 { object.rowID }

  func value(of attribute: String) -> SQLValue { slot(attribute).flatMap { object.storedValue($0) } ?? .null }

  func target(of relationship: String) -> PendingSubject? {
    guard let slot = slot(relationship), let target = object.toOneTarget(slot), pending.isPresent(target)
    else { return nil }
    return PendingSubject(object: target, pending: pending)
  }

  func members(of relationship: String) -> [PendingSubject] {
    guard let slot = slot(relationship) else { return [] }
    return (object.loadedMembers(slot).members ?? []).lazy.filter { pending.isPresent($0) }
      .map { PendingSubject(object: $0, pending: pending) }
  }

  private func slot(_ name: String) -> Int? { object.entity?.slot(named: name) }
}

/// An object that is asked for its attributes only.
struct PlainSubject: PredicateSubject {
  let object: ManagedObject

  var subjectID: Int64 { object.rowID }
  func value(of attribute: String) -> SQLValue {
    object.entity?.slot(named: attribute).flatMap { object.storedValue($0) } ?? .null
  }
  func target(of relationship: String) -> PlainSubject? { nil }
  func members(of relationship: String) -> [PlainSubject] { [] }
}
