// How all rows of a table are read and written again, with the ids that SQLite gave them: a full-text table or a program
// may refer to a row by an id that no column holds.

/// A table whose content is copied or compared.
struct TableContent {
  let name: String
  /// Its columns, but those that are computed from others.
  let columns: [String]
  /// A name for the row id that is no column's; nil for a table WITHOUT ROWID, whose key is among its columns.
  let rowID: String?
  private let columnsOfQuery: Int

  /// - Parameters:
  ///   - name: The table.
  ///   - connection: A connection to its file.
  init(_ name: String, in connection: Connection) throws {
    self.name = name
    let columns = try connection.rows(sql: "PRAGMA table_info(\(quoted(name)))").compactMap { $0[1].string }
    self.columns = columns
    columnsOfQuery = max(1, connection.limit(.columns))
    let taken = Set(columns.map(\.asciiLowercased))
    // Asked of the engine, which says no for a table WITHOUT ROWID.
    let candidate = ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
    rowID = candidate.flatMap {
      (try? connection.validate(sql: "SELECT \($0) FROM \(quoted(name))")) == nil ? nil : $0
    }
  }

  /// What a row is made of: its id, where it has one, and its columns.
  var names: [String] { (rowID.map { [$0] } ?? []) + columns }

  /// Every row, in the order of the table itself: an index that has all columns could come in another. By several queries where a
  /// row has more than one of them gives.
  var selects: [String] {
    stride(from: 0, to: names.count, by: columnsOfQuery).map { start in
      let part = names[start..<min(start + columnsOfQuery, names.count)].map(quoted)
      return "SELECT \(part.joined(separator: ", ")) FROM \(quoted(name)) NOT INDEXED"
    }
  }

  /// The tables of a file that hold rows; a virtual table keeps its rows in others.
  static func all(of connection: Connection) throws -> [TableContent] {
    try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY rowid")
      .compactMap { $0[0].string }.map { try TableContent($0, in: connection) }
  }
}
