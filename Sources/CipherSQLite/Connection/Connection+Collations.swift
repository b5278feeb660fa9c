// Collations of columns. A file of another program may name collations that are not registered here. They
// are replaced by one that compares byte by byte, so that the file can be read at all. Indexes that are
// sorted by the original collation must then not be used for searches.

private import CSQLCipher

extension Connection {
  /// The collations that SQLite has built in.
  package static let builtInCollations: Set<String> = ["BINARY", "NOCASE", "RTRIM"]

  /// Makes collations that are not registered compare byte by byte.
  func acceptUnknownCollations() throws {
    let code = unsafe sqlite3_collation_needed(
      try opened(), nil,
      { _, handle, _, name in
        _ = unsafe sqlite3_create_collation_v2(
          handle, name, SQLITE_UTF8, nil,
          { _, leftCount, left, rightCount, right in
            let left = unsafe UnsafeRawBufferPointer(start: left, count: Int(leftCount))
            let right = unsafe UnsafeRawBufferPointer(start: right, count: Int(rightCount))
            return unsafe left.lexicographicallyPrecedes(right) ? -1 : left.elementsEqual(right) ? 0 : 1
          }, nil)
      })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
  }

  /// Returns the collation of a column, as the engine has parsed it from the table's SQL. Do not search the
  /// SQL for it: another parser may take a different word for the name. `BINARY` if the SQL names none.
  package func collation(ofColumn column: String, in table: String) throws -> String {
    var name: UnsafePointer<CChar>?
    let code = unsafe sqlite3_table_column_metadata(
      try opened(), "main", table, column, nil, &name, nil, nil, nil)
    guard code == SQLITE_OK, let name = unsafe name else { throw error(code, sql: "") }
    return unsafe String(cString: name)
  }

  /// Returns whether this connection has a collation that is not built in: one that the file has
  /// requested, or that was registered.
  package func hasUnknownCollations() throws -> Bool {
    try rows("PRAGMA collation_list").contains { row in
      row.count > 1 && row[1].string.map { !Self.builtInCollations.contains($0.uppercased()) } == true
    }
  }
}
