// One value in a packed row. A row is 8 bytes for each cell, the number or offset and length of bytes behind the
// cells; before the cells stands one byte for each, its storage class, filled up to a multiple of 8.

public import Foundation

/// A value of a row that was fetched and not yet decoded.
///
/// Valid while the object it belongs to holds the row; made and used inside property accessors only.
@safe public struct RowCell {
  // The first byte of the row, and of this cell. The row's page is held by the object that asks, for longer than the cell
  // lives; a RowPacker or RowDraft wrote the cells, their tags, and offsets and lengths that stay within the row.
  @usableFromInline let row: UnsafeRawPointer
  @usableFromInline let cell: UnsafeRawPointer
  @usableFromInline let tag: UInt8

  /// Bytes before the first cell of a row of so many cells.
  @inlinable static func tagBytes(_ count: Int) -> Int { (count &+ 7) & ~7 }

  /// The cell `slot`, counted from 0, of the row whose cells begin at `row`.
  @inlinable public init(row: UnsafeRawPointer, slot: Int) {
    unsafe self.row = unsafe row
    unsafe cell = unsafe row + slot &* 8
    // The tags stand before the cells, the last slot's first: no cell has to know how many there are.
    tag = unsafe row.load(fromByteOffset: -1 &- slot, as: UInt8.self)
  }

  @inlinable var bytes: UnsafeRawBufferPointer {
    let offset = unsafe Int(cell.load(as: UInt32.self))
    let count = unsafe Int(cell.load(fromByteOffset: 4, as: UInt32.self))
    return unsafe UnsafeRawBufferPointer(start: row + offset, count: count)
  }

  /// Whether the value is NULL.
  @inlinable public var isNull: Bool { tag == 0 }
  /// The integer, or nil when it is none.
  @inlinable public var int64: Int64? { unsafe tag == 1 ? cell.load(as: Int64.self) : nil }
  /// The number, or nil when it is none.
  @inlinable public var double: Double? {
    switch tag {
    case 2: unsafe cell.load(as: Double.self)
    case 1: unsafe Double(cell.load(as: Int64.self))
    default: nil
    }
  }
  /// The text, or nil when it is none.
  @inlinable public var string: String? { unsafe tag == 3 ? String(decoding: bytes, as: UTF8.self) : nil }
  /// The bytes, or nil when it is none.
  public var data: Data? { unsafe tag == 4 ? Data(bytes) : nil }
  /// The value.
  public var value: SQLValue {
    switch tag {
    case 1: unsafe .integer(cell.load(as: Int64.self))
    case 2: unsafe .real(cell.load(as: Double.self))
    case 3: unsafe .text(String(decoding: bytes, as: UTF8.self))
    case 4: unsafe .blob(Data(bytes))
    default: .null
    }
  }
}
