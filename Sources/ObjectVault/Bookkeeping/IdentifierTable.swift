// vault_ids: the high-water mark of each entity. No id above it was issued. All SQL that names the table
// is in this file. `RowIDs` issues ids by the marks.

internal import CipherSQLite

/// The table `vault_ids` of one file.
struct IdentifierTable {
  /// The name of the table in SQL.
  static let name = "vault_ids"
  /// All columns of the table.
  static let columns: Set<String> = ["entity", "last"]

  let connection: Connection

  /// Creates the table.
  func create() throws {
    try connection.execute("CREATE TABLE vault_ids (entity TEXT PRIMARY KEY, last INTEGER NOT NULL)")
  }

  /// Returns whether the file has the table.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// Returns the high-water mark, or nil when the entity has no mark yet.
  func mark(of entity: String) throws -> Int64? {
    try connection.value("SELECT last FROM vault_ids WHERE entity = ?", [.text(entity)])?.int64
  }

  /// Sets the mark of one entity.
  ///
  /// For a single row, `OR FAIL` has the same effect as the default `ABORT`, and is cheaper. With `ABORT`
  /// or `REPLACE` the engine may have to undo the statement alone, so it copies each page that the
  /// statement changes; SQLCipher 3 keeps these copies in memory until the savepoint of the save ends. If
  /// the table has triggers, `OR FAIL` is not used: it would apply to the triggers' statements, too.
  /// - Parameter isNew: Whether the entity has no mark yet.
  func set(_ entity: String, to last: Int64, isNew: Bool) throws {
    let sql =
      try isNew
      ? "INSERT INTO vault_ids (last, entity) VALUES (?, ?)"
      : connection.firesTriggers(table: "vault_ids")
        ? "UPDATE vault_ids SET last = ? WHERE entity = ?"
        : "UPDATE OR FAIL vault_ids SET last = ? WHERE entity = ?"
    try connection.execute(sql: sql, [.integer(last), .text(entity)])
  }

  /// Returns the high-water mark, and the highest id of a row in the entity's table; each is nil if there
  /// is none. The engine finds the row at the end of the table, without a scan.
  func last(of entity: String) throws -> (mark: Int64?, row: Int64?) {
    try last(of: entity, sql: Self.lastSQL(of: entity))
  }

  /// Returns the high-water mark and the highest id of a row, with SQL that the caller keeps.
  /// - Parameter sql: The result of ``lastSQL(of:)``.
  func last(of entity: String, sql: String) throws -> (mark: Int64?, row: Int64?) {
    try connection.withStatement(sql: sql) { statement in
      try statement.bind([.text(entity)])
      return try statement.step() ? (statement.value(0).int64, statement.value(1).int64) : (nil, nil)
    }
  }

  /// Returns the SQL of ``last(of:)``.
  static func lastSQL(of entity: String) -> String {
    let sql: SQL =
      "SELECT (SELECT last FROM vault_ids WHERE entity = ?), (SELECT max(\"id\") FROM \(identifier: entity))"
    return sql.text
  }

  /// Raises the mark of an entity to the highest id of a row in its table.
  func raiseToRows(of entity: String) throws {
    try connection.execute(
      """
      INSERT OR REPLACE INTO vault_ids (entity, last)
      SELECT \(entity), max(ifnull((SELECT last FROM vault_ids WHERE entity = \(entity)), 0),
        ifnull((SELECT max("id") FROM \(identifier: entity)), 0))
      """)
  }

  /// Returns the statement that sets the mark of each renamed entity to the higher one of two marks: that
  /// of the new name and that of the former name. It reads all marks before it writes any, because
  /// entities may have exchanged names. No mark is deleted.
  /// - Parameter names: The new and the former name of each renamed entity; at least one pair.
  static func renaming(_ names: [(new: String, former: String)]) -> String {
    let marks = names.map { new, former -> SQL in
      "SELECT \(literal: new) AS name, last FROM vault_ids WHERE entity IN (\(literal: new), \(literal: former))"
    }
    let all = SQL.joined(marks, by: " UNION ALL ")
    let sql: SQL =
      "INSERT OR REPLACE INTO vault_ids (entity, last) SELECT name, max(last) FROM (\(all)) GROUP BY name"
    return sql.text
  }

  /// Returns an expression for the higher one of an entity's mark and the highest id of its rows; 0 if it
  /// has neither.
  static func highest(of entity: String) -> SQL {
    "max(ifnull((SELECT last FROM vault_ids WHERE entity = \(literal: entity)), 0), ifnull((SELECT max(\"id\") FROM \(identifier: entity)), 0))"
  }

  /// Returns the entity's name in a damaged row, or "without a name"; nil if all rows are valid.
  func damagedRow() throws -> String? {
    let wrong = try connection.rows(
      "SELECT entity FROM vault_ids WHERE typeof(entity) <> 'text' OR typeof(last) <> 'integer' OR last < 0 LIMIT 1"
    )
    return wrong.first.map { $0.first?.string ?? "without a name" }
  }
}
