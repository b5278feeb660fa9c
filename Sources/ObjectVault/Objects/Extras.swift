// What an object has besides its row: the members of its relationships, the targets that it keeps alive,
// and rarer state. MemberOrder has the order of members, TypedMembers the values that getters return.

internal import CipherSQLite

/// The rarely needed state of an object, created when its first part is needed.
@safe @usableFromInline
final class Extras {
  // Retained here, and released in deinit and by the setter, so that code which only borrows the overlay
  // needs no reference counting.
  @usableFromInline @safe @exclusivity(unchecked) private(set) var overlayReference: Unmanaged<Overlay>?
  var overlay: Overlay? {
    get { unsafe overlayReference?.takeUnretainedValue() }
    set {
      let former = overlayReference
      unsafe overlayReference = newValue.map { unsafe Unmanaged.passRetained($0) }
      unsafe former?.release()
    }
  }
  /// The members of relationships that have been read or changed, by slot.
  @safe @exclusivity(unchecked) var toMany = MemberStates()
  // The targets of to-ones that have been read, kept alive so that a loop over objects with a common
  // target fetches it once. Most objects have one such target, which needs no list.
  @safe @exclusivity(unchecked) private var target: (slot: Int, object: ManagedObject)?
  @safe @exclusivity(unchecked) private var furtherTargets: [(slot: Int, object: ManagedObject)] = []
  /// The relationships of an object that is not in a context yet.
  var draft: Draft?
  /// Whether it keeps other objects alive.
  var holdsObjects: Bool { !toMany.isEmpty || target != nil }
  /// A reference to the context that the object has left. Writes to the object are reported there.
  var former: FormerHost?
  /// Set on prototypes only: records which properties their getters read.
  var recording: (any GetterProbe)?
  /// The row that a fault had in memory before. It can still be read if the file no longer has the row.
  var lastRow: LastRow?

  /// The observers of the object; nil if it was never read in a context that notifies observers.
  var observed: ObservedProperties?

  /// Whether an object in a context no longer needs these extras.
  var isEmpty: Bool {
    unsafe overlayReference == nil && !holdsObjects && lastRow == nil && observed == nil
  }

  init(overlay: Overlay?) { self.overlay = overlay }

  /// Creates the extras of a prototype. The empty overlay makes getters take the slow path, which reads
  /// `recording`.
  init(recording: any GetterProbe) {
    self.recording = recording
    overlay = Overlay(slotCount: 0)
  }

  deinit { unsafe overlayReference?.release() }

  /// Returns the target of a to-one, if it is kept alive here.
  @inline(__always) func target(_ slot: Int) -> ManagedObject? {
    if let target, target.slot == slot { return target.object }
    return furtherTargets.isEmpty ? nil : furtherTargets.first { $0.slot == slot }?.object
  }

  /// Keeps the target of a to-one alive.
  func hold(_ object: ManagedObject, _ slot: Int) {
    // Replacing a target may deallocate it, and its deinit may run other code: that must not happen while
    // the list is being changed.
    let former = (target, furtherTargets)
    if target == nil || target?.slot == slot {
      target = (slot, object)
    } else {
      furtherTargets = furtherTargets.filter { $0.slot != slot } + [(slot, object)]
    }
    withExtendedLifetime(former) {}
  }

  /// Releases all targets.
  func releaseTargets() {
    let former = (target, furtherTargets)
    (target, furtherTargets) = (nil, [])
    withExtendedLifetime(former) {}
  }
}

/// The relationships of an object that is not in a context yet.
final class Draft {
  struct Related {
    let slot: Int
    /// At most one object for a to-one.
    var objects: [ManagedObject]
    /// The identities of `objects`, so that `add` drops duplicates without a search.
    var known: Set<ObjectIdentifier>
  }

  /// The values of relationships, in the order in which they were set.
  private(set) var related: [Related] = []

