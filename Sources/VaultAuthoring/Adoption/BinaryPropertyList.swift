// Reads a binary property list object by object. Foundation's reader does not return the UIDs that a
// keyed archive consists of, and its unarchiver crashes on some invalid archives.

internal import ObjectVault

/// The objects of a binary property list. References are not followed: a container has the indices of
/// its members.
struct BinaryPropertyList {
  enum Value {
    case bool(Bool)
    case integer(Int64)
    case text(String)
    /// A UID of a keyed archive: an index into the archive's own list of objects.
    case reference(Int)
    case list([Int])
    case dictionary([(key: Int, value: Int)])
    /// Null, a floating-point number, a date or bytes, which are not needed here.
    case other
  }

  private let bytes: [UInt8]
  private let offsetBytes: Int
  private let referenceBytes: Int
  private let table: Int
  /// The number of objects.
  let count: Int
  /// The index of the root object.
  let top: Int

  /// Reads the trailer.
  /// - Returns: nil for anything but a binary property list.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 40, bytes.starts(with: Array("bplist0".utf8)) else { return nil }
    self.bytes = bytes
    let trailer = bytes.count - 32
    (offsetBytes, referenceBytes) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
    guard (1...8).contains(offsetBytes), (1...8).contains(referenceBytes),
      let count = Self.number(bytes, at: trailer + 8, size: 8),
      let top = Self.number(bytes, at: trailer + 16, size: 8),
      let table = Self.number(bytes, at: trailer + 24, size: 8), count <= trailer, top < count,
      table <= trailer,
      count * offsetBytes <= trailer - table
    else { return nil }
    (self.count, self.top, self.table) = (count, top, table)
  }

  /// Reads an object. The cost grows with its size.
  /// - Parameter limit: The maximum length of a text, a list or a dictionary; longer ones are not read.
  /// - Returns: nil for an object that is missing, damaged or too large.
  func value(_ number: Int, atMost limit: Int = 256) -> Value? {
    guard (0..<count).contains(number),
      let start = Self.number(bytes, at: table + number * offsetBytes, size: offsetBytes), start < table
    else { return nil }
    let (kind, low) = (bytes[start] >> 4, Int(bytes[start] & 15))
    switch kind {
    case 0: return low == 8 ? .bool(false) : low == 9 ? .bool(true) : .other
    case 1: return integer(at: start + 1, power: low)
    case 8: return Self.number(bytes, at: start + 1, size: low + 1).map { .reference($0) }
    case 5, 6:
      guard let (length, first) = length(at: start, low: low), length <= limit else { return nil }
      return text(at: first, length: length, isWide: kind == 6)
    case 10, 12:
      guard let (length, first) = length(at: start, low: low), length <= limit else { return nil }
      return references(at: first, count: length).map { .list($0) }
    case 13:
      guard let (length, first) = length(at: start, low: low), length <= limit,
        let both = references(at: first, count: length * 2)
      else { return nil }
      return .dictionary((0..<length).map { (both[$0], both[length + $0]) })
    default: return .other
    }
  }

  private func integer(at start: Int, power: Int) -> Value? {
    // Integers of 16 bytes are not supported. Those of 8 bytes are signed, and shorter ones are unsigned.
    guard power < 4 else { return .other }
    guard start + (1 << power) <= table else { return nil }
    let bits = bytes[start..<start + (1 << power)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return .integer(Int64(bitPattern: bits))
  }

  private func text(at first: Int, length: Int, isWide: Bool) -> Value? {
    guard length <= (table - first) / (isWide ? 2 : 1) else { return nil }
    guard isWide else { return .text(String(decoding: bytes[first..<first + length], as: UTF8.self)) }
    let units = (0..<length).map { UInt16(bytes[first + $0 * 2]) << 8 | UInt16(bytes[first + $0 * 2 + 1]) }
    return .text(String(decoding: units, as: UTF16.self))
  }

  /// The length of an object, and the offset of its contents.
  private func length(at start: Int, low: Int) -> (length: Int, first: Int)? {
    guard low == 15 else { return (low, start + 1) }
    guard start + 1 < table, bytes[start + 1] >> 4 == 1, bytes[start + 1] & 15 < 4 else { return nil }
    let size = 1 << Int(bytes[start + 1] & 15)
    guard let length = Self.number(bytes, at: start + 2, size: size), start + 2 + size <= table else {
      return nil
    }
    return (length, start + 2 + size)
  }

  private func references(at first: Int, count: Int) -> [Int]? {
    guard first <= table, count <= (table - first) / referenceBytes else { return nil }
    var numbers: [Int] = []
    numbers.reserveCapacity(count)
    for place in 0..<count {
      guard let number = Self.number(bytes, at: first + place * referenceBytes, size: referenceBytes) else {
        return nil
      }
      numbers.append(number)
    }
    return numbers
  }

  /// An unsigned number. A number above Int32.max is refused: no offset or count in such a list is so
  /// high.
  private static func number(_ bytes: [UInt8], at start: Int, size: Int) -> Int? {
    guard start >= 0, size <= bytes.count, start <= bytes.count - size else { return nil }
    let bits = bytes[start..<start + size].suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return bits <= UInt64(Int32.max) ? Int(bits) : nil
  }
}
