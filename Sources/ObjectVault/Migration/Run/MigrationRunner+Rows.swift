// How the rows of a table are copied.

internal import CipherSQLite

extension MigrationRunner {
  /// Copies in slices, so that a cancellation is heard and memory stays small.
  /// - Parameter doubt: What is so of a row that holds something wrong: asked slice by slice.
  /// - Returns: Whether that was asked of all rows and is so of none.
  @discardableResult
  func copy(_ rows: RowCopy, doubt: SQL? = nil) throws -> Bool {
    do { return try copyRows(rows.executed, doubt) } catch let error as SQLError {
      throw error.asWritten(rows.sql.text)
    }
  }

  private func copyRows(_ copy: RowCopy, _ doubt: SQL?) throws -> Bool {
    let insert = copy.sql
    // What cannot run is told where there is nothing to run on, too.
    try connection.validate(sql: insert.text)
    try requireRowByRow(copy.expressions, of: copy.source)
    guard copy.isKeyed else {
      try requireWhole(connection.execute(insert), copy.source)
      return false
    }
    // Else the engine keeps each page of the slices before, for the case that this one alone is undone, and encrypts it once
    // more. The savepoint of the step undoes all of them.
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

  /// - Parameter body: Gets a condition on ids.
  private func forEachSlice(of table: SQLName, _ body: (SQL) throws -> Void) throws {
    // Two queries: of one alone each bound is looked up, of both together every row is.
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
      // Ids far apart are not walked through slice by slice.
      low = try connection.value("SELECT min(\"id\") FROM \(table) WHERE \"id\" > \(end)")?.int64 ?? Int64.max
    }
  }

  /// An aggregate makes one row of all rows, and of none, by which it is known.
  /// - Throws: ``ModelError``.
  private func requireRowByRow(_ expressions: [String], of table: String) throws {
    guard expressions.contains(where: { $0.contains("(") }) else { return }
    let values = SQL.joined(expressions.map { "\(written: $0)" })
    guard try !connection.rows("SELECT \(values) FROM \(identifier: table) WHERE 0").isEmpty else { return }
    throw ModelError(
      reason:
        "an expression is over all rows, and one for each row is asked for; write a query in its place, such as "
        + "(SELECT max($\(table).id) FROM $\(table))")
  }

  /// What a copy that met a NULL where none may be says of it: the engine names the column of a table that nobody knows.
  /// - Parameter message: The engine's, such as `NOT NULL constraint failed: _mig_User.age`.
  /// - Returns: nil for what is about something else.
  func missingValues(_ statement: CompiledStatement, _ message: String) throws -> String? {
    guard case .copy(let copy) = statement,
      message.hasPrefix("NOT NULL constraint failed: \(copy.target)."),
      let index = copy.columns.firstIndex(where: { message.hasSuffix(".\($0)") })
    else { return nil }
    // A function of the app's is not called for this: what it gave was noted.
    guard !copy.expressions[index].contains(Conversion.function) else {
      return failures.missingValue(in: copy.expressions[index])
    }
    // Around a query, as of a window nothing can be asked where rows are picked.
    let rows: SQL =
      "FROM (SELECT \"id\", (\(written: SQLTemplate.namesOnly(copy.expressions[index]))) AS vault_value FROM \(identifier: copy.source)) WHERE vault_value IS NULL"
    let count = try connection.value("SELECT count(*) \(rows)")?.int64 ?? 0
    let table = MigrationCompiler.finalName(of: copy.target)
    // As of `random()`.
    guard count > 0 else {
      return
        "an expression gave NULL for \(table).\(copy.columns[index]), which is required, and gives none when it is asked again; "
        + "write one that gives a row the same value each time"
    }
    let ids = try connection.query("SELECT \"id\" \(rows) ORDER BY \"id\" LIMIT 5") { "\($0.int64(0))" }
    return
      "\(counted(Int(count), "object")) would have NULL in \(table).\(copy.columns[index]), which is required; "
      + "\(FillingAdvice.expression) (\(ids.count == 1 ? "row" : "rows") \(ids.joined(separator: ", ")))"
  }

  private func requireWhole(_ copied: Int, _ table: String) throws {
    let expected = try connection.value("SELECT count(*) FROM \(identifier: table)")?.int64 ?? 0
    guard Int64(copied) == expected else {
      throw ModelError(reason: "\(copied) of \(expected) rows of \(table) were copied")
    }
  }
}