  subscript(slot: Int) -> [ManagedObject] {
    get { related.first { $0.slot == slot }?.objects ?? [] }
    set {
      let former = related
      related = related.filter { $0.slot != slot }
      // A relationship without a value has no entry here: its inverse may set it.
      if !newValue.isEmpty {
        related.append(
          Related(slot: slot, objects: newValue, known: Set(newValue.map(ObjectIdentifier.init))))
      }
      withExtendedLifetime(former) {}
    }
  }

  func add(_ object: ManagedObject, _ slot: Int) {
    guard let place = related.firstIndex(where: { $0.slot == slot }) else { return self[slot] = [object] }
    if related[place].known.insert(ObjectIdentifier(object)).inserted {
      related[place].objects.append(object)
    }
  }

  /// Releases the objects one after the other: a chain of drafts would otherwise overflow the stack.
  func release() {
    var waiting = related.flatMap(\.objects)
    related = []
    while var object = waiting.popLast() {
      guard isKnownUniquelyReferenced(&object), let draft = object.extras?.draft else { continue }
      waiting += draft.related.flatMap(\.objects)
      draft.related = []
    }
  }
}

/// The row that an object had in memory before it became a fault.
@safe struct LastRow {
  // Points into the page.
  let cells: UnsafeRawPointer
  let page: RowPage
}

// Not a dictionary: an object has few entries, and hashing a slot costs more than comparing all of them.
// Most objects have one entry, which needs no list.
/// The members of relationships, by slot.
struct MemberStates {
  private var first: (slot: Int, state: ToManyState)?
  private var others: [(slot: Int, state: ToManyState)] = []

  var isEmpty: Bool { first == nil }

  subscript(slot: Int) -> ToManyState? {
    if let first, first.slot == slot { return first.state }
    for (known, state) in others where known == slot { return state }
    return nil
  }

  /// Adds the members of a slot that has none yet.
  mutating func add(_ state: ToManyState, _ slot: Int) {
    if first == nil { first = (slot, state) } else { others.append((slot, state)) }
  }

  func forEach(_ body: (ToManyState) throws -> Void) rethrows {
    if let first { try body(first.state) }
    for (_, state) in others { try body(state) }
  }

  func contains(where belongs: (ToManyState) -> Bool) -> Bool {
    first.map { belongs($0.state) } == true || others.contains { belongs($0.state) }
  }
}

