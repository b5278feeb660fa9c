// The pending changes of a context, as a value: a copy does not change.
//
// Written values are in the objects themselves. This value has the objects that a save must process, and
// the links of many-to-manys, which no object stores. Each kind of change has its own method, and tests
// check the invariants after each.

/// The objects of a context that differ from the store.
package struct PendingChanges {
  /// New objects in the order of their insertion, including some that were deleted again. Deleted ones
  /// are removed from the list many at a time, because removing each alone would be quadratic.
  package private(set) var inserted: [ManagedObject] = []
  /// The number of objects in `inserted` that were deleted again.
  private(set) var forgotten = 0
  /// Whether pending objects may still refer to a new object that was deleted again.
  private(set) var mayReferToDiscarded = false
  /// Saved objects with an overlay, including some that were refreshed afterwards.
  package private(set) var updated: [ManagedObject] = []
  /// The number of objects in `updated` that were refreshed and have no change.
  private(set) var refreshed = 0
  /// Objects that the next save deletes.
  package private(set) var deleted: [ManagedObject] = []
  /// The ids of rows that are deleted without objects, by the index of each row's own entity.
  var deletedRows: [Int: RowIDSet] = [:]
  /// Owners whose to-manys have changed, kept alive until the save. Owners that are only in `gained` are
  /// not among them.
  package private(set) var touched: Set<ManagedObject> = []
  /// New members of owners whose members were not read.
  package private(set) var gained = GainedMembers()
  private(set) var links: [LinkKey: PendingLink] = [:]
  private(set) var nextTemporaryID: Int64 = -1
  private var runs = TemporaryIDRuns()
  /// The first temporary id that was issued since the last save; later ones are lower.
  private(set) var firstTemporaryID: Int64 = -1
  /// The temporary id that was issued last.
  var lastTemporaryID: Int64 { nextTemporaryID + 1 }
  /// The final ids that new objects were assigned inside a write.
  var assignedIDs = AssignedIDs()
  /// Rises when objects are removed from ``inserted``, ``updated`` or ``deleted``.
  private(set) var generation = 0

  package init() {}

  /// The indexes of the entities of objects that may differ from the file.
  private(set) var entities: Set<Int> = []
  /// The indexes of the entities of objects that are to be deleted.
  private(set) var entitiesDeleted: Set<Int> = []
  // Consecutive changes mostly concern one entity.
  private var lastEntity = -1

  @inline(__always) private mutating func note(_ object: ManagedObject) {
    guard let index = object.withMap({ $0.entity.index }), index != lastEntity else { return }
    lastEntity = index
    entities.insert(index)
  }

  /// Whether there is anything to save.
  package var isLive: Bool {
    !deleted.isEmpty || inserted.count > forgotten || updated.count > refreshed
      || links.values.contains(where: \.isLive) || touched.contains { $0.isRearranged }
  }

  /// Whether there may be anything to save. Takes constant time, unlike `isLive`.
  var mayBeLive: Bool {
    !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty || !touched.isEmpty || !gained.isEmpty
  }

  /// Returns the ids of what is deleted, by the index of each object's own entity.
  func deletedIDs() -> [Int: RowIDSet] {
    guard deletedRows.isEmpty else { return deletedRows }
    var ids: [Int: [Int64]] = [:]
    for object in deleted where object.state == .deleted {
      if let entity = object.entity { ids[entity.index, default: []].append(object.rowID) }
    }
    return ids.mapValues { RowIDSet($0) }
  }

  // MARK: Changes of objects

  package mutating func makeTemporaryID() -> Int64 {
    defer { nextTemporaryID -= 1 }
    return nextTemporaryID
  }

  /// Issues a temporary id for an object of a table, by the index of the table's root entity.
  @inline(__always) mutating func makeTemporaryID(table: Int) -> Int64 {
    if let id = runs.next(table) { return id }
    return runs.begin(table, &nextTemporaryID)
  }

  package mutating func didInsert(_ object: ManagedObject) {
    inserted.append(object)
    note(object)
  }

  /// Notes that a new object was deleted again.
  mutating func didDiscardNew() {
    forgotten += 1
    mayReferToDiscarded = true
    if forgotten > 16, forgotten * 2 > inserted.count { dropForgotten() }
  }

  /// Notes the first change of a saved object. The caller must call this only once per object.
  @inline(__always) package mutating func didChange(_ object: ManagedObject) {
    updated.append(object)
    note(object)
  }

  /// Notes a change of an object in `updated` that was refreshed after its earlier change.
  @inline(__always) mutating func didChangeAgain() { refreshed -= 1 }

  /// Notes that the changes of an object in `updated` were discarded.
  mutating func didRefresh() { refreshed += 1 }

  package mutating func didDelete(_ object: ManagedObject) {
    deleted.append(object)
    note(object)
    if let index = object.entity?.index { entitiesDeleted.insert(index) }
  }

  /// Removes the objects that are not to be deleted any more.
  mutating func dropKept() {
    guard deleted.contains(where: { $0.state != .deleted }) else { return }
    deleted.removeAll { $0.state != .deleted }
    generation += 1
  }

  /// Removes the objects that are not new any more.
  mutating func dropForgotten() {
    guard inserted.contains(where: { $0.state != .inserted }) else { return }
    inserted.removeAll { $0.state != .inserted }
    (forgotten, assignedIDs.seen) = (0, 0)
    generation += 1
  }

  package mutating func didTouch(_ object: ManagedObject) {
    touched.insert(object)
    note(object)
  }

  /// Notes that an object became a member of an owner whose members were not read.
  @inline(__always) mutating func didGain(_ member: ManagedObject, owner: ManagedObject, slot: Int) {
    gained.add(member, to: owner, slot)
    note(owner)
  }

  /// Removes and returns the members that one relationship of an owner gained before the members were
  /// read. Called when they are read.
  mutating func takeGained(of owner: ManagedObject, _ slot: Int) -> [ManagedObject] {
    let members = gained.take(of: owner, slot)
    if !members.isEmpty { touched.insert(owner) }
    return members
  }

  /// Notes that a link of a many-to-many was added or removed.
  /// - Parameter isKnown: Whether the members are in memory, so that the link certainly differs from the
  ///   file.
  package mutating func didLink(
    _ source: ManagedObject, to target: ManagedObject, in join: JoinTable, isAdded: Bool, isKnown: Bool
  ) {
    note(source)
    note(target)
    let key = LinkKey(table: join.name, source: ObjectIdentifier(source), target: ObjectIdentifier(target))
    // Two opposite changes cancel each other only if the first one certainly differs from the file.
    // Otherwise the latest change is written, which has no effect if the file already agrees with it.
    let new = PendingLink(
      source: source, target: target, join: join, isAdded: isAdded, isKnown: isKnown)
    // One look-up: most links have no pending change yet.
    guard let former = links.updateValue(new, forKey: key) else { return }
    if former.isAdded == isAdded {
      links[key] = former
    } else {
      links[key] = former.isKnown ? nil : new.unknown
    }
  }

  /// Whether a link is to be written.
  func addsLink(_ source: ManagedObject, to target: ManagedObject, in join: JoinTable) -> Bool {
    let key = LinkKey(table: join.name, source: ObjectIdentifier(source), target: ObjectIdentifier(target))
    return links[key]?.isAdded == true
  }

  // MARK: After a save

  /// Removes all changes, because they were saved or discarded.
  mutating func clear() {
    let former = (nextTemporaryID, generation)
    self = PendingChanges()
    nextTemporaryID = former.0
    firstTemporaryID = former.0
    generation = former.1 + 1
  }

  /// Makes the members of all touched to-manys the saved state.
  func settleMembers() {
    for owner in touched { owner.toMany.forEach { $0.didSave() } }
  }
}

extension ManagedObject {
  /// Whether the order of any of its members differs from the file's.
  final var isRearranged: Bool {
    state != .invalid && state != .deleted && toMany.contains(where: \.isRearranged)
  }
}

struct LinkKey: Hashable {
  let table: String
  let source: ObjectIdentifier
  let target: ObjectIdentifier

  // Few objects are linked in two tables, and hashing the table's name would take longer than all else.
  func hash(into hasher: inout Hasher) {
    hasher.combine(source)
    hasher.combine(target)
  }
}

/// A row of a join table to be written or deleted.
struct PendingLink {
  let source: ManagedObject
  let target: ManagedObject
  let join: JoinTable
  let isAdded: Bool
  /// Whether the link certainly differs from the file, because the members were in memory.
  let isKnown: Bool

  /// A copy for a link that had an opposite earlier change: it may or may not differ from the file.
  fileprivate var unknown: PendingLink {
    PendingLink(source: source, target: target, join: join, isAdded: isAdded, isKnown: false)
  }

  /// Whether source and target are still valid.
  var isLive: Bool { source.state != .invalid && target.state != .invalid }
}
