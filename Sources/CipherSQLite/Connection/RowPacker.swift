// Rows of a result, copied into pages: 16 bytes per cell and the bytes of text and blobs behind them.
// One allocation serves many rows, and nothing is decoded before somebody asks for it.

private import CSQLCipher
internal import Foundation

/// Memory that holds the rows of many objects; freed when the last of them lets go.
public final class RowPage {
  // Allocated in init, freed in deinit; written by the RowPacker that made it, before any reader has it.
  let base: UnsafeMutableRawPointer
  let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
    base = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
  }

  deinit { base.deallocate() }
}

/// Copies rows into ``RowPage``s.
public struct RowPacker {
  /// The page of the row that was packed last.
  public private(set) var page: RowPage
  private var used = 0

  /// A packer whose first page holds so many bytes; further ones 64 KiB.
  public init(firstPageBytes: Int) { page = RowPage(capacity: max(64, firstPageBytes)) }

  /// Packs columns of the statement's present row.
  ///
  /// - Parameters:
  ///   - statement: A statement on a row.
  ///   - firstColumn: The column that goes to `slots[0]`.
  ///   - slots: The cell of each column.
  ///   - slotCount: How many cells the row has; those not in `slots` are NULL.
  /// - Returns: Where the row begins, in ``page``.
  public mutating func pack(
    _ statement: Statement, firstColumn: Int, slots: [Int], slotCount: Int
  ) -> UnsafeRawPointer {
    let header = slotCount &* 16
    reserve(header)
    let start = used
    var end = start &+ header
    var row = page.base + start
    if slots.count < slotCount { memset(row, 0, header) }
    var column = Int32(firstColumn)
    for slot in slots {
      let value = sqlite3_column_value(statement.raw, column)
      column &+= 1
      let cell = row + slot &* 16
      switch sqlite3_value_type(value) {
      case SQLITE_INTEGER:
        cell.storeBytes(of: sqlite3_value_int64(value), as: Int64.self)
        cell.storeBytes(of: 1, toByteOffset: 8, as: UInt8.self)
      case SQLITE_FLOAT:
        cell.storeBytes(of: sqlite3_value_double(value), as: Double.self)
        cell.storeBytes(of: 2, toByteOffset: 8, as: UInt8.self)
      case SQLITE_TEXT:
        let text = sqlite3_value_text(value)
        let count = Int(sqlite3_value_bytes(value))
        row = copy(text, count, start: start, end: &end, row: row, slot: slot, tag: 3)
      case SQLITE_BLOB:
        let bytes = sqlite3_value_blob(value)
        let count = Int(sqlite3_value_bytes(value))
        row = copy(bytes, count, start: start, end: &end, row: row, slot: slot, tag: 4)
      default:
        cell.storeBytes(of: 0, toByteOffset: 8, as: UInt8.self)
      }
    }
    // The start may have moved to the front of a new page.
    let offset = UnsafeRawPointer(row) - UnsafeRawPointer(page.base)
    used = (offset &+ (end &- start) &+ 15) & ~15
    return UnsafeRawPointer(row)
  }

  /// Packs values, one for each cell.
  public mutating func pack(_ values: [SQLValue]) -> UnsafeRawPointer {
    let header = values.count &* 16
    reserve(header)
    let start = used
    var end = start &+ header
    var row = page.base + start
    for (slot, value) in values.enumerated() {
      let cell = row + slot &* 16
      switch value {
      case .null: cell.storeBytes(of: 0, toByteOffset: 8, as: UInt8.self)
      case .integer(let value):
        cell.storeBytes(of: value, as: Int64.self)
        cell.storeBytes(of: 1, toByteOffset: 8, as: UInt8.self)
      case .real(let value):
        cell.storeBytes(of: value, as: Double.self)
        cell.storeBytes(of: 2, toByteOffset: 8, as: UInt8.self)
      case .text(var text):
        text.withUTF8 {
          row = copy($0.baseAddress, $0.count, start: start, end: &end, row: row, slot: slot, tag: 3)
        }
      case .blob(let data):
        data.withUnsafeBytes {
          row = copy($0.baseAddress, $0.count, start: start, end: &end, row: row, slot: slot, tag: 4)
        }
      }
    }
    let offset = UnsafeRawPointer(row) - UnsafeRawPointer(page.base)
    used = (offset &+ (end &- start) &+ 15) & ~15
    return UnsafeRawPointer(row)
  }

  // Copies bytes behind the row; `end` counts from where the row was begun, wherever it is now.
  private mutating func copy(
    _ bytes: UnsafeRawPointer?, _ count: Int, start: Int, end: inout Int, row: UnsafeMutableRawPointer,
    slot: Int, tag: UInt8
  ) -> UnsafeMutableRawPointer {
    var row = row
    let length = end &- start
    if (row - page.base) &+ length &+ count > page.capacity {
      let old = page
      page = RowPage(capacity: max(65_536, (length + count) * 2))
      used = 0
      memcpy(page.base, row, length)
      row = page.base
      // The row moved to the front of a page of its own; the old page lives on for its other rows.
      withExtendedLifetime(old) {}
    }
    if let bytes, count > 0 { memcpy(row + length, bytes, count) }
    let cell = row + slot &* 16
    cell.storeBytes(of: UInt32(truncatingIfNeeded: length), as: UInt32.self)
    cell.storeBytes(of: UInt32(truncatingIfNeeded: count), toByteOffset: 4, as: UInt32.self)
    cell.storeBytes(of: tag, toByteOffset: 8, as: UInt8.self)
    end &+= count
    return row
  }

  private mutating func reserve(_ count: Int) {
    guard used &+ count > page.capacity else { return }
    page = RowPage(capacity: max(65_536, count))
    used = 0
  }
}
