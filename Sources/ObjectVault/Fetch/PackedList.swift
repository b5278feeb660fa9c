// Long lists of an IN: packed into blobs and unpacked by a recursive query, because the older engine takes 999
// values and a statement of a million bytes.

internal import CipherSQLite
internal import Foundation

enum PackedList {
  /// From here on a list is packed: few enough, that a statement can have several lists of fewer.
  static let threshold = 100
  /// A class and eight bytes.
  private static let width = 9

  /// A subquery that yields the values, which are all numbers, all text or all bytes.
  static func query(_ values: [SQLValue]) -> Fragment {
    var sql = Fragment(
      sql: "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "
        + "\(values.count - 1)) SELECT ")
    switch values.first {
    case .text?, .blob?:
      var (data, places) = (Data(), Data())
      for value in values {
        let bytes = bytes(of: value)
        append(.integer(Int64(data.count + 1)), to: &places)
        append(.integer(Int64(bytes.count)), to: &places)
        data.append(bytes)
      }
      let piece =
        "substr(" + .bound(.blob(data)) + ", " + number(places, 0, 2) + ", " + number(places, 1, 2) + ")"
      if case .text? = values.first { sql = sql + "CAST(" + piece + " AS TEXT)" } else { sql = sql + piece }
    default:
      var numbers = Data()
      for value in values { append(value, to: &numbers) }
      sql = sql + number(numbers, 0, 1)
    }
    return sql + " FROM n"
  }

  private static func number(_ data: Data, _ index: Int, _ count: Int) -> Fragment {
    "vault_unpack(substr(" + .bound(.blob(data))
      + ", i * \(width * count) + \(width * index + 1), \(width)))"
  }

  private static func bytes(of value: SQLValue) -> Data {
    switch value {
    case .text(let text): Data(text.utf8)
    case .blob(let data): data
    default: Data()
    }
  }

  private static func append(_ value: SQLValue, to data: inout Data) {
    let (kind, bits): (UInt8, UInt64) =
      switch value {
      case .integer(let number): (0, UInt64(bitPattern: number))
      case .real(let number): (1, number.bitPattern)
      default: (2, 0)
      }
    data.append(kind)
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      data.append(UInt8(truncatingIfNeeded: bits >> shift))
    }
  }

  /// What stands in nine bytes.
  static func unpack(_ value: SQLValue) -> SQLValue {
    guard case .blob(let data) = value, data.count == width, let kind = data.first else { return .null }
    let bits = data.dropFirst().reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    switch kind {
    case 0: return .integer(Int64(bitPattern: bits))
    case 1: return .real(Double(bitPattern: bits))
    default: return .null
    }
  }
}