/// The members of a to-many as far as they are in memory, and the changes since the last save.
package final class ToManyState {
  // An array, because sets cost more memory than the members themselves, and the members of most new
  // objects are never read.
  /// Members that were inserted and are in none of the sets yet. Reading `members` or `added` moves them
  /// there. Always empty in a relationship with an order.
  private var news: [ManagedObject] = []
  private var knownMembers: Set<ManagedObject>?
  /// Members added since the last save, without `news`.
  private var mergedAdded: Set<ManagedObject> = []
  /// Members removed since the last save.
  private(set) var removed: Set<ManagedObject> = []
  /// All members, with the pending changes; nil until they are fetched. Until then an added or removed
  /// object may or may not be a member in the file, and the latest change counts.
  var members: Set<ManagedObject>? {
    mergeNews()
    return knownMembers
  }
  var added: Set<ManagedObject> {
    mergeNews()
    return mergedAdded
  }
  /// The order of the members; before they are fetched, the order of the added ones. nil for a
  /// relationship without an order.
  private(set) var order: MemberOrder<ManagedObject>?
  /// `members` without the deleted ones, in the form that the getter returns.
  var typed: TypedMembers?
  /// The value of ``ObjectHost/deletionCount`` when `typed` was made or corrected.
  var seenDeletions = 0

  /// Creates the state of a to-many.
  /// - Parameter isNew: Whether there are no members, as on a new object. Otherwise the members are not
  ///   in memory.
  init(isOrdered: Bool, isNew: Bool) {
    order = isOrdered ? MemberOrder([]) : nil
    knownMembers = isNew ? [] : nil
  }

  /// Whether all members are in memory.
  var isWhole: Bool { knownMembers != nil }
  /// Whether there are certainly no members.
  var isWholeAndEmpty: Bool { news.isEmpty && knownMembers?.isEmpty == true }
  /// Whether members were added or removed since the last save.
  var isChanged: Bool { !(news.isEmpty && mergedAdded.isEmpty && removed.isEmpty) }

  /// Whether `news` has members. The owner is then already in `PendingChanges.touched`.
  var hasUnmergedMembers: Bool { !news.isEmpty }

  private func mergeNews() {
    guard !news.isEmpty else { return }
    defer { news = [] }
    guard mergedAdded.isEmpty else {
      // In place, because a caller that adds members one by one gets here after each of them.
      mergedAdded.formUnion(news)
      knownMembers?.formUnion(news)
      return
    }
    // If both sets are equal, they share one storage.
    mergedAdded = Set(news)
    if knownMembers?.isEmpty == true { knownMembers = mergedAdded } else { knownMembers?.formUnion(news) }
  }

  /// Whether the order differs from the saved order with the new members appended.
  var isRearranged: Bool { order?.isRearranged == true }

  /// Whether the members must be fetched before an object is inserted: the object was removed before, and
  /// its new position is after members that are not in memory.
  func needsMembers(for object: ManagedObject) -> Bool {
    order != nil && knownMembers == nil && removed.contains(object)
  }

  package func insert(_ object: ManagedObject) {
    if order == nil, typed == nil, removed.isEmpty {
      return news.append(object)
    }
    mergeNews()
    let isThere = knownMembers?.contains(object) ?? mergedAdded.contains(object)
    // The file may have the object at another position than the end.
    if order != nil, knownMembers != nil, removed.contains(object) { order?.didArrange() }
    if !isThere {
      order?.append(object)
      typed?.insert(object)
    }
    knownMembers?.insert(object)
    removed.remove(object)
    mergedAdded.insert(object)
  }

  func remove(_ object: ManagedObject) {
    leave(object)
    mergedAdded.remove(object)
    removed.insert(object)
  }

  /// Removes an object without recording the removal as a change.
  func leave(_ object: ManagedObject) {
    mergeNews()
    removeTyped(object)
    knownMembers?.remove(object)
    order?.remove(object)
  }

  /// Removes an object from the value that the getter returns, for example when it is to be deleted.
  func removeTyped(_ object: ManagedObject) {
    typed?.remove(object) { order?.place(of: $0) }
  }

  /// Removes members whose rows no longer exist.
  func removeInvalid() {
    guard let members else { return }
    for object in members where object.state == .invalid { leave(object) }
  }

  /// Takes over the fetched members, in their order.
  package func adopt(_ fetched: [ManagedObject]) {
    // Includes deleted objects, which `typed` omits, because a rollback makes them members again.
    let present = fetched.filter { !removed.contains($0) }
    let stored = Set(present)
    knownMembers = stored.union(added)
    typed = nil
    if let new = order?.objects { order = MemberOrder(present + new.filter { !stored.contains($0) }) }
  }

  /// Puts the members into the wanted order. Members that are not in `wanted` follow at the end.
  /// - Returns: Whether the order changed.
  package func arrange(_ wanted: [ManagedObject]) -> Bool {
    guard let members, let present = order?.objects else { return false }
    let first = wanted.filter(members.contains)
    let isFirst = Set(first)
    let list = first + present.filter { !isFirst.contains($0) }
    guard !list.elementsEqual(present, by: ===) else { return false }
    order = MemberOrder(list)
    order?.didArrange()
    typed = nil
    return true
  }

  // MARK: Saves

  /// Makes the pending changes the saved state.
  ///
  /// If no other members are in memory, the members in `news` are released, and the next read fetches all
  /// members.
  func didSave() {
    if knownMembers?.isEmpty != false, !news.isEmpty {
      news = []
      knownMembers = nil
    }
    mergeNews()
    (mergedAdded, removed) = ([], [])
    order?.didSave()
    if knownMembers == nil { keepAdded() }
  }

  /// The added members in their order. A save may have to write their positions. If the order was not
  /// changed otherwise, they are the last ones in it.
  var unplaced: [ManagedObject] {
    mergeNews()
    return order?.last(mergedAdded) ?? []
  }

  /// Discards the members and their changes. The next read fetches the members.
  func forget() {
    news = []
    knownMembers = nil
    typed = nil
    didSave()
  }

  /// Discards the fetched members, which are older than the file, and keeps the changes. Only for
  /// relationships without an order.
  func discardFetched() {
    mergeNews()
    (knownMembers, typed) = (nil, nil)
  }

  // MARK: Undoing changes

  /// Returns a copy, for ``restore(_:)``.
  func copy() -> ToManyState {
    mergeNews()
    let copy = ToManyState(isOrdered: false, isNew: false)
    copy.restore(self)
    return copy
  }

  /// Makes this the state that a copy has.
  func restore(_ other: ToManyState) {
    (news, knownMembers, mergedAdded) = ([], other.knownMembers, other.mergedAdded)
    (removed, order, typed) = (other.removed, other.order, nil)
  }

  /// Puts the members into an order that they had. Members that were not in it follow at the end.
  /// - Parameters:
  ///   - isRearranged: Whether that order differed from the saved one.
  ///   - isOfThisSave: Whether there was no save since.
  func restore(order former: [ManagedObject], isRearranged: Bool, isOfThisSave: Bool) {
    guard let members, let present = order else { return }
    let first = former.filter(members.contains)
    let isFirst = Set(first)
    let list = first + present.objects.filter { !isFirst.contains($0) }
    let differs = !list.elementsEqual(present.objects, by: ===)
    order = MemberOrder(list)
    if isOfThisSave ? isRearranged || first.count < list.count : present.isRearranged || differs {
      order?.didArrange()
    }
    typed = nil
  }

  /// Adds a member that the store has. If the members have an order, only the store has the place of the
  /// new one. Then the members are discarded and read again, unless they have changes.
  func adopt(member object: ManagedObject) {
    mergeNews()
    guard knownMembers?.contains(object) == false, !removed.contains(object) else { return }
    if order != nil, !isChanged, !isRearranged { return forget() }
    knownMembers?.insert(object)
    order?.append(object)
    typed?.insert(object)
  }

  /// Undoes the insertion of an object.
  func takeBack(inserted object: ManagedObject) {
    mergeNews()
    guard mergedAdded.remove(object) != nil else { return }
    leave(object)
  }

  /// Undoes the removal of an object: it is a member again, as before.
  /// - Parameters:
  ///   - isPending: Whether the file does not have it as a member yet.
  ///   - restoresOrder: Whether the caller restores the order of the members afterwards. Otherwise only the
  ///     file has the object's position.
  func takeBack(removed object: ManagedObject, isPending: Bool = false, restoresOrder: Bool = false) {
    mergeNews()
    guard removed.remove(object) != nil else { return }
    if isPending {
      mergedAdded.insert(object)
      if order != nil, knownMembers?.contains(object) != true { order?.append(object) }
      if knownMembers?.insert(object).inserted == true { typed?.insert(object) }
      return
    }
    guard knownMembers != nil else { return }
    if order != nil, !isRearranged, !restoresOrder {
      // Only the file has the object's position, so the next read fetches the members.
      (knownMembers, typed) = (nil, nil)
      return keepAdded()
    }
    // The file may have the object at another position than the end.
    if !restoresOrder { order?.didArrange() }
    if knownMembers?.insert(object).inserted == true {
      order?.append(object)
      typed?.insert(object)
    }
  }

  private func keepAdded() {
    guard let present = order?.objects else { return }
    order = MemberOrder(mergedAdded.isEmpty ? [] : present.filter(mergedAdded.contains))
  }
}
