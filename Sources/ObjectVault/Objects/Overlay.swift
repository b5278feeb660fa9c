// What was written to an object since it was fetched or saved. The committed row stays beside it. The members of its relationships
// are in ToManyState.

package import CipherSQLite
private import Foundation

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
  /// The row that a fault had in memory before: what can still be read where the file has none any more.
  var lastRow: LastRow?

  /// Whether an object in a context can do without it.
  var isEmpty: Bool { unsafe overlayReference == nil && !holdsObjects && lastRow == nil }

  init(overlay: Overlay?) { self.overlay = overlay }

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

/// Where an object was.
final class FormerHost {
  // Safe: set by the context alone, and to nil as the first thing in its deinit; whoever asks is used by the one task that
  // uses the context. A weak reference would make the context count all its references the slow way.
  @safe @exclusivity(unchecked) unowned(unsafe) var host: (any ObjectHost)?
  /// The store, which an object's id is of wherever the object went.
  private let store: StoreMark
  /// What the temporary ids of the context have in its place: another context may have given the same numbers.
  let temporary = StoreMark.ofNewContext()

  init(of store: StoreMark) { self.store = store }

  /// What an id of the context is of.
  func mark(of id: Int64) -> StoreMark { id < 0 ? temporary : store }
}

/// The values that were written.
@usableFromInline
package final class Overlay {
  // Unchecked exclusivity, for setters: like its object, the overlay is used by one task at a time, and putting a value in
  // leads to nobody else.
  /// One value for each slot; meaningful where `changed` says so.
  @safe @exclusivity(unchecked) package var values: RowDraft
  @safe @exclusivity(unchecked) package var changed: SlotSet
  /// Why slots hold nil although something else was written: it has no stored form. The save says so.
  @safe @exclusivity(unchecked) var refused: [Int: any Error]? { didSet { isOpen = takesUntold } }
  /// Whether its context is told of the next write, too, as of the first one: who waits for changes asks for it.
  @safe @exclusivity(unchecked) var tellsNextWrite = false { didSet { isOpen = takesUntold } }
  private var takesUntold: Bool { refused == nil && !tellsNextWrite }
  /// Whether a value is put in, and that is all. Kept, as each setter asks.
  @safe @exclusivity(unchecked) private var isOpen = true
  /// The call that the object is used in, which may be cancelled. Here, and not reached through the context,
  /// because each setter asks.
  let run: CancellableRun?
  /// Set on prototypes only: their getters note what they are asked for.
  let recording: (any GetterProbe)?

  init(
    slotCount: Int, changed: SlotSet = SlotSet(), run: CancellableRun? = nil,
    recording: (any GetterProbe)? = nil, in page: RowPage? = nil
  ) {
    values = RowDraft(slotCount: slotCount, in: page)
    self.changed = changed
    self.run = run
    self.recording = recording
  }

  /// One that nobody cancels, as tests make it.
  package convenience init(slotCount: Int, changed: SlotSet = SlotSet()) {
    self.init(slotCount: slotCount, changed: changed, run: nil)
  }

  /// The same values, of its own.
  init(copy other: Overlay) {
    values = RowDraft(copy: other.values)
    changed = other.changed
    refused = other.refused
    run = other.run
    recording = other.recording
    isOpen = takesUntold
  }

  /// The value of a slot of its entity.
  package subscript(slot: Int) -> SQLValue {
    get { values.cell(slot).value }
    set {
      if !values.set(newValue, slot) { refuseTooLarge(slot) }
    }
  }

  /// Writes to an object that has been written to before, and was asked then whether it takes any.
  /// - Returns: Whether that was enough.
  @inline(__always) func put(_ value: SQLValue, _ slot: Int) -> Bool {
    guard isOpen, run?.isCancelled != true else { return false }
    if !values.set(value, slot) { refuseTooLarge(slot) }
    changed.insert(slot)
    return true
  }

  /// The same for a text.
  @inline(__always) func put(_ text: String, _ slot: Int) -> Bool {
    guard isOpen, run?.isCancelled != true else { return false }
    if !values.set(text, slot) { refuseTooLarge(slot) }
    changed.insert(slot)
    return true
  }

  private func refuseTooLarge(_ slot: Int) {
    refused = (refused ?? [:]).merging([slot: UnstorableValue.tooLarge]) { $1 }
  }

  /// The same for a number: see ``RowDraft/put(_:_:_:)``.
  @inline(__always) func put(_ word: UInt64, _ tag: UInt8, _ slot: Int) -> Bool {
    guard isOpen, run?.isCancelled != true else { return false }
    values.put(word, tag, slot)
    changed.insert(slot)
    return true
  }

  /// Whether a slot holds nil.
  func isNull(_ slot: Int) -> Bool { values.cell(slot).isNull }

  /// The integer that a slot holds, such as the id of a to-one's target.
  func int64(_ slot: Int) -> Int64? { values.cell(slot).int64 }
}

extension Overlay {
  /// What a new object holds: the defaults, computed now.
  convenience init(initial entity: EntityMapping, _ run: CancellableRun?, in page: RowPage) {
    self.init(slotCount: entity.slotCount, changed: entity.allStored, run: run, in: page)
    for slot in entity.slotsWithInitialValue {
      if let make = entity.slots[slot].initialValue, let value = try? make() { self[slot] = value }
    }
  }
}
