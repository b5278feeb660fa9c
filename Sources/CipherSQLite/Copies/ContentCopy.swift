// The whole content of one file, row by row, in a new one that may have another key, other settings, or none.
//
// Not by sqlcipher_export: it gives new ids to the rows of a table without INTEGER PRIMARY KEY, as VACUUM does.

/// Fills a new file with what another holds.
struct ContentCopy {
  /// In a transaction, where others may write.
  let source: Connection
  /// A new, empty file, which nobody else knows.
  let target: Connection

  /// Copies tables, rows, indexes, then what needs no page: views, triggers, virtual tables. The target's transaction is
  /// committed.
  /// - Parameter report: Called now and then with the pages of the target; what it throws ends the copying.
  /// - Returns: How many rows there are.
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
    // Lets the engine's own tables be made by name, and entries that have no page be copied.
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
      // Made by the engine with the first table that counts its ids; by hand where no such table is left.
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
