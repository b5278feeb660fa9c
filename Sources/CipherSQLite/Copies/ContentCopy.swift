// Copies the whole content of a file, row by row, to a new file with another key, other
// settings, or no encryption.
//
// It does not use sqlcipher_export, which assigns new ids to the rows of tables without INTEGER
// PRIMARY KEY, as VACUUM does.

/// Copies the content of one file to a new one.
struct ContentCopy {
  /// The original. If others may write it, it must be in a transaction.
  let source: Connection
  /// The copy: a new, empty file that no other connection uses.
  let target: Connection

  /// Copies tables, rows and indexes, then the schema entries without pages: views, triggers, virtual
  /// tables. All of it is one transaction of the target, which this method commits.
  /// - Parameter report: Called regularly with the number of pages of the target. If
  ///   it throws, the copying ends.
  /// - Returns: The number of rows.
  func run(_ report: (_ pages: Int) throws -> Void) throws -> Int {
    try target.executeScript(
      """
      PRAGMA foreign_keys = OFF;
      PRAGMA ignore_check_constraints = ON;
      PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF;
      """)
    try target.execute(sql: "PRAGMA encoding = '\(try source.value("PRAGMA encoding")?.string ?? "UTF-8")'")
    try target.execute(sql: "PRAGMA auto_vacuum = \(try source.value("PRAGMA auto_vacuum")?.int64 ?? 0)")
    // Permits creating the engine's internal tables by name, and copying schema entries that have no page.
    try target.executeScript("PRAGMA writable_schema = ON")
    return try target.transaction(.exclusive) {
      let objects = try source.rows(
        "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
      let stored = objects.filter { $0[3].int64 ?? 0 > 0 }
      for object in stored where object[0] == "table" && object[1] != "sqlite_sequence" {
        try target.execute(sql: object[4].string ?? "")
      }
      let rows = try TableContent.all(of: source).reduce(0) { try $0 + copyRows(of: $1, report) }
      for object in stored where object[0] == "index" { try target.execute(sql: object[4].string ?? "") }
      for object in objects where object[3].int64 ?? 0 == 0 {
        try target.execute(
          sql: "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)",
          object)
      }
      for pragma in ["user_version", "application_id"] {
        try target.execute(sql: "PRAGMA \(pragma) = \(try source.value(sql: "PRAGMA \(pragma)")?.int64 ?? 0)")
      }
      return rows
    }
  }

  private func copyRows(of table: TableContent, _ report: (Int) throws -> Void) throws -> Int {
    if table.name == "sqlite_sequence" {
      // The engine creates this table with the first AUTOINCREMENT table. If the source has no such table
      // any more, it is created here.
      if try target.value("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'") == nil {
        try target.execute("CREATE TABLE sqlite_sequence(name, seq)")
      }
      try target.execute("DELETE FROM sqlite_sequence")
    }
    return try target.transfer(from: source, table.selects, into: table.name, columns: table.names) { _ in
      try report(Int(try target.value("PRAGMA page_count")?.int64 ?? 0))
    }
  }
}
