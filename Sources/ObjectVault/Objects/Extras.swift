// What an object has beside its row and its overlay: the members of its relationships, and targets that it keeps alive. The order of
// members is a MemberOrder, and what getters return of them TypedMembers.

internal import CipherSQLite

/// What only objects in use have; one of these is made when the first of it is needed.
@safe @usableFromInline
final class Extras {
  // Retained here, and released in deinit and by the setter: a setter of the object, which only lends it, then counts nothing.
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
  // The targets of to-ones that have been read, kept alive: a loop over objects that share one fetches it once. Most objects
  // have one of them, which needs no list.
  @safe @exclusivity(unchecked) private var target: (slot: Int, object: ManagedObject)?
  @safe @exclusivity(unchecked) private var furtherTargets: [(slot: Int, object: ManagedObject)] = []
  /// Whether other objects are kept alive.
  var holdsObjects: Bool { !toMany.isEmpty || target != nil }
  /// The way to the context that an object has left, which is told what is written to it.
  var former: FormerHost?
  /// Set on prototypes only: their getters note what they are asked for.
  var recording: (any GetterProbe)?
  /// The row that a fault had in memory before: what can still be read where the file has none any more.
  var lastRow: LastRow?

  /// Whether an object in a context can do without it.
  var isEmpty: Bool { unsafe overlayReference == nil && !holdsObjects && lastRow == nil }

  init(overlay: Overlay?) { self.overlay = overlay }

  /// Those of a prototype. Of an object with an overlay no getter looks into the row first.
  init(recording: any GetterProbe) {
    self.recording = recording
    overlay = Overlay(slotCount: 0)
  }

  deinit { unsafe overlayReference?.release() }

  /// The target of a to-one that is kept.
  @inline(__always) func target(_ slot: Int) -> ManagedObject? {
    if let target, target.slot == slot { return target.object }
    return furtherTargets.isEmpty ? nil : furtherTargets.first { $0.slot == slot }?.object
  }

  /// Keeps the target of a to-one.
  func hold(_ object: ManagedObject, _ slot: Int) {
    // Another target may go with this, whose deinit is not to find the list half changed.
    let former = (target, furtherTargets)
    if target == nil || target?.slot == slot {
      target = (slot, object)
    } else {
      furtherTargets = furtherTargets.filter { $0.slot != slot } + [(slot, object)]
    }
    withExtendedLifetime(former) {}
  }

  /// Keeps no target any more.
  func releaseTargets() {
    let former = (target, furtherTargets)
    (target, furtherTargets) = (nil, [])
    withExtendedLifetime(former) {}
  }
}

/// A row that was in memory.
@safe struct LastRow {
  // Lies in the page.
  let cells: UnsafeRawPointer
  let page: RowPage
}

// Not a dictionary: an object has few of them, and hashing a slot costs more than to look at all. Most have one, without a list.
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

  /// Puts in those of a slot that has none.
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

