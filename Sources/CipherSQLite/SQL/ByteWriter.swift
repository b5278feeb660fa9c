// Values in a compact form of bytes, for records that the store keeps in blobs.
//
// A number is written in groups of 7 bits, the lowest first; the highest bit is set if another byte
// follows. Signed numbers are folded first: 0, -1, 1, -2 become 0, 1, 2, 3. A value begins with a tag:
//   0  NULL
//   1  an integer: a signed number
//   2  a real: its 8 bytes, the lowest first
//   3  a text: the number of its UTF-8 bytes, and the bytes
//   4  a blob: the number of its bytes, and the bytes
//   5  a real without a fraction: a signed number
//   6 to 9  a real with 1 to 4 decimal places: the number without its point, signed
//   16 to 143  the integers 0 to 127
//   144 to 255  a text of 0 to 111 bytes: the bytes

internal import Foundation

/// Writes numbers and values into bytes.
package struct ByteWriter: Sendable {
  /// What was written.
  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// Removes bytes from the beginning.
  package mutating func removeFirst(_ count: Int) { bytes.removeFirst(count) }

  /// Writes one byte.
  @inline(__always) package mutating func put(byte: UInt8) { bytes.append(byte) }

  /// Writes a number.
  @inline(__always) package mutating func put(unsigned number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Writes a signed number.
  @inline(__always) package mutating func put(signed number: Int64) {
    put(unsigned: UInt64(bitPattern: (number << 1) ^ (number >> 63)))
  }

  fileprivate static let scales: [Double] = [1, 10, 100, 1000, 10_000]
  /// The numbers below it take at most 6 bytes.
  private static let scaledLimit: Double = 2_199_023_255_552

  private mutating func put(text count: Int) {
    if count < 112 { return bytes.append(UInt8(144 + count)) }
    bytes.append(3)
    put(unsigned: UInt64(count))
  }

  private mutating func put(integer: Int64) {
    if integer >= 0, integer < 128 { return bytes.append(UInt8(16 + integer)) }
    bytes.append(1)
    put(signed: integer)
  }

  private mutating func put(real: Double) {
    // Mostly whole seconds, prices and percentages. Only forms that give back the same bits.
    for (places, scale) in Self.scales.enumerated() {
      let scaled = (real * scale).rounded()
      guard abs(scaled) < Self.scaledLimit else { break }
      let number = Int64(scaled)
      guard (Double(number) / scale).bitPattern == real.bitPattern else { continue }
      bytes.append(UInt8(5 + places))
      return put(signed: number)
    }
    bytes.append(2)
    var bits = real.bitPattern
    for _ in 0..<8 {
      bytes.append(UInt8(truncatingIfNeeded: bits))
      bits >>= 8
    }
  }

  /// Writes a value.
  package mutating func put(_ value: SQLValue) {
    switch value {
    case .null: bytes.append(0)
    case .integer(let integer): put(integer: integer)
    case .real(let real): put(real: real)
    case .text(let text):
      put(text: text.utf8.count)
      bytes.append(contentsOf: text.utf8)
    case .blob(let data):
      bytes.append(4)
      put(unsigned: UInt64(data.count))
      bytes.append(contentsOf: data)
    }
  }

  /// Writes a value of a row; NULL if the row has none.
  package mutating func put(_ cell: RowCell) {
    if let integer = cell.int64 { return put(integer: integer) }
    guard cell.hasBytes else {
      if cell.tag == 2, let real = cell.double { return put(real: real) }
      return bytes.append(0)
    }
    // The caller retains the row, as for any use of a cell.
    let content = unsafe cell.bytes
    if cell.tag == 3 {
      put(text: content.count)
    } else {
      bytes.append(4)
      put(unsigned: UInt64(content.count))
    }
    unsafe bytes.append(contentsOf: content)
  }
}

/// Reads what a ``ByteWriter`` has written.
package struct ByteReader {
  /// The bytes are not those that a writer writes.
  package struct Malformed: Error {
    package init() {}
  }

  private let bytes: [UInt8]
  private var position = 0

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether everything was read.
  package var isAtEnd: Bool { position >= bytes.count }

  /// Reads one byte.
  package mutating func byte() throws(Malformed) -> UInt8 {
    guard position < bytes.count else { throw Malformed() }
    defer { position += 1 }
    return bytes[position]
  }

  /// Reads a number.
  package mutating func unsigned() throws(Malformed) -> UInt64 {
    var (number, shift): (UInt64, UInt64) = (0, 0)
    while true {
      let next = try byte()
      guard shift < 63 || next <= 1 else { throw Malformed() }
      number |= UInt64(next & 0x7F) << shift
      if next < 0x80 { return number }
      shift += 7
    }
  }

  /// Reads a signed number.
  package mutating func signed() throws(Malformed) -> Int64 {
    let folded = try unsigned()
    return Int64(bitPattern: (folded >> 1) ^ (0 &- (folded & 1)))
  }

  /// Reads a number that counts something: at most the number of bytes that are left.
  package mutating func count() throws(Malformed) -> Int {
    let number = try unsigned()
    guard number <= UInt64(bytes.count - position) else { throw Malformed() }
    return Int(number)
  }

  /// Reads a value.
  package mutating func value() throws(Malformed) -> SQLValue {
    switch try byte() {
    case 0: return .null
    case 1: return .integer(try signed())
    case 2:
      guard bytes.count - position >= 8 else { throw Malformed() }
      defer { position += 8 }
      let bits = bytes[position..<position + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return .real(Double(bitPattern: bits))
    case 3: return .text(String(decoding: try slice(count()), as: UTF8.self))
    case 4: return .blob(Data(try slice(count())))
    case let tag where tag >= 144: return .text(String(decoding: try slice(Int(tag) - 144), as: UTF8.self))
    case let tag where tag >= 16: return .integer(Int64(tag) - 16)
    case let tag where tag >= 5 && tag < 10:
      return .real(Double(try signed()) / ByteWriter.scales[Int(tag) - 5])
    default: throw Malformed()
    }
  }

  private mutating func slice(_ count: Int) throws(Malformed) -> ArraySlice<UInt8> {
    guard count <= bytes.count - position else { throw Malformed() }
    defer { position += count }
    return bytes[position..<position + count]
  }
}
