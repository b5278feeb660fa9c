// What differs from the store in a context, as a value: a copy of it stays as it was.
//
// Objects themselves hold what was written to them; here stands which objects a save has to look at, and the links that
// no object holds. Who changes it has a verb for it, and tests ask after each whether it still agrees with itself.

/// The objects of a context that differ from the store.
package struct PendingChanges {
  /// New objects, in the order of their insertion; with them some that were deleted again, which are taken out
  /// many at a time: taking each out by itself would be quadratic. Those that rest come first.
  package var inserted: [ManagedObject] { resting.isEmpty ? awakeInserted : resting.inserted + awakeInserted }
  private var awakeInserted: [ManagedObject] = []
  /// Whether there may be any of them. Takes the same time however many there are.
  var mayHaveInserted: Bool { !awakeInserted.isEmpty || !resting.isEmpty }
  /// How many of those that do not rest were deleted again.
  private(set) var forgotten = 0
  /// What a flush need not look at again.
  private(set) var resting = RestingObjects()
  /// Whether a save woke objects that rested before it, so that a flush goes on.
  private(set) var wokeOthers = false
  /// Whether a new object may have been forgotten, or have gone with another one, to which something that is pending refers.
  private(set) var mayReferToForgotten = false
  /// Saved objects with an overlay, and some that were refreshed since.
  package var updated: [ManagedObject] { resting.isEmpty ? awakeUpdated : resting.updated + awakeUpdated }
  private var awakeUpdated: [ManagedObject] = []
  /// How many of those that do not rest were refreshed, and have no change.
  private(set) var refreshed = 0
  /// Objects that the next save deletes.
  package private(set) var deleted: [ManagedObject] = []
  /// Owners of to-manys that somebody has asked for, and that changed: kept alive until the save.
  package private(set) var touched: Set<ManagedObject> = []
  /// Who became a member of objects whose members nobody has asked for.
  package private(set) var gained = GainedMembers()
  /// By object that a flush left out: who was touched and has it among the members that were added or removed.
  private(set) var waiting: [ManagedObject: Set<ManagedObject>] = [:]
  /// The indexes of the entities of those who were touched.
  private var entitiesWaiting: Set<Int> = []
  /// Deleted new objects that `waiting` still has, and that are not among the new ones any more.
  private var forgottenWaiting: [ManagedObject] = []
  private(set) var links: [LinkKey: PendingLink] = [:]
  private(set) var nextTemporaryID: Int64 = -1
  private var runs = TemporaryIDRuns()
  /// The temporary id that comes first in the numbering of those that have no final one.
  private(set) var firstTemporaryID: Int64 = -1
  /// The one that was given out last.
  var lastTemporaryID: Int64 { nextTemporaryID + 1 }
  /// Ids that new objects were given inside a write.
  var given = GivenIDs()
  /// Rises with whatever a save may see otherwise from then on. Of objects that have been written to before, the first write
  /// after a refusal alone is told: see ``didDenyDeletions(_:)``.
  private var changeCount = 0
  /// What that was when a flush was denied one of the deletions; nil when none was.
  private var changeCountDenied: Int?
  /// The holds that it found, some of which may be released by now.
  private(set) var holds: [DeletionHold] = []

  /// Whether some of the new objects may have their ids already, as those that a flush left out.
  var hasLeftOut: Bool { hasAwakeLeftOut || !resting.isEmpty }
  private var hasAwakeLeftOut = false

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
  package var isLive: Bool { !resting.isEmpty || !deleted.isEmpty || isAwake }

  /// Whether there is anything but deletions that a flush has to look at.
  var isAwake: Bool {
    awakeInserted.count > forgotten || awakeUpdated.count > refreshed
      || links.values.contains(where: \.isLive)
      || touched.contains { $0.isRearranged }
  }

  /// What a flush looks at.
  var awake: PendingChanges {
    var copy = self
    copy.resting = RestingObjects()
    return copy
  }

  /// What a change of it may let go of: all but what rests or waits, which would be copied by each change.
  var releasable: PendingChanges {
    var copy = awake
    copy.waiting = [:]
    copy.gained = gained.withoutWaiting
    return copy
  }

  /// Whether there may be anything to save: quickly said.
  var mayBeLive: Bool {
    !resting.isEmpty || !awakeInserted.isEmpty || !awakeUpdated.isEmpty || !deleted.isEmpty
      || !touched.isEmpty
      || !gained.isEmpty
  }

  /// How many objects a fetch has to look at, about: quickly said.
  package var count: Int { resting.count + awakeInserted.count + awakeUpdated.count }

  /// The ids of the deleted objects, by the index of each one's own entity; none without any.
  func deletedIDs() -> [Int: RowIDSet] {
    var ids: [Int: [Int64]] = [:]
    for object in deleted where object.state == .deleted {
      if let entity = object.entity { ids[entity.index, default: []].append(object.rowID) }
    }
    return ids.mapValues { RowIDSet($0) }
  }

  /// Whether deletions are pending that no flush has been denied, or that one was before anything changed. A denial rests on
  /// other objects, so that any change may put it right.
  var mayDelete: Bool { deleted.isEmpty || changeCount != changeCountDenied }

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
    awakeInserted.append(object)
    note(object)
    changeCount += 1
  }

  /// A new object is none any more.
  mutating func didForget() {
    changeCount += 1
    forgotten += 1
    mayReferToForgotten = true
    guard forgotten > 16, forgotten * 2 > awakeInserted.count else { return }
    forgottenWaiting += awakeInserted.filter { $0.state != .inserted && isWaitedFor($0) }
    awakeInserted.removeAll { $0.state != .inserted }
    forgotten = 0
    given.seen = 0
  }

  /// A saved object got its first change. The caller sees to it that it is told once.
  @inline(__always) package mutating func didChange(_ object: ManagedObject) {
    awakeUpdated.append(object)
    note(object)
  }

  /// Something was written to an object.
  /// - Parameter isAgain: Whether it is among the changed ones, and what was written to it before was taken back.
  @inline(__always) mutating func didWrite(isAgain: Bool) {
    changeCount += 1
    if isAgain { refreshed -= 1 }
  }

  /// What was written to an object was taken back.
  /// - Parameter wasChanged: Whether it is among the changed ones, and had a change.
  mutating func didRefresh(wasChanged: Bool) {
    changeCount += 1
    if wasChanged { refreshed += 1 }
  }

  package mutating func didDelete(_ object: ManagedObject) {
    deleted.append(object)
    note(object)
    if let index = object.entity?.index { entitiesDeleted.insert(index) }
    changeCount += 1
  }
  package mutating func didTouch(_ object: ManagedObject) {
    touched.insert(object)
    note(object)
    changeCount += 1
  }

  /// An object became a member of one whose members nobody has asked for.
  @inline(__always) mutating func didGain(_ member: ManagedObject, _ owner: ManagedObject, _ slot: Int) {
    gained.add(member, to: owner, slot)
    note(owner)
    changeCount += 1
  }

  /// Takes out what one relationship of an object gained, which is asked for its members now.
  mutating func takeGained(of owner: ManagedObject, _ slot: Int) -> [ManagedObject] {
    let members = gained.take(of: owner, slot)
    if !members.isEmpty { touched.insert(owner) }
    return members
  }

  /// A flush was denied one of the deletions: until something changes, none is tried again.
  mutating func didDenyDeletions(_ error: any Error) {
    changeCountDenied = changeCount
    holds = (error as? DeletionsMustWait)?.holds ?? []
    // A setter tells of none of its writes but the first.
    for object in inserted { object.overlay?.tellsNextWrite = true }
    for object in updated { object.overlay?.tellsNextWrite = true }
  }

  /// All holds but the first ones stand no more.
  mutating func didReleaseHolds(after count: Int) { holds.removeLast(holds.count - count) }

  /// A link is there from now on, or is not.
  /// - Parameter isKnown: Whether the members are in memory, so that it is known to differ from the file.
  package mutating func didLink(
    _ source: ManagedObject, _ target: ManagedObject, _ join: JoinTable, isAdded: Bool, isKnown: Bool
  ) {
    changeCount += 1
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

  // MARK: Rest

  /// A flush looks at an object again, about which something changes.
  @inline(__always) mutating func wake(_ object: ManagedObject) {
    guard !resting.isEmpty, resting.remove(object) else { return }
    if object.state == .inserted {
      // It has its id already.
      hasAwakeLeftOut = true
      awakeInserted.append(object)
    } else {
      awakeUpdated.append(object)
    }
  }

  /// A flush looks at the objects again that want a unique value of some rows, which have others now.
  mutating func wakeWanting(_ rows: [RowPlace]) {
    for object in rows.flatMap(resting.wanting) {
      wake(object)
      wokeOthers = true
    }
  }

  /// A flush looks at all objects again: deletions may concern any of them. They stay pending.
  mutating func wakeAll() {
    guard !resting.isEmpty else { return }
    hasAwakeLeftOut = true
    (awakeInserted, awakeUpdated) = (inserted, updated)
    resting = RestingObjects()
  }

  /// A flush goes on: what it has deleted may have been in the way of objects that it left out.
  mutating func lookAgain() { wokeOthers = true }

  // MARK: What a save leaves

  /// Nothing is pending any more.
  /// - Returns: What was. The caller keeps it until the change is over.
  mutating func clear() -> PendingChanges {
    let former = self
    (waiting, entitiesWaiting) = ([:], [])
    gained = GainedMembers()
    resting = RestingObjects()
    keep(inserted: [], updated: [], deleted: [])
    return former
  }

  /// What is pending from now on: all that a save left out, and what rested while it was made.
  /// - Parameter left: Those of the objects that the next flush need not look at, with the rows that are in their way.
  mutating func keep(
    inserted: [ManagedObject], updated: [ManagedObject], deleted: [ManagedObject],
    resting left: [ManagedObject: Set<RowPlace>] = [:]
  ) {
    awakeInserted = left.isEmpty ? inserted : inserted.filter { left[$0] == nil }
    awakeUpdated = left.isEmpty ? updated : updated.filter { left[$0] == nil }
    wokeOthers = false
    for (object, rows) in left {
      resting.insert(object, waitingFor: rows)
      // A setter reports none of its writes but the first.
      object.overlay?.tellsNextWrite = true
    }
    for object in left.keys {
      for other in resting.circle(of: object) {
        if left[other] == nil { wokeOthers = true }
        wake(other)
      }
    }
    let isEmpty = awakeInserted.isEmpty && awakeUpdated.isEmpty && resting.isEmpty
    mayReferToForgotten = !isEmpty && (mayReferToForgotten || !self.deleted.isEmpty)
    hasAwakeLeftOut = !awakeInserted.isEmpty
    (forgotten, refreshed) = (0, 0)
    self.deleted = deleted
    if deleted.isEmpty { (changeCountDenied, holds) = (nil, []) }
    touched = []
    forgottenWaiting = []
    links = [:]
    firstTemporaryID = nextTemporaryID
    runs = TemporaryIDRuns()
    given = GivenIDs()
    (entities, lastEntity) = (resting.entities.union(entitiesWaiting), -1)
    for object in awakeInserted { note(object) }
    for object in awakeUpdated { note(object) }
    for object in deleted { note(object) }
    if deleted.isEmpty { entitiesDeleted = [] }
  }

  private func isWaitedFor(_ object: ManagedObject) -> Bool {
    waiting[object] != nil || gained.isWaiting(for: object)
  }

  /// The members of to-manys are as the store has them, but for those that were left out. A flush looks at the owners that were
  /// touched, and at the members that it has saved, and at no others.
  /// - Returns: The objects that this releases. The caller keeps them until the change is over.
  mutating func settleMembers(but leftOut: Set<ManagedObject>) -> [ManagedObject] {
    guard !gained.isEmpty || !waiting.isEmpty || !touched.isEmpty else { return [] }
    let rest = resting.all
    guard !leftOut.isEmpty || !rest.isEmpty else { return settleAllMembers() }
    // Of a row that rests for another property, the references are written, and so are its links.
    let isUnsaved: (ManagedObject) -> Bool = { object in
      leftOut.contains(object)
        || (rest.contains(object) && (object.state == .inserted || object.hasPendingReference))
    }
    let lookedAt =
      waiting.isEmpty && !gained.hasWaiting ? [] : awakeInserted + awakeUpdated + forgottenWaiting
    let saved = lookedAt.filter { isWaitedFor($0) && !isUnsaved($0) }
    var settled = saved
    for gain in gained.didFlush(saved, but: isUnsaved) { settled += [gain.owner, gain.member] }
    for object in saved {
      for owner in waiting.removeValue(forKey: object) ?? [] {
        owner.toMany.forEach { $0.didSave(waiting: object) }
        touched.insert(owner)
      }
    }
    if waiting.isEmpty { entitiesWaiting = [] }
    for owner in touched {
      owner.toMany.forEach { state in
        for member in state.didFlush(but: isUnsaved) { waiting[member, default: []].insert(owner) }
        if state.isChanged, let index = owner.entity?.index { entitiesWaiting.insert(index) }
      }
    }
    return settled
  }

  /// Settles all members after a save that left no object out.
  private mutating func settleAllMembers() -> [ManagedObject] {
    let settled = Array(waiting.keys) + gained.waiting.flatMap { [$0.owner, $0.member] }
    touched.formUnion(waiting.values.joined())
    (waiting, entitiesWaiting) = ([:], [])
    gained = GainedMembers()
    for owner in touched { owner.toMany.forEach { $0.didSave() } }
    return settled
  }
}

extension ManagedObject {
  /// Whether one of its to-ones is not written yet.
  fileprivate final var hasPendingReference: Bool {
    guard let entity, let overlay else { return false }
    return entity.storedSlots.contains { entity.isToOne[$0] && overlay.changed.contains($0) }
  }

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
