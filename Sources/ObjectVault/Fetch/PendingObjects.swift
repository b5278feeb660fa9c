// What is pending in a context, as a fetch through relationships sees it: who differs from the file.

internal import CipherSQLite

/// The objects of a context whose part in a fetch the file cannot tell.
final class PendingObjects {
  /// By the index of each object's own entity: who is new, changed or deleted, or has other members than in the file.
  private var changed: [[ManagedObject]]
  /// Who goes with deleted objects by their delete rules, which the save applies.
  private let deletion: PlannedDeletion
  private var seen: Set<ManagedObject> = []
  /// The indexes of those that the fetch looks at.
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

  /// The objects of an entity, and of those below it, that differ from the file.
  func changed(_ entity: EntityMapping) -> [ManagedObject] {
    entity.hasChildren ? entity.branch.flatMap { changed[$0.index] } : changed[entity.index]
  }

  /// The rows of an entity, and of those below it, that memory decides about, whether they are in memory or go with others.
  func rows(of entity: EntityMapping) -> Set<Int64> {
    Set(deletion.branchRows(entity))
      .union(changed(entity).lazy.filter { $0.state != .inserted && $0.rowID > 0 }.map(\.rowID))
  }
}

extension PlannedDeletion {
  /// Whether an object is there once what is pending is saved.
  func leaves(_ object: ManagedObject) -> Bool {
    switch object.state {
    case .inserted, .fault, .loaded: object.entity.map { isEmpty || !goes(object.rowID, $0) } == true
    case .deleted, .invalid, .detached: false
    }
  }
}
