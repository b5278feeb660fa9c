// How all rows of a table are read and written with their row ids. Ids are kept because a full-text table
// or a program may refer to a row by an id that is in no column.

/// A table whose content is copied or compared.
struct TableContent {
  let name: String
  /// The columns, without generated ones.
  let columns: [String]
  /// A name for the row id that no column has. nil for a table WITHOUT ROWID, whose key is among its
  /// columns, and for a table whose columns have all three names.
  let rowID: String?
  private let columnsPerQuery: Int

  /// Reads the columns of a table.
  /// - Parameters:
  ///   - name: The table.
  ///   - connection: A connection to its file.
  init(_ name: String, in connection: Connection) throws {
    self.name = name
    let columns = try connection.rows(sql: "PRAGMA table_info(\(quoted(name)))").compactMap { $0[1].string }
    self.columns = columns
    columnsPerQuery = max(1, connection.limit(.columns))
    let taken = Set(columns.map(\.asciiLowercased))
    // The engine rejects the name if the table is WITHOUT ROWID.
    let candidate = ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
    rowID = candidate.flatMap {
      (try? connection.validate(sql: "SELECT \($0) FROM \(quoted(name))")) == nil ? nil : $0
    }
  }

  /// The names of the values of a row that are copied: the row id, if there is one, and the columns.
  var names: [String] { (rowID.map { [$0] } ?? []) + columns }

  /// The queries that return all rows in the table's own order. `NOT INDEXED`, because an index with all
  /// columns could return the rows in another order. There are several queries if a row has more columns
  /// than one query can return.
  var selects: [String] {
    stride(from: 0, to: names.count, by: columnsPerQuery).map { start in
      let part = names[start..<min(start + columnsPerQuery, names.count)].map(quoted)
      return "SELECT \(part.joined(separator: ", ")) FROM \(quoted(name)) NOT INDEXED"
    }
  }

  /// Returns the tables of a file that store rows, empty ones included. Virtual tables are excluded: their
  /// rows are in other tables.
  static func all(of connection: Connection) throws -> [TableContent] {
    try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY rowid")
      .compactMap { $0[0].string }.map { try TableContent($0, in: connection) }
  }
}
