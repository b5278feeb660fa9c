// A row that is being written, in memory of its own: tags, cells and bytes lie in it as in a packed row (RowCell), so that
// it becomes one by being copied. Nothing in it has a reference count.

internal import Foundation

/// The values of a row, slot by slot; NULL where nothing was set.
@safe package struct RowDraft: ~Copyable {
  // Allocated in init and grow, freed there and in deinit; whoever has the draft is the only one who does.
  // A cell's offset and count stay within `length`, which stays within `capacity`.
  private var start: UnsafeMutableRawPointer
  private var capacity: Int
  /// Bytes in use, from the first tag on.
  private var length: Int
  package let slotCount: Int

  package init(slotCount: Int) {
    self.slotCount = slotCount
    length = RowCell.tagBytes(slotCount) + slotCount * 8
    // About as many bytes again for texts, which most rows have.
    capacity = length * 2
    unsafe start = .allocate(byteCount: max(8, capacity), alignment: 8)
    unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: length)
  }

  /// The same values.
  package init(copy other: borrowing RowDraft) {
    (slotCount, length, capacity) = (other.slotCount, other.length, other.capacity)
    unsafe start = .allocate(byteCount: max(8, capacity), alignment: 8)
    unsafe start.copyMemory(from: other.start, byteCount: length)
  }

  deinit { unsafe start.deallocate() }

  /// Bytes that the row takes.
  package var byteCount: Int { length }

  private var head: Int { RowCell.tagBytes(slotCount) }
  /// The tags, cells and bytes; those of tags come first.
  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: start, count: length) }
  /// Where the cells begin; valid until the next value is put in.
  var cells: UnsafeMutableRawPointer { unsafe start + head }

  /// The value of a slot, which the row has.
  package func cell(_ slot: Int) -> RowCell {
    check(slot)
    return unsafe RowCell(row: UnsafeRawPointer(cells), slot: slot)
  }

  /// Puts a value into a slot, which the row has.
  /// - Returns: Whether there was room: a row has none for more than 4 GiB, and the slot is NULL then.
  package mutating func set(_ value: SQLValue, _ slot: Int) -> Bool {
    switch value {
    case .integer(let value): put(value, 1, slot)
    case .real(let value): put(value, 2, slot)
    case .null: put(Int64(0), 0, slot)
    case .text(let text):
      let done: Bool? = unsafe text.utf8.withContiguousStorageIfAvailable {
        unsafe put(bytes: UnsafeRawBufferPointer($0), 3, slot)
      }
      if let done { return done }
      var text = text
      return text.withUTF8 { unsafe put(bytes: UnsafeRawBufferPointer($0), 3, slot) }
    case .blob(let data): return unsafe data.withUnsafeBytes { unsafe put(bytes: $0, 4, slot) }
    }
    return true
  }

  /// Copies a value of another row.
  /// - Returns: As ``set(_:_:)``.
  package mutating func set(copy cell: RowCell, _ slot: Int) -> Bool {
    switch cell.tag {
    case 3, 4: return unsafe put(bytes: cell.bytes, cell.tag, slot)
    default: unsafe put(cell.cell.load(as: Int64.self), cell.tag, slot)
    }
    return true
  }

  // MARK: Inside

  @inline(__always) private func check(_ slot: Int) {
    // Who has a slot has it from the entity that the count is of.
    assert(slot >= 0 && slot < slotCount, "a slot of another entity")
  }

  @inline(__always)
  private mutating func put<Value: BitwiseCopyable>(_ value: Value, _ tag: UInt8, _ slot: Int) {
    check(slot)
    unsafe cells.storeBytes(of: value, toByteOffset: slot &* 8, as: Value.self)
    unsafe cells.storeBytes(of: tag, toByteOffset: -1 &- slot, as: UInt8.self)
  }

  private mutating func put(bytes: UnsafeRawBufferPointer, _ tag: UInt8, _ slot: Int) -> Bool {
    check(slot)
    var place = length
    let former = cell(slot)
    if former.tag >= 3, unsafe former.bytes.count >= bytes.count {
      // Where the former value was: a loop that writes one property does not fill the memory.
      place = unsafe start.distance(
        to: UnsafeMutableRawPointer(mutating: former.bytes.baseAddress ?? UnsafeRawPointer(start)))
    } else {
      if length + bytes.count > capacity {
        put(Int64(0), 0, slot)
        guard makeRoom(bytes.count) else { return false }
        place = length
      }
      length += bytes.count
    }
    if let from = bytes.baseAddress, bytes.count > 0 {
      unsafe (start + place).copyMemory(from: from, byteCount: bytes.count)
    }
    put(UInt64(place - head) | UInt64(bytes.count) << 32, tag, slot)
    return true
  }

  /// Moves to memory that has room for so many bytes more, without bytes that no cell leads to.
  private mutating func makeRoom(_ count: Int) -> Bool {
    let fixed = head + slotCount * 8
    var live = fixed
    for slot in 0..<slotCount where cell(slot).tag >= 3 { live += unsafe cell(slot).bytes.count }
    guard live + count <= Int(UInt32.max) else { return false }
    // No further than offsets reach: what is behind a cell is never longer than the memory is.
    capacity = min(max(capacity, (live + count) * 2), Int(UInt32.max))
    let moved = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    unsafe moved.copyMemory(from: start, byteCount: fixed)
    length = fixed
    for slot in 0..<slotCount where cell(slot).tag >= 3 {
      let bytes = unsafe cell(slot).bytes
      if let from = bytes.baseAddress {
        unsafe (moved + length).copyMemory(from: from, byteCount: bytes.count)
      }
      let place = UInt64(length - head) | UInt64(bytes.count) << 32
      unsafe (moved + head).storeBytes(of: place, toByteOffset: slot * 8, as: UInt64.self)
      length += bytes.count
    }
    unsafe start.deallocate()
    unsafe start = unsafe moved
    return true
  }
}