/// The members of a to-many, as far as they are known, and what changed since the last save.
package final class ToManyState {
  // Sets of members cost more than the members, and of most new objects nobody ever asks for them.
  /// Who was inserted since anybody last asked, and is in none of the sets yet; empty in a relationship with an order.
  private var news: [ManagedObject] = []
  private var knownMembers: Set<ManagedObject>?
  /// Who came since the last save, but for the news.
  private var knownAdded: Set<ManagedObject> = []
  /// Who went since the last save.
  private(set) var removed: Set<ManagedObject> = []
  /// All members, with the changes; nil while they have not been fetched. Who was added or removed then may have been
  /// a member before, or not: the last word counts.
  var members: Set<ManagedObject>? {
    takeNewsIn()
    return knownMembers
  }
  var added: Set<ManagedObject> {
    takeNewsIn()
    return knownAdded
  }
  /// The order of the members, and before they are fetched of those that were added; nil for a relationship without one.
  private(set) var order: MemberOrder<ManagedObject>?
  /// `members` without the deleted ones, in the form that the getter returns.
  var typed: TypedMembers?
  /// The count of ``ObjectHost/deletionCount`` when `typed` was made or corrected.
  var seenDeletions = 0

  /// - Parameter isNew: Whether it has no members, as those of a new object.
  init(isOrdered: Bool, isNew: Bool) {
    order = isOrdered ? MemberOrder([]) : nil
    knownMembers = isNew ? [] : nil
  }

  /// Whether all members are in memory.
  var isWhole: Bool { knownMembers != nil }
  /// Whether it is known to have no members.
  var isWholeAndEmpty: Bool { news.isEmpty && knownMembers?.isEmpty == true }
  /// Whether it differs from the file by members that came or went.
  var isChanged: Bool { !(news.isEmpty && knownAdded.isEmpty && removed.isEmpty) }

  /// Whether it got members since the last save that nobody has asked for. Who has them is among those who were touched.
  var hasNews: Bool { !news.isEmpty }

  private func takeNewsIn() {
    guard !news.isEmpty else { return }
    defer { news = [] }
    guard knownAdded.isEmpty else {
      // In place: who adds members one by one asks each time.
      knownAdded.formUnion(news)
      knownMembers?.formUnion(news)
      return
    }
    // One set for both, where they are the same.
    knownAdded = Set(news)
    if knownMembers?.isEmpty == true { knownMembers = knownAdded } else { knownMembers?.formUnion(news) }
  }

  /// Whether the order is another than the file's with the new members at its end.
  var isRearranged: Bool { order?.isRearranged == true }

  /// Whether an object that comes back goes behind members which are not known.
  func needsMembers(for object: ManagedObject) -> Bool {
    order != nil && knownMembers == nil && removed.contains(object)
  }

  package func insert(_ object: ManagedObject) {
    if order == nil, typed == nil, removed.isEmpty {
      return news.append(object)
    }
    takeNewsIn()
    let isThere = knownMembers?.contains(object) ?? knownAdded.contains(object)
    // In the file it has a place that is not the end.
    if order != nil, knownMembers != nil, removed.contains(object) { order?.didArrange() }
    if !isThere {
      order?.append(object)
      typed?.insert(object)
    }
    knownMembers?.insert(object)
    removed.remove(object)
    knownAdded.insert(object)
  }

  func remove(_ object: ManagedObject) {
    leave(object)
    knownAdded.remove(object)
    removed.insert(object)
  }

  /// An object is no member any more, in the file neither.
  func leave(_ object: ManagedObject) {
    takeNewsIn()
    leaveTyped(object)
    knownMembers?.remove(object)
    order?.remove(object)
  }

  /// An object is not returned by the getter any more, as one that is to be deleted.
  func leaveTyped(_ object: ManagedObject) {
    typed?.remove(object) { order?.place(of: $0) }
  }

  /// Forgets members whose rows are gone.
  func leaveInvalid() {
    guard let members else { return }
    for object in members where object.state == .invalid { leave(object) }
  }

  /// The members as they were fetched, in their order.
  package func adopt(_ fetched: [ManagedObject]) {
    // Deleted ones too, which `typed` leaves out: a rollback brings them back.
    let present = fetched.filter { !removed.contains($0) }
    let stored = Set(present)
    knownMembers = stored.union(added)
    typed = nil
    if let new = order?.objects { order = MemberOrder(present + new.filter { !stored.contains($0) }) }
  }

  /// Puts the members into an order; those that are not in it stay behind.
  /// - Returns: Whether that is another one.
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

  /// The store holds what memory holds.
  ///
  /// Members that nobody has asked for are not kept alive by an object that was new, or was known to have none before: they are
  /// fetched when somebody does.
  func didSave() {
    if knownMembers?.isEmpty != false, !news.isEmpty {
      news = []
      knownMembers = nil
    }
    takeNewsIn()
    (knownAdded, removed) = ([], [])
    order?.didSave()
    if knownMembers == nil { keepAdded() }
  }

  /// Members that a save may have to place, in their order. Where the order was not rearranged they go to the end.
  var unplaced: [ManagedObject] {
    takeNewsIn()
    return order?.last(knownAdded) ?? []
  }

  /// Back to not being fetched.
  func forget() {
    news = []
    knownMembers = nil
    typed = nil
    didSave()
  }

  /// What was fetched is older than the file; what was changed stays. For members without an order.
  func forgetFetched() {
    takeNewsIn()
    (knownMembers, typed) = (nil, nil)
  }

  // MARK: Taking back

  /// An object is no new member any more.
  func takeBack(inserted object: ManagedObject) {
    takeNewsIn()
    guard knownAdded.remove(object) != nil else { return }
    leave(object)
  }

  /// An object is a member again, as it is in the file.
  func takeBack(removed object: ManagedObject) {
    takeNewsIn()
    guard removed.remove(object) != nil else { return }
    guard knownMembers != nil else { return }
    if order != nil, !isRearranged {
      // Where it stands, the file says.
      (knownMembers, typed) = (nil, nil)
      return keepAdded()
    }
    // In the file it has a place that is not the end.
    order?.didArrange()
    knownMembers?.insert(object)
    order?.append(object)
    typed?.insert(object)
  }

  private func keepAdded() {
    guard let present = order?.objects else { return }
    order = MemberOrder(knownAdded.isEmpty ? [] : present.filter(knownAdded.contains))
  }
}
