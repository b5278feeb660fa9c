// Collations that a file of another program names and nobody here knows: texts compare byte by byte in their place, so that
// the file can be read at all. What is sorted by them must not be searched.

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

  /// Whether the file asked for a collation that is not the engine's own.
  package func hasUnknownCollations() throws -> Bool {
    try rows("PRAGMA collation_list").contains { row in
      row.count > 1 && row[1].string.map { !Self.ownCollations.contains($0.uppercased()) } == true
    }
  }
}
