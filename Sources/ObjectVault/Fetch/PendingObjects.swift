// The pending objects of a context, for a fetch that follows relationships: those that differ from the
// file.

internal import CipherSQLite

/// The objects with pending changes, which a fetch evaluates in memory instead of by SQL.
final class PendingObjects {
  /// The objects that are new, changed or deleted, or have other members than in the file, by the index
  /// of each object's own entity.
  private var changed: [[ManagedObject]]
  /// The rows that the save will delete because pending deletions cascade to them.
  private let deletion: PlannedDeletion
  private var seen: Set<ManagedObject> = []
  /// The indexes of the entities that the fetch uses.
  private let entities: Set<Int>

  init(_ context: ObjectContext, of entities: Set<Int>, _ deletion: PlannedDeletion) {
    (self.entities, self.deletion) = (entities, deletion)
    changed = Array(repeating: [], count: context.maps.count)
    for object in context.pending.inserted where object.state == .inserted { note(object) }
    for object in context.pending.updated where object.overlay != nil { note(object) }
    for object in context.pending.deleted where object.state == .deleted { note(object) }
    for object in context.pending.touched { note(object) }
    for gain in context.pending.gained.all { note(gain.owner) }
    for link in context.pending.links.values {
      note(link.source)
      note(link.target)
    }
  }

  private func note(_ object: ManagedObject) {
    guard let index = object.entity?.index, entities.contains(index), seen.insert(object).inserted else {
      return
    }
    changed[index].append(object)
  }

  /// Returns the objects of an entity and its subentities that differ from the file.
  func changed(_ entity: EntityMapping) -> [ManagedObject] {
    entity.hasChildren ? entity.branch.flatMap { changed[$0.index] } : changed[entity.index]
  }

  /// Returns the ids of the rows of an entity and its subentities that SQL must not evaluate: those of
  /// pending objects, and those that deletions cascade to.
  func rows(of entity: EntityMapping) -> Set<Int64> {
    Set(deletion.branchRows(entity))
      .union(changed(entity).lazy.filter { $0.state != .inserted && $0.rowID > 0 }.map(\.rowID))
  }
}

extension PlannedDeletion {
  /// Returns whether an object will exist after the pending changes are saved.
  func leaves(_ object: ManagedObject) -> Bool {
    switch object.state {
    case .inserted, .fault, .loaded: object.entity.map { isEmpty || !contains(object.rowID, $0) } == true
    case .deleted, .invalid, .detached: false
    }
  }
}
