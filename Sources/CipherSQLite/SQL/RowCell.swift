// One value of a packed row. A packed row has three parts. First the tags: one byte for each cell, its
// storage class, padded to a multiple of 8. Then the cells: 8 bytes each, a number, or the offset and length
// of a text or blob. Then the bytes of the texts and blobs.

public import Foundation

/// A value of a row that was fetched and not decoded yet.
///
/// It is valid as long as the object whose property is read retains the row. Only property accessors
/// create and use it.
@safe public struct RowCell {
  // The first byte of the row's cells, and of this cell. The object whose property is read retains the
  // row's page for longer than the cell lives. A RowPacker or RowDraft wrote the cells, their tags, and
  // offsets and lengths that stay within the row.
  @usableFromInline let row: UnsafeRawPointer
  @usableFromInline let cell: UnsafeRawPointer
  @usableFromInline let tag: UInt8

  /// Returns the number of bytes before the first cell, in a row of `count` cells.
  @inlinable static func tagBytes(_ count: Int) -> Int { (count &+ 7) & ~7 }

  /// Creates the cell `slot`, counted from 0, of the row whose cells begin at `row`.
  /// - Parameters:
  ///   - row: The address of the first cell; the row must outlive the cell.
  ///   - slot: The index of the cell.
  @inlinable public init(row: UnsafeRawPointer, slot: Int) {
    unsafe self.row = unsafe row
    unsafe cell = unsafe row + slot &* 8
    // The tags are before the cells in reverse order, so a tag is found without the number of cells.
    tag = unsafe row.load(fromByteOffset: -1 &- slot, as: UInt8.self)
  }

  @inlinable var bytes: UnsafeRawBufferPointer {
    let offset = unsafe Int(cell.load(as: UInt32.self))
    let count = unsafe Int(cell.load(fromByteOffset: 4, as: UInt32.self))
    return unsafe UnsafeRawBufferPointer(start: row + offset, count: count)
  }

  /// The tag of a cell whose value was not read with the row.
  @inlinable package static var absent: UInt8 { 5 }

  /// Whether the value is NULL.
  @inlinable public var isNull: Bool { tag == 0 }
  /// Whether the value was not read with the row. The object reads it before a getter sees it.
  @inlinable public var isAbsent: Bool { tag == Self.absent }
  /// Whether the value is a text or a blob.
  @inlinable var hasBytes: Bool { tag == 3 || tag == 4 }
  /// The integer; nil for any other storage class.
  @inlinable public var int64: Int64? { unsafe tag == 1 ? cell.load(as: Int64.self) : nil }
  /// The real, or the integer as a `Double`; nil for any other storage class.
  @inlinable public var double: Double? {
    switch tag {
    case 2: unsafe cell.load(as: Double.self)
    case 1: unsafe Double(cell.load(as: Int64.self))
    default: nil
    }
  }
  /// The text; nil for any other storage class.
  @inlinable public var string: String? { unsafe tag == 3 ? String(decoding: bytes, as: UTF8.self) : nil }
  /// The bytes; nil for any other storage class.
  public var data: Data? { unsafe tag == 4 ? Data(bytes) : nil }
  /// The value, copied out of the row; NULL if it was not read.
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
