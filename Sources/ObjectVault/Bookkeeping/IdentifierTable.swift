// vault_ids: the highest id that was given out, for each entity. Nobody else writes SQL with its name; what the marks
// mean is RowIDs' business.

internal import CipherSQLite

/// The table `vault_ids` of one file.
struct IdentifierTable {
  /// How SQL calls it.
  static let name = "vault_ids"
  /// The columns that it has, no others.
  static let columns: Set<String> = ["entity", "last"]

  let connection: Connection

  /// Makes the table.
  func create() throws {
    try connection.execute("CREATE TABLE vault_ids (entity TEXT PRIMARY KEY, last INTEGER NOT NULL)")
  }

  /// Whether the file has it.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// The highest id that was given out; nil when the entity has no mark yet.
  func mark(of entity: String) throws -> Int64? {
    try connection.value("SELECT last FROM vault_ids WHERE entity = ?", [.text(entity)])?.int64
  }

  /// Sets the mark of one entity.
  ///
  /// Of one row, which OR FAIL changes or leaves as ABORT would. What may have to be undone alone, as REPLACE and ABORT,
  /// makes the engine copy each page that the statement changes; SQLCipher 3 keeps those copies in memory until the
  /// savepoint of the save ends. Where triggers are fired FAIL is not used: it would be in force for their statements, too.
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

  /// The highest id that was given out, and the highest one that a row of the entity's table has; nil where there is none. Of a
  /// row the engine looks at the end of the table alone.
  func last(of entity: String) throws -> (mark: Int64?, row: Int64?) {
    try last(of: entity, sql: Self.lastSQL(of: entity))
  }

  /// - Parameter sql: The text of ``lastSQL(of:)``, for a caller that keeps it.
  func last(of entity: String, sql: String) throws -> (mark: Int64?, row: Int64?) {
    try connection.withStatement(sql: sql) { statement in
      try statement.bind([.text(entity)])
      return try statement.step() ? (statement.value(0).int64, statement.value(1).int64) : (nil, nil)
    }
  }

  /// What ``last(of:)`` asks.
  static func lastSQL(of entity: String) -> String {
    let sql: SQL =
      "SELECT (SELECT last FROM vault_ids WHERE entity = ?), (SELECT max(\"id\") FROM \(identifier: entity))"
    return sql.text
  }

  /// Raises the mark of an entity to the highest id that a row of its table has.
  func raiseToRows(of entity: String) throws {
    try connection.execute(
      """
      INSERT OR REPLACE INTO vault_ids (entity, last)
      SELECT \(entity), max(ifnull((SELECT last FROM vault_ids WHERE entity = \(entity)), 0),
        ifnull((SELECT max("id") FROM \(identifier: entity)), 0))
      """)
  }

  /// The statement that gives each new name the larger of its own mark and of the one that its former name has; all from
  /// the marks of before, because names may go round in a circle. No mark goes away.
  /// - Parameter names: What entities are called now, and what they were called; at least one.
  static func renaming(_ names: [(new: String, former: String)]) -> String {
    let marks = names.map { new, former -> SQL in
      "SELECT \(literal: new) AS name, last FROM vault_ids WHERE entity IN (\(literal: new), \(literal: former))"
    }
    let all = SQL.joined(marks, by: " UNION ALL ")
    let sql: SQL =
      "INSERT OR REPLACE INTO vault_ids (entity, last) SELECT name, max(last) FROM (\(all)) GROUP BY name"
    return sql.text
  }

  /// The highest id that was given out, or that a row has, as an expression.
  static func highest(of entity: String) -> SQL {
    "max(ifnull((SELECT last FROM vault_ids WHERE entity = \(literal: entity)), 0), ifnull((SELECT max(\"id\") FROM \(identifier: entity)), 0))"
  }

  /// A row that holds no mark: what it is of, in words; nil when all do.
  func damagedRow() throws -> String? {
    let wrong = try connection.rows(
      "SELECT entity FROM vault_ids WHERE typeof(entity) <> 'text' OR typeof(last) <> 'integer' OR last < 0 LIMIT 1"
    )
    return wrong.first.map { $0.first?.string ?? "without a name" }
  }
}
