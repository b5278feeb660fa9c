// The values that were written to an object since it was fetched or saved. The committed row is kept
// unchanged next to them.

package import CipherSQLite

/// The values that were written to an object and not yet saved.
@usableFromInline
package final class Overlay {
  // Unchecked exclusivity, for setters: like its object, an overlay is used by one task at a time, and
  // storing a value runs no other code.
  /// One value for each slot, valid where `changed` contains the slot.
  @safe @exclusivity(unchecked) package var values: RowDraft
  @safe @exclusivity(unchecked) package var changed: SlotSet
  /// The errors of values that have no stored form, by slot. The slot has nil instead. The save reports
  /// the errors.
  @safe @exclusivity(unchecked) var refused: [Int: any Error]? { didSet { isOpen = storesSilently } }
  /// Whether the context must also be notified of the next write, and not only of the first one. The
  /// index of pending objects sets it.
  @safe @exclusivity(unchecked) var notifiesNextWrite = false { didSet { isOpen = storesSilently } }
  /// Whether the context must be notified of every write, with the value before it: for an undo manager.
  @safe @exclusivity(unchecked) var isObserved = false { didSet { isOpen = storesSilently } }
  private var storesSilently: Bool { refused == nil && !notifiesNextWrite && !isObserved }
  /// Whether a write only has to store the value. Cached, because each setter reads it.
  @safe @exclusivity(unchecked) private var isOpen = true
  /// The call that the object is used in, which may be cancelled. Stored here and not read from the
  /// context, because each setter checks it.
  let run: CancellableRun?

  init(
    slotCount: Int, changed: SlotSet = SlotSet(), run: CancellableRun? = nil, in page: RowPage? = nil
  ) {
    values = RowDraft(slotCount: slotCount, in: page)
    self.changed = changed
    self.run = run
  }

  /// Creates an overlay that belongs to no cancellable call, such as that of a test.
  package convenience init(slotCount: Int, changed: SlotSet = SlotSet()) {
    self.init(slotCount: slotCount, changed: changed, run: nil)
  }

  /// Creates a copy with its own storage.
  init(copy other: Overlay) {
    values = RowDraft(copy: other.values)
    changed = other.changed
    refused = other.refused
    run = other.run
    isOpen = storesSilently
  }

  /// The value of a slot of the entity.
  package subscript(slot: Int) -> SQLValue {
    get { values.cell(slot).value }
    set {
      if !values.set(newValue, slot) { refuseTooLarge(slot) }
    }
  }

  /// Stores a value without further checks, which the first write to the object has made.
  /// - Returns: Whether the value was stored. If not, the caller must make the checks.
  @inline(__always) func put(_ value: SQLValue, _ slot: Int) -> Bool {
    guard isOpen, run?.isCancelled != true else { return false }
    if !values.set(value, slot) { refuseTooLarge(slot) }
    changed.insert(slot)
    return true
  }

  /// Stores a text, as ``put(_:_:)`` does.
  @inline(__always) func put(_ text: String, _ slot: Int) -> Bool {
    guard isOpen, run?.isCancelled != true else { return false }
    if !values.set(text, slot) { refuseTooLarge(slot) }
    changed.insert(slot)
    return true
  }

  private func refuseTooLarge(_ slot: Int) {
    refused = (refused ?? [:]).merging([slot: UnstorableValue.tooLarge]) { $1 }
  }

  /// Stores a number, as ``put(_:_:)`` does: see ``RowDraft/put(_:tag:at:)``.
  @inline(__always) func put(_ word: UInt64, tag: UInt8, at slot: Int) -> Bool {
    guard isOpen, run?.isCancelled != true else { return false }
    values.put(word, tag: tag, at: slot)
    changed.insert(slot)
    return true
  }

  /// Whether a slot has nil.
  func isNull(_ slot: Int) -> Bool { values.cell(slot).isNull }

  /// Returns the integer of a slot, such as the id of a to-one's target.
  func int64(_ slot: Int) -> Int64? { values.cell(slot).int64 }
}

extension Overlay {
  /// Creates the overlay of a new object, with the defaults computed now.
  convenience init(initial entity: EntityMapping, _ run: CancellableRun?, in page: RowPage) {
    self.init(slotCount: entity.slotCount, changed: entity.allStored, run: run, in: page)
    for slot in entity.slotsWithInitialValue {
      if let make = entity.slots[slot].initialValue, let value = try? make() { self[slot] = value }
    }
  }
}
