// The path of a write to an attribute or to-one: from the property wrapper to what was written (Overlay). Most writes are to
// objects that have been written to, which are asked nothing more.

public import CipherSQLite

extension ManagedObject {
  @inlinable @inline(__always)
  final func writeAttribute<Value: AttributeValue>(_ value: Value, _ slot: UInt16) {
    do {
      // Known where it is compiled for most types, so that numbers are put in as the word that they are.
      switch try value.stored() {
      case .integer(let number): setWord(UInt64(bitPattern: number), 1, Int(slot))
      case .real(let number): setWord(number.bitPattern, 2, Int(slot))
      case .text(let text): setText(text, Int(slot))
      case let stored: setStored(stored, Int(slot))
      }
    } catch { refuse(error, Int(slot)) }
  }

  /// Writes to an object without a reference of its own, which the compiler would else count up and down at each write.
  @inlinable @inline(__always)
  static func write<Value: AttributeValue>(_ value: Value, _ slot: UInt16, to owner: ManagedObject) {
    // The caller has one for as long.
    withExtendedLifetime(owner) {
      unsafe Unmanaged.passUnretained(owner)._withUnsafeGuaranteedRef { $0.writeAttribute(value, slot) }
    }
  }

  @usableFromInline
  final func setStored(_ value: SQLValue, _ slot: Int) {
    // Most writes are to objects that have been written to, and have been asked then whether they take any.
    if isOpen, unsafe overlayReference?._withUnsafeGuaranteedRef({ $0.put(value, slot) }) == true { return }
    if let host = writableHost(slot) { overwrite(value, slot, nil, in: host) }
  }

  /// The same for a text.
  @usableFromInline
  final func setText(_ text: String, _ slot: Int) {
    if isOpen, unsafe overlayReference?._withUnsafeGuaranteedRef({ $0.put(text, slot) }) == true { return }
    if let host = writableHost(slot) { overwrite(.text(text), slot, nil, in: host) }
  }

  /// The same for a number: an integer with the tag 1, a real with 2.
  @usableFromInline
  final func setWord(_ word: UInt64, _ tag: UInt8, _ slot: Int) {
    if isOpen, unsafe overlayReference?._withUnsafeGuaranteedRef({ $0.put(word, tag, slot) }) == true {
      return
    }
    guard let host = writableHost(slot) else { return }
    let number: SQLValue = tag == 1 ? .integer(Int64(bitPattern: word)) : .real(Double(bitPattern: word))
    overwrite(number, slot, nil, in: host)
  }

  /// Whether the object is pending already, so that one more value changes nothing else.
  @inline(__always) private final var isOpen: Bool {
    state == .inserted || (state == .loaded && isRegistered)
  }

  @usableFromInline
  final func refuse(_ error: any Error, _ slot: Int) {
    if let host = writableHost(slot) { overwrite(.null, slot, error, in: host) }
  }

  /// Puts a value in without asking. The object has its row, or is new.
  /// - Parameters:
  ///   - error: Why it stands for something that cannot be stored.
  final func overwrite(_ value: SQLValue, _ slot: Int, _ error: (any Error)?) {
    overwrite(value, slot, error, in: host)
  }

  /// The same for who has asked for the object's host, which counts references.
  private func overwrite(
    _ value: SQLValue, _ slot: Int, _ error: (any Error)?,
    in host: (any ObjectHost)?
  ) {
    let overlay: Overlay
    let isFirst = !isOverlaid
    if let present = self.overlay {
      overlay = present
      overlay.refused?[slot] = nil
      if overlay.refused?.isEmpty == true { overlay.refused = nil }
      overlay.tellsNextWrite = false
    } else {
      // Writing what is there already is no change.
      if error == nil, rowHolds(value, slot) { return }
      overlay =
        withMap { Overlay(slotCount: $0.entity.slotCount, run: host?.run, in: host?.page($0)) }
        ?? Overlay(slotCount: 0)
      self.overlay = overlay
    }
    overlay[slot] = value
    overlay.changed.insert(slot)
    if let error { overlay.refused = (overlay.refused ?? [:]).merging([slot: error]) { $1 } }
    host?.didWrite(self, isFirst: isFirst)
  }

  /// Whether the row in memory has a value.
  private func rowHolds(_ value: SQLValue, _ slot: Int) -> Bool {
    guard let cell = rowCell(slot) else { return false }
    if case .integer(let number) = value { return cell.int64 == number }
    return cell.value.isStored(as: value)
  }

  /// The host of an object that takes changes; fetches the row of a fault, whose version the save has to know. nil when it
  /// takes none, and the reason is told.
  private func writableHost(_ slot: Int) -> (any ObjectHost)? {
    guard let host else {
      // A prototype, whose getters and setters are only looked at, has no context either.
      if overlay == nil { tellStrayWrite(slot) }
      return nil
    }
    guard host.takesChanges else { return nil }
    if state == .fault {
      // Which tells why there is no row.
      host.fire(self)
      return state == .loaded ? host : nil
    }
    switch state {
    case .inserted, .loaded: return host
    case .detached, .invalid, .deleted, .fault:
      host.note(StoreError.objectGone(entity: nameOfEntity, rowID: rowID))
      return nil
    }
  }
}
