// What a save will write, decided before its first statement. The plan is a value that is computed from
// pending changes and the file, and no object refers to it. So a save that fails has changed nothing in
// memory.

internal import CipherSQLite

/// Objects of one entity.
package typealias EntityObjects = (entity: EntityMapping, objects: [ManagedObject])

/// What a save will write.
package struct SavePlan {
  /// The new and the changed objects that are written, by entity.
  package var inserted: [EntityObjects] = []
  var updated: [EntityObjects] = []
  /// The overlays of objects that lose a reference by this save. They have nil instead of the reference.
  package var released: [ManagedObject: Overlay] = [:]
  /// The objects in `released` that had no change before.
  package var newlyChanged: [ManagedObject] = []
  package var links: [PlannedLink] = []
  /// The new positions of members, by relationship.
  package var places: [PlannedPlaces] = []
  package var deletion: PlannedDeletion
  package var ids = PlannedIDs()
  /// The versions of rows that are inserted again with the ids that they had.
  var revived: [ManagedObject: Int64] = [:]

  init(entityCount: Int) {
    deletion = PlannedDeletion(entityCount: entityCount)
  }

  /// Returns the overlay that the save writes for an object; nil if the object has no change.
  @inline(__always) package func overlay(of object: ManagedObject) -> Overlay? {
    released.isEmpty ? object.overlay : released[object] ?? object.overlay
  }

  /// Whether an object has a change.
  @inline(__always) func hasOverlay(_ object: ManagedObject) -> Bool {
    unsafe object.overlayReference != nil || (!released.isEmpty && released[object] != nil)
  }

  // For loops over all objects: see ManagedObject.withOverlay.
  /// Calls `body` with the overlay that the save writes for an object; returns nil if the object has no
  /// change.
  @inline(__always) func withOverlay<Result>(
    of object: ManagedObject, _ body: (Overlay) throws -> Result
  ) rethrows -> Result? {
    guard !released.isEmpty, let overlay = released[object] else { return try object.withOverlay(body) }
    return try body(overlay)
  }

  /// Whether the save deletes an object.
  func deletes(_ object: ManagedObject) -> Bool {
    guard !deletion.isEmpty, let entity = object.entity else { return false }
    return deletion.contains(object.rowID, entity)
  }

  /// Returns the slots whose unique values an object gives up: one slot of each unique key that changes,
  /// and all changed slots of raw unique indexes.
  func givenUp(_ entity: EntityMapping, _ object: ManagedObject) -> [Int] {
    guard let changed = overlay(of: object)?.changed else { return [] }
    return entity.uniqueKeys.compactMap { key in key.first(where: changed.contains) }
      + entity.rawUniqueSlots.filter(changed.contains)
  }

  /// Replaces a temporary id by the final one. A to-one may have a temporary id until it is written.
  @inline(__always) func resolved(_ value: SQLValue) -> SQLValue {
    if case .integer(let id) = value, id < 0 { .integer(ids.final(id)) } else { value }
  }
}

/// A row of a join table to be written or deleted, with the final ids of its ends.
package struct PlannedLink {
  let link: PendingLink
  package let source: Int64
  package let target: Int64

  var ends: [SQLValue] { [.integer(source), .integer(target)] }
}

/// New positions in one ordered relationship.
package struct PlannedPlaces {
  package let relationship: RelationshipMapping
  /// The members, each with its new position.
  package var members: [MemberPlace]
}

/// The rows that are deleted, and the rows without an object in memory whose to-one is set to nil.
package struct PlannedDeletion {
  // By the index of each object's own entity.
  private var gathered: [RowIDAccumulator]
  /// The rows in the order in which they were found: owners before their members.
  package private(set) var levels: [(entity: Int, ids: [Int64])] = []
  package private(set) var isEmpty = true
  /// Rows whose to-one a delete rule sets to nil.
  package var released: [(entity: Int, slot: Int, ids: [Int64])] = []
  init(entityCount: Int) { gathered = .init(repeating: RowIDAccumulator(), count: entityCount) }

  /// Adds a level: rows that are deleted along with those that were added before.
  mutating func add(_ ids: RowIDSet, of entity: EntityMapping) {
    guard !ids.isEmpty else { return }
    isEmpty = false
    gathered[entity.index].formUnion(ids)
    let rows = ids.rows
    if !rows.isEmpty { levels.append((entity.index, Array(rows))) }
  }

  /// Returns the ids of all objects of one entity, without subentities, that are deleted. Ids of new
  /// objects are negative.
  func going(_ entity: EntityMapping) -> RowIDSet { gathered[entity.index].all }

  /// The ids of all objects that are deleted, by the index of their entity.
  package var deletedIDsByEntity: [[Int64]] { gathered.map(\.all.ids) }

  /// Whether an object is deleted. In an inheritance hierarchy, the row with this id may belong to any of
  /// its entities.
  func contains(_ id: Int64, _ entity: EntityMapping) -> Bool {
    entity.isInHierarchy
      ? entity.relatives.contains { gathered[$0.index].contains(id) } : gathered[entity.index].contains(id)
  }

  /// Returns the rows of one entity, without subentities, that are deleted, in the order of their ids.
  func rows(_ entity: EntityMapping) -> [Int64] { Array(going(entity).rows) }

  /// Returns the rows of an entity and its subentities that are deleted, in the order of their ids.
  func branchRows(_ entity: EntityMapping) -> [Int64] {
    entity.hasChildren ? entity.branch.flatMap(rows).sorted() : rows(entity)
  }
}

/// The ids of new objects.
package struct PlannedIDs {
  /// The ids that the save takes. The high-water marks never fall, so the id of a deleted row is never
  /// issued again.
  package private(set) var ranges: [(entity: EntityMapping, ids: RowIDs.Run)] = []
  // The final id of the temporary id `first - n`, at index n; 0 if none is assigned.
  private var assigned: [Int64] = []
  private let first: Int64

  init(first: Int64 = -1, lowest: Int64 = 0) {
    self.first = first
    assigned = [Int64](repeating: 0, count: Int(max(0, first - lowest + 1)))
  }

  mutating func assign(_ ids: RowIDs.Run, to objects: [ManagedObject], _ entity: EntityMapping) {
    ranges.append((entity, ids))
    var id = ids.first
    objects.forEachUnretained { object in
      assigned[Int(first - object.rowID)] = id
      id += 1
    }
  }

  /// Assigns the ids that were issued before the save: see `AssignedIDs`.
  /// - Returns: The objects without such an id.
  mutating func assignIssuedIDs(_ assignedIDs: AssignedIDs, to objects: [ManagedObject]) -> [ManagedObject] {
    guard !assignedIDs.isEmpty else { return objects }
    return objects.filter { object in
      guard let id = assignedIDs.final(object.rowID) else { return true }
      assigned[Int(first - object.rowID)] = id
      return false
    }
  }

  package func final(_ id: Int64) -> Int64 {
    guard id < 0, id <= first else { return id }
    let index = Int(first - id)
    return index >= assigned.count || assigned[index] == 0 ? id : assigned[index]
  }
}
