// The path of a write to an attribute or to-one, from the property wrapper to the overlay. Most writes
// are to objects that already have pending changes, which need no further checks.

public import CipherSQLite

extension ManagedObject {
  @inlinable @inline(__always)
  final func writeAttribute<Value: AttributeValue>(_ value: Value, _ slot: UInt16) {
    do {
      // The compiler knows the case for most types, so that a number is stored as its machine word.
      switch try value.stored() {
      case .integer(let number): setWord(UInt64(bitPattern: number), tag: 1, at: Int(slot))
      case .real(let number): setWord(number.bitPattern, tag: 2, at: Int(slot))
      case .text(let text): setText(text, Int(slot))
      case let stored: setStored(stored, Int(slot))
      }
    } catch { refuse(error, Int(slot)) }
  }

  /// Writes to an object without retaining it; the compiler would otherwise retain and release it at each
  /// write.
  @inlinable @inline(__always)
  static func write<Value: AttributeValue>(_ value: Value, _ slot: UInt16, to owner: ManagedObject) {
    // The caller retains the object until this returns.
    withExtendedLifetime(owner) {
      unsafe Unmanaged.passUnretained(owner)._withUnsafeGuaranteedRef { $0.writeAttribute(value, slot) }
    }
  }

  @usableFromInline
  final func setStored(_ value: SQLValue, _ slot: Int) {
    // Most objects were written to before, and the first write made the checks.
    if isOpen, unsafe overlayReference?._withUnsafeGuaranteedRef({ $0.put(value, slot) }) == true { return }
    if isDraft { return writeDraft(value, slot) }
    if let host = writableHost(slot) { overwrite(value, at: slot, error: nil, in: host) }
  }

  /// Writes a text, as ``setStored(_:_:)`` does.
  @usableFromInline
  final func setText(_ text: String, _ slot: Int) {
    if isOpen, unsafe overlayReference?._withUnsafeGuaranteedRef({ $0.put(text, slot) }) == true { return }
    if isDraft { return writeDraft(.text(text), slot) }
    if let host = writableHost(slot) { overwrite(.text(text), at: slot, error: nil, in: host) }
  }

  /// Writes a number, as ``setStored(_:_:)`` does: an integer with the tag 1, a real with the tag 2.
  @usableFromInline
  final func setWord(_ word: UInt64, tag: UInt8, at slot: Int) {
    if isOpen, unsafe overlayReference?._withUnsafeGuaranteedRef({ $0.put(word, tag: tag, at: slot) }) == true
    {
      return
    }
    let number: SQLValue = tag == 1 ? .integer(Int64(bitPattern: word)) : .real(Double(bitPattern: word))
    if isDraft { return writeDraft(number, slot) }
    guard let host = writableHost(slot) else { return }
    overwrite(number, at: slot, error: nil, in: host)
  }

  /// Whether the object is already pending, so that a further write only stores its value.
  @inline(__always) private final var isOpen: Bool {
    state == .inserted || (state == .loaded && isRegistered)
  }

  @usableFromInline
  final func refuse(_ error: any Error, _ slot: Int) {
    if isDraft { return writeDraft(.null, slot, error: error) }
    if let host = writableHost(slot) { overwrite(.null, at: slot, error: error, in: host) }
  }

  /// Writes a value without checks. The object has its row in memory, or is new.
  /// - Parameters:
  ///   - error: Why the written value cannot be stored; `value` replaces it. nil if it can be stored.
  final func overwrite(_ value: SQLValue, at slot: Int, error: (any Error)?) {
    overwrite(value, at: slot, error: error, in: host)
  }

  /// Writes a value without checks, for callers that already have the object's host: reading it again
  /// costs reference counting.
  private func overwrite(
    _ value: SQLValue, at slot: Int, error: (any Error)?,
    in host: (any ObjectHost)?
  ) {
    let overlay: Overlay
    let isObserved = host?.recordsChanges == true
    if let present = self.overlay {
      // An observer that writes the present value again would otherwise be notified without end.
      if isObserved, host?.notifiesObservers == true, error == nil, present.refused?[slot] == nil,
        present.changed.contains(slot), present[slot].isStored(as: value)
      {
        return
      }
    } else {
      if let host { _ = isWholeForWriting(host) }
      // Writing the value that the row already has is no change.
      if error == nil, rowHolds(value, slot) { return }
    }
    if isObserved, let host {
      let former = state
      host.willWrite(self, slot)
      // An observer may have saved, rolled back or deleted the object.
      if state != former, !isWritable(in: host) { return }
    }
    // An observer may have written to the object.
    let isFirst = !isOverlaid
    if let present = self.overlay {
      overlay = present
      overlay.refused?[slot] = nil
      if overlay.refused?.isEmpty == true { overlay.refused = nil }
      overlay.notifiesNextWrite = false
    } else {
      overlay =
        withMap { Overlay(slotCount: $0.entity.slotCount, run: host?.run, in: host?.page($0)) }
        ?? Overlay(slotCount: 0)
      overlay.isObserved = isObserved
      self.overlay = overlay
    }
    overlay[slot] = value
    overlay.changed.insert(slot)
    if let error { overlay.refused = (overlay.refused ?? [:]).merging([slot: error]) { $1 } }
    host?.didWrite(self, isFirst: isFirst)
  }

  /// Reads what a fetch left out of the row, except for lazy attributes: change sets need the old value of
  /// each property that is written, and after the save it is lost.
  /// - Returns: Whether all other values are in memory. If not, the error is noted.
  private func isWholeForWriting(_ host: any ObjectHost) -> Bool {
    guard state == .loaded, lacksFetched else { return true }
    do { try host.complete(self, for: nil) } catch { host.note(error) }
    return !lacksFetched
  }

  /// Whether the row in memory has this value in a slot. A lazy value is not read for this.
  private func rowHolds(_ value: SQLValue, _ slot: Int) -> Bool {
    guard let cell = packedCell(slot), !cell.isAbsent else { return false }
    if case .integer(let number) = value { return cell.int64 == number }
    return cell.value.isStored(as: value)
  }

  /// Returns the object's host if the object can be changed now. Fetches the row of a fault first,
  /// because the save needs the row's version. If the object cannot be changed, returns nil and reports
  /// why, except for a prototype.
  private func writableHost(_ slot: Int) -> (any ObjectHost)? {
    guard let host else {
      // A prototype has an overlay but no context; nothing is reported for it.
      if overlay == nil { tellStrayWrite(slot) }
      return nil
    }
    guard host.acceptsChanges else { return nil }
    if state == .fault { return isWritable(in: host) ? host : nil }
    guard isWholeForWriting(host) else { return nil }
    return isWritable(in: host) ? host : nil
  }

  /// Whether the object accepts values. Fetches the row of a fault. If not, reports why.
  private func isWritable(in host: any ObjectHost) -> Bool {
    switch state {
    case .inserted, .loaded: return true
    case .fault:
      // If the row cannot be fetched, this reports why.
      host.fire(self)
      return state == .loaded
    case .detached, .invalid, .deleted:
      host.note(StoreError.objectGone(entity: nameOfEntity, rowID: rowID))
      return false
    }
  }
}
