// Long lists of an IN, packed into blobs that a recursive query unpacks: the older engine allows 999
// parameters and a million bytes in a statement.

internal import CipherSQLite
internal import Foundation

enum PackedList {
  /// The highest number of values of a list that is not packed. It is low enough for a statement to have
  /// several unpacked lists.
  static let threshold = 100
  /// The bytes of one packed value: one for its storage class, eight for its bits.
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

  /// Returns the value in a blob of nine bytes.
  static func unpack(_ value: SQLValue) -> SQLValue {
    guard case .blob(let data) = value, data.count == width else { return .null }
    // A single pass, as this runs for each value of a list.
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
