// What was written to an object since it was fetched or saved. The committed row stays beside it.

package import CipherSQLite

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
  /// Whether its context is told of the next write, too, as of the first one: the index of pending objects asks for it.
  @safe @exclusivity(unchecked) var tellsNextWrite = false { didSet { isOpen = takesUntold } }
  private var takesUntold: Bool { refused == nil && !tellsNextWrite }
  /// Whether a value is put in, and that is all. Kept, as each setter asks.
  @safe @exclusivity(unchecked) private var isOpen = true
  /// The call that the object is used in, which may be cancelled. Here, and not reached through the context,
  /// because each setter asks.
  let run: CancellableRun?

  init(
    slotCount: Int, changed: SlotSet = SlotSet(), run: CancellableRun? = nil, in page: RowPage? = nil
  ) {
    values = RowDraft(slotCount: slotCount, in: page)
    self.changed = changed
    self.run = run
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
