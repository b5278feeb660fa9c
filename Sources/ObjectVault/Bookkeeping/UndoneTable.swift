// vault_undone: the steps that were undone, one row for each rollback. All SQL that names the table is in
// this file.

internal import CipherSQLite

/// When a step was undone, and by which program.
struct RollbackRecord {
  /// When the step was undone, as ISO 8601 in UTC.
  let at: String
  /// How long undoing took, in milliseconds.
  let milliseconds: Int
  /// The program that undid the step.
  let app: String
  /// The library or tool that undid the step.
  let tool: String
  /// The engine that undid the step.
  let engine: String
}

/// The table `vault_undone` of one file. It is created when the first step is undone: most stores have no
/// such table.
struct UndoneTable {
  /// The name of the table in SQL.
  static let name = "vault_undone"
  /// All columns of the table.
  static let columns: Set<String> = [
    "id", "version", "name", "kind", "checksum", "model_hash", "text", "down", "applied_at", "ms", "app",
    "tool", "engine", "undone_at", "undone_ms", "undone_app", "undone_tool", "undone_engine",
  ]

  let connection: Connection

  /// Creates the table if it does not exist. A row is a copy of the step's row in `vault_migrations`,
  /// with time, duration and program of the rollback.
  func createIfMissing() throws {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS vault_undone (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, name TEXT NOT NULL,
        kind TEXT NOT NULL, checksum TEXT NOT NULL, model_hash TEXT NOT NULL, text TEXT NOT NULL, down TEXT,
        applied_at TEXT NOT NULL, ms INTEGER, app TEXT, tool TEXT, engine TEXT,
        undone_at TEXT NOT NULL, undone_ms INTEGER, undone_app TEXT, undone_tool TEXT, undone_engine TEXT)
      """)
  }

  /// Returns whether the file has the table: whether a step was ever undone.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// Returns the number of rollbacks.
  func count() throws -> Int {
    try exists() ? Int(connection.value("SELECT count(*) FROM vault_undone")?.int64 ?? 0) : 0
  }

  /// Records that a step was undone. Call it before the row in `vault_migrations` is deleted.
  func append(_ number: Int, _ undoing: RollbackRecord) throws {
    try connection.execute(
      """
      INSERT INTO vault_undone
        (version, name, kind, checksum, model_hash, text, down, applied_at, ms, app, tool, engine,
          undone_at, undone_ms, undone_app, undone_tool, undone_engine)
      SELECT version, name, kind, checksum, model_hash, text, down, applied_at, ms, app, tool, engine, ?, ?, ?, ?, ?
      FROM \(identifier: HistoryTable.name) WHERE version = ?
      """,
      [
        .text(undoing.at), .integer(Int64(undoing.milliseconds)), .text(undoing.app), .text(undoing.tool),
        .text(undoing.engine), .integer(Int64(number)),
      ])
  }

  /// Returns all undone steps as they were recorded when they ran, in the order of the rollbacks.
  func steps() throws -> [(step: AppliedStep, undoing: RollbackRecord)] {
    try connection.query(
      """
      SELECT version, name, kind, checksum, applied_at, ms, app, engine, text, down,
        undone_at, undone_ms, undone_app, undone_tool, undone_engine
      FROM vault_undone ORDER BY id
      """
    ) { row in
      (
        AppliedStep(row),
        RollbackRecord(
          at: row.text(10) ?? "", milliseconds: Int(row.int64(11)), app: row.text(12) ?? "",
          tool: row.text(13) ?? "", engine: row.text(14) ?? "")
      )
    }
  }
}
