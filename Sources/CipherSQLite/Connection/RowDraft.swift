// A row that is being written: tags, cells and bytes lie in a page as those of a packed row do (RowCell), so that it becomes
// one as it is. Nothing in it has a reference count.

internal import Foundation

/// The values of a row, slot by slot; NULL where nothing was set.
@safe @usableFromInline package struct RowDraft: ~Copyable {
  // A place in the page that nobody else has: whoever has the draft is the only one who writes there, and what is read is
  // kept alive with the page. A cell's offset and count stay within `length`, which stays within `capacity`.
  @usableFromInline var start: UnsafeMutableRawPointer
  private var page: RowPage
  private var capacity: Int
  /// Bytes in use, from the first tag on.
  private var length: Int
  @usableFromInline package let slotCount: Int

  /// - Parameter page: Where it is put when there is room; rows that are written one after the other share one.
  package init(slotCount: Int, in page: RowPage? = nil) {
    self.slotCount = slotCount
    let fixed = Self.fixedBytes(slotCount)
    let page = page.flatMap { $0.hasRoom(fixed) ? $0 : nil } ?? RowPage(capacity: fixed &* 2)
    self.page = page
    (length, capacity) = (fixed, fixed)
    unsafe start = unsafe page.take(fixed)
    unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: fixed)
  }

  /// The same values, in a page of their own.
  package init(copy other: borrowing RowDraft) {
    (slotCount, length, capacity) = (other.slotCount, other.length, other.length)
    page = RowPage(capacity: other.length)
    unsafe start = unsafe page.take(other.length)
    unsafe start.copyMemory(from: other.start, byteCount: length)
  }

  /// What the engine takes for one row (SQLITE_MAX_LENGTH). Offsets and counts of cells reach further.
  package static let byteLimit = 1_000_000_000

  /// Bytes of a row without texts and blobs.
  package static func fixedBytes(_ slotCount: Int) -> Int { RowCell.tagBytes(slotCount) &+ slotCount &* 8 }

  @inlinable var head: Int { RowCell.tagBytes(slotCount) }
  /// Where the cells begin; valid until the next value is put in, for as long as the draft or ``packed`` is kept.
  @inlinable var cells: UnsafeMutableRawPointer { unsafe start + head }

  /// The row as it is. Nothing may be put into the draft any more.
  package var packed: PackedRow { unsafe PackedRow(cells: UnsafeRawPointer(cells), page: page) }

  // @inlinable, here and below: saves look at each value of each row, and setters write one, from another module. By calls an
  // insertion of 100,000 objects took the thread 1.53 of the loop's time, with these inlined and fewer counts of references 1.3.
  /// The value of a slot, which the row has.
  @inlinable @inline(__always) package func cell(_ slot: Int) -> RowCell {
    check(slot)
    return unsafe RowCell(row: UnsafeRawPointer(cells), slot: slot)
  }

  /// Puts a value into a slot, which the row has.
  /// - Returns: Whether there was room: a row has none for more than ``byteLimit``, and the slot is NULL then.
  package mutating func set(_ value: SQLValue, _ slot: Int) -> Bool {
    switch value {
    case .integer(let value): put(value, 1, slot)
    case .real(let value): put(value, 2, slot)
    case .null: put(Int64(0), 0, slot)
    case .text(let text): return set(text, slot)
    case .blob(let data): return unsafe data.withUnsafeBytes { unsafe put(bytes: $0, 4, slot) }
    }
    return true
  }

  /// Puts a text into a slot, as above.
  package mutating func set(_ text: String, _ slot: Int) -> Bool {
    let done: Bool? = unsafe text.utf8.withContiguousStorageIfAvailable {
      unsafe put(bytes: UnsafeRawBufferPointer($0), 3, slot)
    }
    if let done { return done }
    var text = text
    return text.withUTF8 { unsafe put(bytes: UnsafeRawBufferPointer($0), 3, slot) }
  }

  /// Puts the values of some slots into a packed row that has as many slots, in the place of what it holds.
  ///
  /// - Parameters:
  ///   - slots: All of them have the row's slots.
  ///   - row: Where the cells of a row begin that nobody else reads meanwhile, and whose page is kept for as long.
  /// - Returns: Whether there was room for all: for bytes there is where as many were before. If not, the row is as it was.
  package func put(_ slots: [Int], into row: UnsafeRawPointer) -> Bool {
    for slot in slots {
      let (new, former) = unsafe (cell(slot), RowCell(row: row, slot: slot))
      guard new.tag >= 3 else { continue }
      guard former.tag >= 3, unsafe former.bytes.count >= new.bytes.count else { return false }
    }
    // A row is written where it was packed: in memory of its page's own, which is not constant.
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

  // MARK: Inside

  @inlinable @inline(__always) func check(_ slot: Int) {
    // Who has a slot has it from the entity that the count is of.
    assert(slot >= 0 && slot < slotCount, "a slot of another entity")
  }

  /// Puts a word into a slot: an integer with the tag 1, a real with 2.
  @inlinable @inline(__always) package mutating func put(_ word: UInt64, _ tag: UInt8, _ slot: Int) {
    check(slot)
    unsafe cells.storeBytes(of: word, toByteOffset: slot &* 8, as: UInt64.self)
    unsafe cells.storeBytes(of: tag, toByteOffset: -1 &- slot, as: UInt8.self)
  }

  /// Whether one of some slots, which the row has, holds nil.
  @inlinable @inline(__always) package func holdsNull(_ slots: [Int]) -> Bool {
    let end = unsafe cells
    for slot in slots where unsafe end.load(fromByteOffset: -1 &- slot, as: UInt8.self) == 0 { return true }
    return false
  }

  @inline(__always)
  private mutating func put<Value: BitwiseCopyable>(_ value: Value, _ tag: UInt8, _ slot: Int) {
    check(slot)
    unsafe cells.storeBytes(of: value, toByteOffset: slot &* 8, as: Value.self)
    unsafe cells.storeBytes(of: tag, toByteOffset: -1 &- slot, as: UInt8.self)
  }

  private mutating func put(bytes: UnsafeRawBufferPointer, _ tag: UInt8, _ slot: Int) -> Bool {
    let former = cell(slot)
    if former.tag >= 3, unsafe former.bytes.count >= bytes.count,
      let place = unsafe former.bytes.baseAddress
    {
      // Where the former value was: a loop that writes one property does not fill the memory.
      unsafe memmove(UnsafeMutableRawPointer(mutating: place), bytes.baseAddress ?? place, bytes.count)
      put(unsafe UInt64(place - UnsafeRawPointer(cells)) | UInt64(bytes.count) << 32, tag, slot)
      return true
    }
    if former.tag >= 3 { put(Int64(0), 0, slot) }
    guard makeRoom(bytes.count) else {
      put(Int64(0), 0, slot)
      return false
    }
    if let from = bytes.baseAddress { unsafe memcpy(start + length, from, bytes.count) }
    put(UInt64(length &- head) | UInt64(bytes.count) << 32, tag, slot)
    length &+= bytes.count
    return true
  }

  /// Makes sure of room for so many bytes more.
  @inline(__always) private mutating func makeRoom(_ count: Int) -> Bool {
    guard length &+ count <= Self.byteLimit else { return move(count) }
    let missing = length &+ count &- capacity
    if missing <= 0 { return true }
    // Most rows are filled before the next one is begun: nothing is behind them yet.
    if unsafe page.extend(start + capacity, by: missing) {
      capacity &+= missing
      return true
    }
    return move(count)
  }

  /// Moves to a page of its own, with room for as much again and without bytes that no cell leads to.
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
