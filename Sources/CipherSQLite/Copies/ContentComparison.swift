// Comparison of a copy with its original: pragma values, schema, and every row with its id.

private import CSQLCipher
private import Foundation

enum ContentComparison {
  /// How many rows are compared between two progress reports.
  private static let rowsBetweenReports = 1024

  /// Returns the first difference of a copy from its original, as a text for messages; nil if they are
  /// equal. Unless they differ, both are read completely.
  ///
  /// - Parameters:
  ///   - original: The original. If others may write it, it must be in a transaction.
  ///   - copy: A connection other than the one that wrote the copy, so that it reads from the disk and not
  ///     from its cache.
  ///   - report: Called regularly with the number of rows compared so far. If it
  ///     throws, the comparison ends.
  static func difference(
    between original: Connection, and copy: Connection, _ report: (Int) throws -> Void = { _ in }
  ) throws -> String? {
    for pragma in ["user_version", "application_id", "encoding", "auto_vacuum"] {
      let (left, right) = (
        try original.value(sql: "PRAGMA \(pragma)"), try copy.value(sql: "PRAGMA \(pragma)")
      )
      if left != right { return "\(pragma) differs" }
    }
    let list: SQL = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name, sql"
    if try original.rows(list) != copy.rows(list) { return "tables, indexes, views or triggers differ" }
    var compared = 0
    for table in try TableContent.all(of: original) {
      let (left, right) = (
        try SplitRows(table.selects, in: original), try SplitRows(table.selects, in: copy)
      )
      while true {
        let (hasLeft, hasRight) = (try left.step(), try right.step())
        guard hasLeft == hasRight else { return "the number of rows of \(table.name) differs" }
        if !hasLeft { break }
        if let column = firstDifference(between: left, and: right) {
          let row = table.rowID == nil ? "a row" : "the row with the id \(left.parts[0].int64(0))"
          return "\(row) of \(table.name) differs in \(table.names[column])"
        }
        compared += 1
        if compared % rowsBetweenReports == 0 { try report(compared) }
      }
    }
    return nil
  }

  // A pointer to a column's value is valid until its statement steps. The values are compared before the
  // next step.

  /// Returns the first column in which two rows differ, in type or in any bit.
  private static func firstDifference(between left: SplitRows, and right: SplitRows) -> Int? {
    var before = 0
    for (one, other) in zip(left.parts, right.parts) {
      if let column = unsafe firstDifference(between: one.raw, and: other.raw) { return before + column }
      before += one.columnCount
    }
    return nil
  }

  private static func firstDifference(between left: OpaquePointer?, and right: OpaquePointer?) -> Int? {
    for column in unsafe 0..<sqlite3_column_count(left) {
      let type = unsafe sqlite3_column_type(left, column)
      guard unsafe type == sqlite3_column_type(right, column) else { return Int(column) }
      let isEqual =
        switch type {
        case SQLITE_NULL: true
        case SQLITE_INTEGER: unsafe sqlite3_column_int64(left, column) == sqlite3_column_int64(right, column)
        case SQLITE_FLOAT:
          unsafe sqlite3_column_double(left, column).bitPattern
            == sqlite3_column_double(right, column).bitPattern
        // Read as bytes, so that text with an invalid encoding is compared too.
        case SQLITE_TEXT: unsafe isEqualText(left, and: right, inColumn: column)
        default: unsafe isEqualBytes(left, and: right, inColumn: column)
        }
      if !isEqual { return Int(column) }
    }
    return nil
  }

  private static func isEqualText(_ left: OpaquePointer?, and right: OpaquePointer?, inColumn column: Int32)
    -> Bool
  {
    guard let one = unsafe sqlite3_column_text(left, column),
      let other = unsafe sqlite3_column_text(right, column)
    else {
      return false
    }
    let count = unsafe sqlite3_column_bytes(left, column)
    return unsafe count == sqlite3_column_bytes(right, column) && memcmp(one, other, Int(count)) == 0
  }

  private static func isEqualBytes(_ left: OpaquePointer?, and right: OpaquePointer?, inColumn column: Int32)
    -> Bool
  {
    let (one, other) = unsafe (sqlite3_column_blob(left, column), sqlite3_column_blob(right, column))
    let count = unsafe sqlite3_column_bytes(left, column)
    guard unsafe count == sqlite3_column_bytes(right, column) else { return false }
    // An empty blob has no address.
    guard count > 0 else { return true }
    guard let one = unsafe one, let other = unsafe other else { return false }
    return unsafe memcmp(one, other, Int(count)) == 0
  }
}
