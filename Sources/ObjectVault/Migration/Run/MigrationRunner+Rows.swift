// Copies the rows of a table into its new version.

internal import CipherSQLite

extension MigrationRunner {
  /// Copies the rows in slices, so that cancellation takes effect between slices and memory use stays small.
  /// - Parameter doubt: A condition that is true of rows with a wrong value, checked slice by slice.
  /// - Returns: Whether the condition was checked for all rows and is true of none.
  @discardableResult
  func copy(_ rows: RowCopy, doubt: SQL? = nil) throws -> Bool {
    do { return try copyRows(rows.executed, doubt) } catch let error as SQLError {
      throw error.asWritten(rows.sql.text)
    }
  }

  private func copyRows(_ copy: RowCopy, _ doubt: SQL?) throws -> Bool {
    let insert = copy.sql
    // Invalid SQL is reported even when there are no rows.
    try connection.validate(sql: insert.text)
    try requireRowByRow(copy.expressions, of: copy.source)
    guard copy.isKeyed else {
      try requireWhole(connection.execute(insert), copy.source)
      return false
    }
    // INSERT OR FAIL, because the savepoint of the step undoes all slices. With INSERT alone the engine
    // would keep the previous content of each page, to undo this slice alone, and encrypt it once more.
    let slice = copy.sql(keepsPart: true)
    var copied = 0
    var isSound = doubt != nil
    try forEachSlice(of: SQLName(copy.source)) { ids in
      let rows = try connection.execute("\(slice) WHERE \(ids)")
      copied += rows
      record.meter.wrote(rows)
      if isSound, let doubt {
        isSound =
          try connection.value("SELECT 1 FROM \(identifier: copy.target) WHERE \(ids) AND (\(doubt)) LIMIT 1")
          == nil
      }
    }
    try requireWhole(copied, copy.source)
    return isSound
  }

  /// Calls `body` for each slice, with a condition on ids.
  private func forEachSlice(of table: SQLName, _ body: (SQL) throws -> Void) throws {
    // Two subqueries: each looks up one bound in the index. A single query for both would scan every row.
    let bounds =
      try connection.rows("SELECT (SELECT min(\"id\") FROM \(table)), (SELECT max(\"id\") FROM \(table))")
      .first ?? []
    var low = bounds.first?.int64 ?? 1
    let high = bounds.last?.int64 ?? 0
    let slice: Int64 = 65_536
    while low <= high {
      try checkCancelled()
      let (next, overflow) = low.addingReportingOverflow(slice)
      let end = overflow ? Int64.max : next - 1
      try body("\"id\" BETWEEN \(low) AND \(min(end, high))")
      if overflow || end >= high { break }
      // Skips gaps between ids instead of visiting each slice in them.
      low = try connection.value("SELECT min(\"id\") FROM \(table) WHERE \"id\" > \(end)")?.int64 ?? Int64.max
    }
  }

  /// Refuses an expression with an aggregate, which yields one row for all rows. It is recognized because
  /// it also yields a row for no rows.
  /// - Throws: ``ModelError``.
  private func requireRowByRow(_ expressions: [String], of table: String) throws {
    guard expressions.contains(where: { $0.contains("(") }) else { return }
    let values = SQL.joined(expressions.map { "\(written: $0)" })
    guard try !connection.rows("SELECT \(values) FROM \(identifier: table) WHERE 0").isEmpty else { return }
    throw ModelError(
      reason:
        "an expression is computed over all rows, but must be computed for each row; use a query instead, "
        + "such as (SELECT max($\(table).id) FROM $\(table))")
  }

  /// The reason when a copy met a NULL in a required column. The engine's message names the column of a
  /// temporary table that users have never seen.
  /// - Parameter message: The engine's message, such as `NOT NULL constraint failed: _mig_User.age`.
  /// - Returns: nil for other errors.
  func missingValues(_ statement: CompiledStatement, _ message: String) throws -> String? {
    guard case .copy(let copy) = statement,
      message.hasPrefix("NOT NULL constraint failed: \(copy.target)."),
      let index = copy.columns.firstIndex(where: { message.hasSuffix(".\($0)") })
    else { return nil }
    // A function of the app is not called again for this: its results were recorded.
    guard !copy.expressions[index].contains(Conversion.function) else {
      return failures.missingValue(in: copy.expressions[index])
    }
    // A subquery, because window functions are not allowed where rows are filtered.
    let rows: SQL =
      "FROM (SELECT \"id\", (\(written: SQLTemplate.namesOnly(copy.expressions[index]))) AS vault_value FROM \(identifier: copy.source)) WHERE vault_value IS NULL"
    let count = try connection.value("SELECT count(*) \(rows)")?.int64 ?? 0
    let table = MigrationCompiler.finalName(of: copy.target)
    // The expression may give another value each time, as `random()` does.
    guard count > 0 else {
      return
        "an expression returned NULL for \(table).\(copy.columns[index]), which is required, but not when it "
        + "ran again; write one that returns the same value for a row each time"
    }
    let ids = try connection.query("SELECT \"id\" \(rows) ORDER BY \"id\" LIMIT 5") { "\($0.int64(0))" }
    return
      "\(counted(Int(count), "object")) would have NULL in \(table).\(copy.columns[index]), which is required; "
      + "\(BackfillAdvice.expression) (\(ids.count == 1 ? "row" : "rows") \(ids.joined(separator: ", ")))"
  }

  private func requireWhole(_ copied: Int, _ table: String) throws {
    let expected = try connection.value("SELECT count(*) FROM \(identifier: table)")?.int64 ?? 0
    guard Int64(copied) == expected else {
      throw ModelError(reason: "\(copied) of \(expected) rows of \(table) were copied")
    }
  }
}
