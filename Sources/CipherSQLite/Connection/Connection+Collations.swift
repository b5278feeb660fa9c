// Collations: that of a column, and those that a file of another program names and nobody here knows. Texts compare byte by
// byte in the place of the latter, so that the file can be read at all. What is sorted by them must not be searched.

private import CSQLCipher

extension Connection {
  /// The collations that every engine has.
  package static let ownCollations: Set<String> = ["BINARY", "NOCASE", "RTRIM"]

  /// Lets collations that nobody registered compare bytes.
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

  /// The collation by which a column's values compare, as the table's SQL writes it: the engine has read that, and who reads it
  /// again may take another word for the name. `BINARY` where it says nothing.
  package func collation(ofColumn column: String, in table: String) throws -> String {
    var name: UnsafePointer<CChar>?
    let code = unsafe sqlite3_table_column_metadata(
      try opened(), "main", table, column, nil, &name, nil, nil, nil)
    guard code == SQLITE_OK, let name = unsafe name else { throw error(code, sql: "") }
    return unsafe String(cString: name)
  }

  /// Whether the file asked for a collation that is not the engine's own.
  package func hasUnknownCollations() throws -> Bool {
    try rows("PRAGMA collation_list").contains { row in
      row.count > 1 && row[1].string.map { !Self.ownCollations.contains($0.uppercased()) } == true
    }
  }
}
