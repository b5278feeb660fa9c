// The recursive query that unpacks a long list.

internal import CipherSQLite
private import Foundation

extension PackedList {
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
}
