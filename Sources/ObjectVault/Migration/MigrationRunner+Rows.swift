// How the rows of a table are copied.

internal import CipherSQLite

extension MigrationRunner {
  /// Copies in slices, so that a cancellation is heard and memory stays small.
  /// - Parameter doubt: What is so of a row that holds something wrong: asked slice by slice.
  /// - Returns: Whether that was asked of all rows and is so of none.
  @discardableResult
  func copy(
    _ from: String, _ to: String, _ columns: [String], _ expressions: [String], _ keyed: Bool,
    doubt: SQL? = nil
  ) throws -> Bool {
    let insert = CompiledStatement.copying(from, to, columns, expressions)
    guard keyed else {
      try requireWhole(connection.execute(insert), from)
      return false
    }
    var copied = 0
    var isSound = doubt != nil
    try forEachSlice(of: SQLName(from), insert) { ids in
      let rows = try connection.execute("\(insert) WHERE \(ids)")
      copied += rows
      record.meter.wrote(rows)
      if isSound, let doubt {
        isSound =
          try connection.value("SELECT 1 FROM \(identifier: to) WHERE \(ids) AND (\(doubt)) LIMIT 1") == nil
      }
    }
    try requireWhole(copied, from)
    return isSound
  }

  /// - Parameter body: Gets a condition on ids.
  private func forEachSlice(of table: SQLName, _ insert: SQL, _ body: (SQL) throws -> Void) throws {
    // Two queries: of one alone each bound is looked up, of both together every row is.
    let bounds =
      try connection.rows("SELECT (SELECT min(\"id\") FROM \(table)), (SELECT max(\"id\") FROM \(table))")
      .first ?? []
    var low = bounds.first?.int64 ?? 1
    let high = bounds.last?.int64 ?? 0
    // What cannot run is told where there is nothing to run on, too.
    if low > high { try connection.validate(sql: insert.text) }
    let slice: Int64 = 65_536
    while low <= high {
      try checkCancelled()
      let (next, overflow) = low.addingReportingOverflow(slice)
      let end = overflow ? Int64.max : next - 1
      try body("\"id\" BETWEEN \(low) AND \(min(end, high))")
      if overflow || end >= high { break }
      // Ids far apart are not walked through slice by slice.
      low = try connection.value("SELECT min(\"id\") FROM \(table) WHERE \"id\" > \(end)")?.int64 ?? Int64.max
    }
  }

  private func requireWhole(_ copied: Int, _ table: String) throws {
    let expected = try connection.value("SELECT count(*) FROM \(identifier: table)")?.int64 ?? 0
    guard Int64(copied) == expected else {
      throw ModelError(reason: "\(copied) of \(expected) rows of \(table) were copied")
    }
  }
}
