// What differs from the store in a context, as a value: a copy of it stays as it was.
//
// Objects themselves hold what was written to them; here stands which objects a save has to look at, and the links that
// no object holds. Who changes it has a verb for it, and tests ask after each whether it still agrees with itself.

/// The objects of a context that differ from the store.
package struct PendingChanges {
  /// New objects, in the order of their insertion; with them some that were deleted again, which are taken out
  /// many at a time: taking each out by itself would be quadratic.
  package private(set) var inserted: [ManagedObject] = []
  /// How many of them were deleted again.
  private(set) var forgotten = 0
  /// Whether a new object was forgotten, to which something that is pending may refer.
  private(set) var mayReferToForgotten = false
  /// Saved objects with an overlay, and some that were refreshed since.
  package private(set) var updated: [ManagedObject] = []
  /// How many of them were refreshed, and have no change.
  private(set) var refreshed = 0
  /// Objects that the next save deletes.
  package private(set) var deleted: [ManagedObject] = []
  /// Owners of to-manys that somebody has asked for, and that changed: kept alive until the save.
  package private(set) var touched: Set<ManagedObject> = []
  /// Who became a member of objects whose members nobody has asked for.
  package private(set) var gained = GainedMembers()
  private(set) var links: [LinkKey: PendingLink] = [:]
  private(set) var nextTemporaryID: Int64 = -1
  private var runs = TemporaryIDRuns()
  /// The temporary id that comes first in the numbering of those that have no final one.
  private(set) var firstTemporaryID: Int64 = -1
  /// The one that was given out last.
  var lastTemporaryID: Int64 { nextTemporaryID + 1 }
  /// Ids that new objects were given inside a write.
  var given = GivenIDs()
  /// Rises when objects are taken out of ``inserted``, ``updated`` or ``deleted``.
  private(set) var generation = 0

  package init() {}

  /// The indexes of the entities of objects that may differ from the file.
  private(set) var entities: Set<Int> = []
  /// Those of the objects that are to be deleted.
  private(set) var entitiesDeleted: Set<Int> = []
  // Most changes in turn are of one entity.
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

  /// Whether there may be anything to save. Takes the same time however much there is.
  var mayBeLive: Bool {
    !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty || !touched.isEmpty || !gained.isEmpty
  }

  /// The ids of the deleted objects, by the index of each one's own entity; none without any.
  func deletedIDs() -> [Int: RowIDSet] {
    var ids: [Int: [Int64]] = [:]
    for object in deleted where object.state == .deleted {
      if let entity = object.entity { ids[entity.index, default: []].append(object.rowID) }
    }
    return ids.mapValues { RowIDSet($0) }
  }

  // MARK: What happens to objects

  package mutating func makeTemporaryID() -> Int64 {
    defer { nextTemporaryID -= 1 }
    return nextTemporaryID
  }

  /// The same for an object of a table, by the index of the entity at its root.
  @inline(__always) mutating func makeTemporaryID(table: Int) -> Int64 {
    if let id = runs.next(table) { return id }
    return runs.begin(table, &nextTemporaryID)
  }

  package mutating func didInsert(_ object: ManagedObject) {
    inserted.append(object)
    note(object)
  }

  /// A new object is none any more.
  mutating func didForget() {
    forgotten += 1
    mayReferToForgotten = true
    guard forgotten > 16, forgotten * 2 > inserted.count else { return }
    inserted.removeAll { $0.state != .inserted }
    forgotten = 0
    given.seen = 0
    generation += 1
  }

  /// A saved object got its first change. The caller sees to it that it is told once.
  @inline(__always) package mutating func didChange(_ object: ManagedObject) {
    updated.append(object)
    note(object)
  }

  /// Something was written to one of the changed objects, and what was written to it before was taken back.
  @inline(__always) mutating func didChangeAgain() { refreshed -= 1 }

  /// What was written to one of the changed objects was taken back.
  mutating func didRefresh() { refreshed += 1 }

  package mutating func didDelete(_ object: ManagedObject) {
    deleted.append(object)
    note(object)
    if let index = object.entity?.index { entitiesDeleted.insert(index) }
  }
  package mutating func didTouch(_ object: ManagedObject) {
    touched.insert(object)
    note(object)
  }

  /// An object became a member of one whose members nobody has asked for.
  @inline(__always) mutating func didGain(_ member: ManagedObject, _ owner: ManagedObject, _ slot: Int) {
    gained.add(member, to: owner, slot)
    note(owner)
  }

  /// Takes out what one relationship of an object gained, which is asked for its members now.
  mutating func takeGained(of owner: ManagedObject, _ slot: Int) -> [ManagedObject] {
    let members = gained.take(of: owner, slot)
    if !members.isEmpty { touched.insert(owner) }
    return members
  }

  /// A link is there from now on, or is not.
  /// - Parameter isKnown: Whether the members are in memory, so that it is known to differ from the file.
  package mutating func didLink(
    _ source: ManagedObject, _ target: ManagedObject, _ join: JoinTable, isAdded: Bool, isKnown: Bool
  ) {
    note(source)
    note(target)
    let key = LinkKey(table: join.name, source: ObjectIdentifier(source), target: ObjectIdentifier(target))
    // Two changes come to none only where the first is known to differ from the file. Else the last word is written,
    // which does nothing to a link that is as it should be.
    let new = PendingLink(
      source: source, target: target, join: join, isAdded: isAdded, isKnown: isKnown)
    // Looked for once, as of most there was none.
    guard let former = links.updateValue(new, forKey: key) else { return }
    if former.isAdded == isAdded {
      links[key] = former
    } else {
      links[key] = former.isKnown ? nil : new.unknown
    }
  }

  // MARK: What a save leaves

  /// Nothing is pending any more, as all of it is saved or given up.
  mutating func clear() {
    let former = (nextTemporaryID, generation)
    self = PendingChanges()
    nextTemporaryID = former.0
    firstTemporaryID = former.0
    generation = former.1 + 1
  }

  /// The members of to-manys are as the store has them.
  func settleMembers() {
    for owner in touched { owner.toMany.forEach { $0.didSave() } }
  }
}

extension ManagedObject {
  /// Whether members of it stand in another order than in the file.
  final var isRearranged: Bool {
    state != .invalid && state != .deleted && toMany.contains(where: \.isRearranged)
  }
}

struct LinkKey: Hashable {
  let table: String
  let source: ObjectIdentifier
  let target: ObjectIdentifier

  // Few objects are linked in two tables: hashing the name would take longer than all else.
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
  /// Whether it is known to differ from the file, because the members were in memory.
  let isKnown: Bool

  /// The same where something else was pending before, so that it may differ from the file or not.
  fileprivate var unknown: PendingLink {
    PendingLink(source: source, target: target, join: join, isAdded: isAdded, isKnown: false)
  }

  /// Whether neither end is gone meanwhile.
  var isLive: Bool { source.state != .invalid && target.state != .invalid }
}
