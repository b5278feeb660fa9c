// The recursive query that unpacks a long list.

internal import CipherSQLite
private import Foundation

extension PackedList {
  /// Returns a subquery for the values, which must be all numbers, all text or all blobs.
  static func query(_ values: [SQLValue]) -> SQL {
    let last = values.count - 1
    return
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(number: last)) SELECT \(element(values)) FROM n"
  }

  /// Returns the expression for the value in row `i`.
  private static func element(_ values: [SQLValue]) -> SQL {
    switch values.first {
    case .text?, .blob?:
      var (data, places) = (Data(), [UInt8]())
      places.reserveCapacity(values.count * width * 2)
      for value in values {
        let bytes = bytes(of: value)
        append(.integer(Int64(data.count + 1)), to: &places)
        append(.integer(Int64(bytes.count)), to: &places)
        data.append(bytes)
      }
      let piece: SQL =
        "substr(\(SQL.bound(.blob(data))), \(number(places, index: 0, count: 2)), \(number(places, index: 1, count: 2)))"
      if case .text? = values.first { return "CAST(\(piece) AS TEXT)" }
      return piece
    case .integer?, .real?, .null?, nil:
      var numbers: [UInt8] = []
      numbers.reserveCapacity(values.count * width)
      for value in values { append(value, to: &numbers) }
      return number(numbers, index: 0, count: 1)
    }
  }

  /// Returns the expression for a number of row `i`. Each row has `count` packed numbers, of which this
  /// is the one at `index`.
  private static func number(_ bytes: [UInt8], index: Int, count: Int) -> SQL {
    let (step, start) = (width * count, width * index + 1)
    return
      "vault_unpack(substr(\(SQL.bound(.blob(Data(bytes)))), i * \(number: step) + \(number: start), \(number: width)))"
  }
}
