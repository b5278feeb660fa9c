// Long lists of an IN: packed into blobs and unpacked by a recursive query, because the older engine takes 999
// values and a statement of a million bytes.

internal import CipherSQLite
internal import Foundation

enum PackedList {
  /// From here on a list is packed: few enough, that a statement can have several lists of fewer.
  static let threshold = 100
  /// A class and eight bytes.
  static let width = 9

  static func bytes(of value: SQLValue) -> Data {
    switch value {
    case .text(let text): Data(text.utf8)
    case .blob(let data): data
    default: Data()
    }
  }

  static func append(_ value: SQLValue, to bytes: inout [UInt8]) {
    let (kind, bits): (UInt8, UInt64) =
      switch value {
      case .integer(let number): (0, UInt64(bitPattern: number))
      case .real(let number): (1, number.bitPattern)
      default: (2, 0)
      }
    bytes.append(kind)
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: bits >> shift))
    }
  }

  /// What stands in nine bytes.
  static func unpack(_ value: SQLValue) -> SQLValue {
    guard case .blob(let data) = value, data.count == width else { return .null }
    // In one pass: this runs for each value of a list.
    var (kind, bits, shift) = (UInt8(0), UInt64(0), UInt64(0))
    for (place, byte) in data.enumerated() {
      if place == 0 {
        kind = byte
      } else {
        bits |= UInt64(byte) << shift
        shift += 8
      }
    }
    switch kind {
    case 0: return .integer(Int64(bitPattern: bits))
    case 1: return .real(Double(bitPattern: bits))
    default: return .null
    }
  }
}
