// How the rows of a table are copied.

internal import CipherSQLite

extension MigrationRunner {
  /// Copies in slices, so that a cancellation is heard and memory stays small.
  func copy(
    _ from: String, _ to: String, _ columns: [String], _ expressions: [String], _ keyed: Bool
  ) throws {
    let insert = CompiledStatement.copying(from, to, columns, expressions)
    let table = SQLName(from)
    var copied = 0
    if keyed {
      let bounds =
        try connection.rows("SELECT min(\"id\"), max(\"id\") FROM \(table)").first ?? []
      var low = bounds.first?.int64 ?? 1
      let high = bounds.last?.int64 ?? 0
      // What cannot run is told where there is nothing to run on, too.
      if low > high { try connection.validate(sql: insert.text) }
      let slice: Int64 = 65_536
      while low <= high {
        try checkCancelled()
        let (next, overflow) = low.addingReportingOverflow(slice)
        let end = overflow ? Int64.max : next - 1
        let rows = try connection.execute(
          "\(insert) WHERE \"id\" BETWEEN \(low) AND \(min(end, high))")
        copied += rows
        record.meter.wrote(rows)
        if overflow || end >= high { break }
        // Ids far apart are not walked through slice by slice.
        low =
          try connection.value("SELECT min(\"id\") FROM \(table) WHERE \"id\" > \(end)")?.int64 ?? Int64.max
      }
    } else {
      copied = try connection.execute(insert)
    }
    let expected = try connection.value("SELECT count(*) FROM \(table)")?.int64 ?? 0
    guard Int64(copied) == expected else {
      throw ModelError(reason: "\(copied) of \(expected) rows of \(from) were copied")
    }
  }
}
