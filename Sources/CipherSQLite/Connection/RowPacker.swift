// Rows of a result, copied into pages: 9 bytes for each cell, followed by the bytes of texts and blobs.
// One allocation serves many rows, and a value is decoded only when it is read.

private import CSQLCipher
internal import Foundation

/// Copies rows into pages (``RowPage``).
package struct RowPacker {
  /// The page of the row that was packed last.
  package private(set) var page: RowPage
  private var used = 0

  private let pageBytes: Int

  /// Creates a packer.
  /// - Parameters:
  ///   - firstPageBytes: The size of the first page.
  ///   - pageBytes: The size of further pages, which are larger if a row needs more.
  package init(firstPageBytes: Int, pageBytes: Int = 65_536) {
    page = RowPage(capacity: firstPageBytes)
    self.pageBytes = pageBytes
  }

  /// Packs consecutive columns of the statement's current row.
  ///
  /// - Parameters:
  ///   - statement: A statement that is on a row.
  ///   - firstColumn: The column that goes to `slots[0]`.
  ///   - slots: The slot of each column.
  ///   - slotCount: The number of slots of the row.
  ///   - others: The tag of the slots that are not in `slots`: NULL, or ``RowCell/absent``.
  /// - Returns: The address of the row's first cell, in ``page``.
  package mutating func pack(
    _ statement: Statement, firstColumn: Int, slots: [Int], slotCount: Int, others: UInt8 = 0
  ) -> UnsafeRawPointer {
    var writer = unsafe begin(slotCount)
    if slots.count < slotCount { unsafe memset(writer.start, Int32(others), writer.cells - writer.start) }
    let raw = unsafe statement.raw
    var column = Int32(firstColumn)
    for slot in slots {
      let value = unsafe sqlite3_column_value(raw, column)
      column &+= 1
      let type = unsafe sqlite3_value_type(value)
      if type == SQLITE_INTEGER {
        unsafe writer.put(sqlite3_value_int64(value), tag: 1, at: slot)
      } else {
        // If the engine has no memory for a text or blob, it is empty here, and the statement's
        // next step reports the error.
        _ = unsafe put(value, type: type, at: slot, in: &writer)
      }
    }
    return unsafe finish(writer)
  }

  /// Packs consecutive columns of a row that an SQL function receives (``TakenRow``).
  /// - Throws: `NoMemory` if the engine has no memory for one of the columns.
  package mutating func pack(
    _ row: borrowing TakenRow, firstColumn: Int, slots: [Int], slotCount: Int, others: UInt8 = 0
  ) throws -> UnsafeRawPointer {
    // A row is only passed if it has as many columns as its receiver expects.
    assert(firstColumn &+ slots.count <= row.columnCount)
    var writer = unsafe begin(slotCount)
    if slots.count < slotCount { unsafe memset(writer.start, Int32(others), writer.cells - writer.start) }
    var column = unsafe row.values + firstColumn
    for slot in slots {
      let value = unsafe column.pointee
      unsafe column += 1
      let type = unsafe sqlite3_value_type(value)
      if type == SQLITE_INTEGER {
        unsafe writer.put(sqlite3_value_int64(value), tag: 1, at: slot)
      } else if unsafe !put(value, type: type, at: slot, in: &writer) {
        throw NoMemory()
      }
    }
    return unsafe finish(writer)
  }

  /// Packs any columns of the statement's current row.
  /// - Parameter columns: The column for each slot in `slots`.
  package mutating func pack(
    _ statement: Statement, columns: [Int], slots: [Int], slotCount: Int, others: UInt8 = 0
  ) -> UnsafeRawPointer {
    var writer = unsafe begin(slotCount)
    unsafe memset(writer.start, Int32(others), writer.cells - writer.start)
    let raw = unsafe statement.raw
    for (column, slot) in zip(columns, slots) {
      // The result is ignored: if a text or blob is missing, the statement's next step reports the error.
      let value = unsafe sqlite3_column_value(raw, Int32(column))
      _ = unsafe put(value, type: sqlite3_value_type(value), at: slot, in: &writer)
    }
    return unsafe finish(writer)
  }

  /// Packs any columns of a row that an SQL function receives (``TakenRow``).
  /// - Throws: `NoMemory` if the engine has no memory for one of the columns.
  package mutating func pack(
    _ row: borrowing TakenRow, columns: [Int], slots: [Int], slotCount: Int, others: UInt8 = 0
  ) throws -> UnsafeRawPointer {
    var writer = unsafe begin(slotCount)
    unsafe memset(writer.start, Int32(others), writer.cells - writer.start)
    for (column, slot) in zip(columns, slots) where column < row.columnCount {
      let value = unsafe row.values[column]
      guard unsafe put(value, type: sqlite3_value_type(value), at: slot, in: &writer) else {
        throw NoMemory()
      }
    }
    return unsafe finish(writer)
  }

  // A separate function, so that integers, the majority of all columns, cost no unpredictable branch.
  /// Packs a value.
  /// - Returns: Whether the engine had memory for it.
  @inline(never) private mutating func put(
    _ value: OpaquePointer?, type: Int32, at slot: Int, in writer: inout Writer
  ) -> Bool {
    switch type {
    case SQLITE_INTEGER: unsafe writer.put(sqlite3_value_int64(value), tag: 1, at: slot)
    case SQLITE_FLOAT: unsafe writer.put(sqlite3_value_double(value), tag: 2, at: slot)
    case SQLITE_TEXT:
      // The text first: reading it may convert it and change the count.
      let text = unsafe sqlite3_value_text(value)
      unsafe put(text, count: Int(sqlite3_value_bytes(value)), tag: 3, at: slot, in: &writer)
      return unsafe text != nil
    case SQLITE_BLOB:
      // The bytes first as well: a zeroblob is expanded when it is read, for which there may be no memory.
      let bytes = unsafe sqlite3_value_blob(value)
      let count = unsafe Int(sqlite3_value_bytes(value))
      unsafe put(bytes, count: bytes == nil ? 0 : count, tag: 4, at: slot, in: &writer)
      return unsafe bytes != nil || count == 0
    default: unsafe writer.put(Int64(0), tag: 0, at: slot)
    }
    return true
  }

  /// Packs cells of other rows.
  /// - Parameter cell: Returns the cell for a slot; nil for NULL.
  package mutating func pack(slotCount: Int, _ cell: (Int) -> RowCell?) -> PackedRow {
    var writer = unsafe begin(slotCount)
    unsafe memset(writer.start, 0, writer.cells - writer.start)
    for slot in 0..<slotCount {
      guard let cell = cell(slot) else { continue }
      if cell.hasBytes {
        let bytes = unsafe cell.bytes
        unsafe put(bytes.baseAddress, count: bytes.count, tag: cell.tag, at: slot, in: &writer)
      } else {
        unsafe writer.put(cell.cell.load(as: Int64.self), tag: cell.tag, at: slot)
      }
    }
    return unsafe PackedRow(cells: finish(writer), page: page)
  }

  // MARK: Implementation

  // `begin` makes room for tags and cells, `put` for bytes. All slots are less than the row's slot count,
  // which is that of the entity's mapping.
  /// The row that is being written. It lies completely in the packer's page.
  @unsafe private struct Writer {
    var start: UnsafeMutableRawPointer
    var cells: UnsafeMutableRawPointer
    /// Bytes from `start` to the end of what is written.
    var length: Int

    @inline(__always) func put<Value: BitwiseCopyable>(_ value: Value, tag: UInt8, at slot: Int) {
      unsafe cells.storeBytes(of: value, toByteOffset: slot &* 8, as: Value.self)
      unsafe cells.storeBytes(of: tag, toByteOffset: -1 &- slot, as: UInt8.self)
    }
  }

  @inline(__always) private mutating func begin(_ slotCount: Int) -> Writer {
    let tags = RowCell.tagBytes(slotCount)
    let length = tags &+ slotCount &* 8
    if used &+ length > page.capacity {
      page = RowPage(capacity: max(pageBytes, length))
      used = 0
    }
    let start = unsafe page.base + used
    return unsafe Writer(start: start, cells: start + tags, length: length)
  }

  @inline(__always) private mutating func finish(_ writer: Writer) -> UnsafeRawPointer {
    // A page that was allocated for one large row is not shared: a small row after it
    // would keep all of it alive.
    used =
      page.capacity > pageBytes
      ? page.capacity : unsafe ((writer.start - page.base) &+ writer.length &+ 7) & ~7
    return unsafe UnsafeRawPointer(writer.cells)
  }

  /// Appends bytes to the row, and writes their offset and count to the cell. If the page is full, the row
  /// moves to a new page; the old page stays alive for its other rows.
  private mutating func put(
    _ bytes: UnsafeRawPointer?, count: Int, tag: UInt8, at slot: Int, in writer: inout Writer
  ) {
    if unsafe (writer.start - page.base) &+ writer.length &+ count > page.capacity {
      let full = page
      let needed = unsafe writer.length + count
      page = RowPage(capacity: max(pageBytes, needed + needed / 4))
      unsafe memcpy(page.base, writer.start, writer.length)
      unsafe writer.cells = unsafe page.base + (writer.cells - writer.start)
      unsafe writer.start = unsafe page.base
      withExtendedLifetime(full) {}
    }
    if let bytes = unsafe bytes, count > 0 { unsafe memcpy(writer.start + writer.length, bytes, count) }
    let offset = unsafe UInt64(writer.length &- (writer.cells - writer.start))
    unsafe writer.put(offset | UInt64(count) << 32, tag: tag, at: slot)
    unsafe writer.length &+= count
  }
}
