// A row that is being written. Tags, cells and bytes have the layout of a packed row (RowCell), so that the
// draft becomes a packed row without a copy. Its values are not reference-counted.

internal import Foundation

/// The values of a row by slot. A slot without a value is NULL.
@safe @usableFromInline package struct RowDraft: ~Copyable {
  // A range of the page that belongs to this draft alone: only the owner of the draft writes there, and the
  // page keeps its memory alive for readers. A cell's offset and count stay within `length`, which stays
  // within `capacity`.
  @usableFromInline var start: UnsafeMutableRawPointer
  private var page: RowPage
  private var capacity: Int
  /// Bytes in use, counted from the first tag.
  private var length: Int
  @usableFromInline package let slotCount: Int

  /// Creates a row of NULLs.
  /// - Parameters:
  ///   - slotCount: The number of slots.
  ///   - page: The page to use if it has room. Rows that are written one after the other share a page.
  package init(slotCount: Int, in page: RowPage? = nil) {
    self.slotCount = slotCount
    let fixed = Self.fixedBytes(slotCount)
    let page = page.flatMap { $0.hasRoom(fixed) ? $0 : nil } ?? RowPage(capacity: fixed &* 2)
    self.page = page
    (length, capacity) = (fixed, fixed)
    unsafe start = unsafe page.take(fixed)
    unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: fixed)
  }

  /// Creates a copy of another draft, in a new page.
  package init(copy other: borrowing RowDraft) {
    (slotCount, length, capacity) = (other.slotCount, other.length, other.length)
    page = RowPage(capacity: other.length)
    unsafe start = unsafe page.take(other.length)
    unsafe start.copyMemory(from: other.start, byteCount: length)
  }

  /// The engine's limit for one row (SQLITE_MAX_LENGTH). The offsets and counts in cells can express larger
  /// numbers.
  package static let byteLimit = 1_000_000_000

  /// Returns the size of a row in bytes, without texts and blobs.
  package static func fixedBytes(_ slotCount: Int) -> Int { RowCell.tagBytes(slotCount) &+ slotCount &* 8 }

  @inlinable var head: Int { RowCell.tagBytes(slotCount) }
  /// Where the cells begin. Valid until the next value is set, while the draft or ``packed`` is retained.
  @inlinable var cells: UnsafeMutableRawPointer { unsafe start + head }

  /// The bytes that the values take.
  package var byteCount: Int { length }

  /// The draft as a packed row, without a copy. The draft must not be modified afterwards.
  package var packed: PackedRow { unsafe PackedRow(cells: UnsafeRawPointer(cells), page: page) }

  // @inlinable, here and below, for another module: a save reads every value of every row with `cell`, and
  // each setter of a property writes a value with `put`. Measured with 100,000 insertions, against the
  // hand-written loop of the benchmarks: 1.53 times its thread time when these calls were not inlined; 1.3
  // times with inlining and less reference counting.
  /// Returns the value of a slot, which must exist.
  @inlinable @inline(__always) package func cell(_ slot: Int) -> RowCell {
    check(slot)
    return unsafe RowCell(row: UnsafeRawPointer(cells), slot: slot)
  }

  /// Sets the value of a slot, which must exist.
  /// - Returns: Whether there was room. If the row would exceed ``byteLimit``, the slot becomes NULL.
  package mutating func set(_ value: SQLValue, _ slot: Int) -> Bool {
    switch value {
    case .integer(let value): put(value, tag: 1, at: slot)
    case .real(let value): put(value, tag: 2, at: slot)
    case .null: put(Int64(0), tag: 0, at: slot)
    case .text(let text): return set(text, slot)
    case .blob(let data): return unsafe data.withUnsafeBytes { unsafe put(bytes: $0, tag: 4, at: slot) }
    }
    return true
  }

  /// Sets a slot to a text.
  /// - Returns: Whether there was room. If the row would exceed ``byteLimit``, the slot becomes NULL.
  package mutating func set(_ text: String, _ slot: Int) -> Bool {
    let done: Bool? = unsafe text.utf8.withContiguousStorageIfAvailable {
      unsafe put(bytes: UnsafeRawBufferPointer($0), tag: 3, at: slot)
    }
    if let done { return done }
    var text = text
    return text.withUTF8 { unsafe put(bytes: UnsafeRawBufferPointer($0), tag: 3, at: slot) }
  }

  /// Overwrites the values of some slots in a packed row that has the same number of slots.
  ///
  /// - Parameters:
  ///   - slots: The slots to overwrite.
  ///   - row: The address of the row's first cell. No other code may read the row meanwhile, and its page
  ///     must stay alive.
  /// - Returns: Whether there was room for all values. A new text or blob has room if its slot already has
  ///   one that is at least as long. Without room, the row is unchanged.
  package func put(_ slots: [Int], into row: UnsafeRawPointer) -> Bool {
    for slot in slots {
      let (new, former) = unsafe (cell(slot), RowCell(row: row, slot: slot))
      guard new.tag >= 3 else { continue }
      guard former.hasBytes, unsafe former.bytes.count >= new.bytes.count else { return false }
    }
    // Mutable in fact: the row lies in memory that its page has allocated.
    let cells = unsafe UnsafeMutableRawPointer(mutating: row)
    for slot in slots {
      let new = cell(slot)
      var word = unsafe new.cell.load(as: UInt64.self)
      if new.tag >= 3 {
        let former = unsafe RowCell(row: row, slot: slot).cell.load(as: UInt32.self)
        let bytes = unsafe new.bytes
        if let from = bytes.baseAddress { unsafe memcpy(cells + Int(former), from, bytes.count) }
        word = UInt64(former) | UInt64(bytes.count) << 32
      }
      unsafe cells.storeBytes(of: word, toByteOffset: slot &* 8, as: UInt64.self)
      unsafe cells.storeBytes(of: new.tag, toByteOffset: -1 &- slot, as: UInt8.self)
    }
    return true
  }

  // MARK: Implementation

  @inlinable @inline(__always) func check(_ slot: Int) {
    // `slotCount` is that of an entity, and callers pass only slots of the same entity.
    assert(slot >= 0 && slot < slotCount, "a slot of another entity")
  }

  /// Writes a word to a slot: an integer with the tag 1, a real with the tag 2.
  @inlinable @inline(__always) package mutating func put(_ word: UInt64, tag: UInt8, at slot: Int) {
    check(slot)
    unsafe cells.storeBytes(of: word, toByteOffset: slot &* 8, as: UInt64.self)
    unsafe cells.storeBytes(of: tag, toByteOffset: -1 &- slot, as: UInt8.self)
  }

  /// Returns whether one of these slots, which must exist, is NULL.
  @inlinable @inline(__always) package func holdsNull(_ slots: [Int]) -> Bool {
    let end = unsafe cells
    for slot in slots where unsafe end.load(fromByteOffset: -1 &- slot, as: UInt8.self) == 0 { return true }
    return false
  }

  @inline(__always)
  private mutating func put<Value: BitwiseCopyable>(_ value: Value, tag: UInt8, at slot: Int) {
    check(slot)
    unsafe cells.storeBytes(of: value, toByteOffset: slot &* 8, as: Value.self)
    unsafe cells.storeBytes(of: tag, toByteOffset: -1 &- slot, as: UInt8.self)
  }

  private mutating func put(bytes: UnsafeRawBufferPointer, tag: UInt8, at slot: Int) -> Bool {
    let former = cell(slot)
    if former.tag >= 3, unsafe former.bytes.count >= bytes.count,
      let place = unsafe former.bytes.baseAddress
    {
      // Reuses the bytes of the former value, so that a loop that sets one property does not fill the
      // memory.
      unsafe memmove(UnsafeMutableRawPointer(mutating: place), bytes.baseAddress ?? place, bytes.count)
      put(unsafe UInt64(place - UnsafeRawPointer(cells)) | UInt64(bytes.count) << 32, tag: tag, at: slot)
      return true
    }
    if former.tag >= 3 { put(Int64(0), tag: 0, at: slot) }
    guard makeRoom(bytes.count) else {
      put(Int64(0), tag: 0, at: slot)
      return false
    }
    if let from = bytes.baseAddress { unsafe memcpy(start + length, from, bytes.count) }
    put(UInt64(length &- head) | UInt64(bytes.count) << 32, tag: tag, at: slot)
    length &+= bytes.count
    return true
  }

  /// Makes room for more bytes. Returns `false` if the row would exceed ``byteLimit``.
  @inline(__always) private mutating func makeRoom(_ count: Int) -> Bool {
    guard length &+ count <= Self.byteLimit else { return move(count) }
    let missing = length &+ count &- capacity
    if missing <= 0 { return true }
    // Most rows are filled before the next one is begun, so nothing follows them in the page yet.
    if unsafe page.extend(start + capacity, by: missing) {
      capacity &+= missing
      return true
    }
    return move(count)
  }

  /// Moves the row to a new page, with room for twice as much and without bytes that no cell refers to.
  private mutating func move(_ count: Int) -> Bool {
    let fixed = Self.fixedBytes(slotCount)
    var live = fixed
    for slot in 0..<slotCount where cell(slot).tag >= 3 { live += unsafe cell(slot).bytes.count }
    guard live + count <= Self.byteLimit else { return false }
    let moved = RowPage(capacity: min((live + count) * 2, Self.byteLimit + 8))
    let place = unsafe moved.take(moved.capacity)
    unsafe memcpy(place, start, fixed)
    var end = fixed
    for slot in 0..<slotCount where cell(slot).tag >= 3 {
      let bytes = unsafe cell(slot).bytes
      if let from = bytes.baseAddress { unsafe memcpy(place + end, from, bytes.count) }
      let cell = UInt64(end - head) | UInt64(bytes.count) << 32
      unsafe (place + head).storeBytes(of: cell, toByteOffset: slot * 8, as: UInt64.self)
      end += bytes.count
    }
    (page, capacity, length) = (moved, moved.capacity, end)
    unsafe start = unsafe place
    return true
  }
}
