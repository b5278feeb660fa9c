// vault_undone: the steps that were taken back, a row for each time. Nobody else writes SQL with its name.

internal import CipherSQLite

/// When a step was taken back, and by whom.
struct Undoing {
  /// When, as ISO 8601 in UTC.
  let at: String
  /// How long it took, in milliseconds.
  let milliseconds: Int
  /// The program that did it.
  let app: String
  /// What of it did.
  let tool: String
  /// The engine that did it.
  let engine: String
}

/// The table `vault_undone` of one file. It is made when the first step is taken back: most stores have none.
struct UndoneTable {
  /// How SQL calls it.
  static let name = "vault_undone"
  /// The columns that it has, no others.
  static let columns: Set<String> = [
    "id", "version", "name", "kind", "checksum", "model_hash", "text", "down", "applied_at", "ms", "app",
    "tool", "engine", "undone_at", "undone_ms", "undone_app", "undone_tool", "undone_engine",
  ]

  let connection: Connection

  /// Makes the table where there is none: a row of `vault_migrations`, and beside it what took it back.
  func createIfMissing() throws {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS vault_undone (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, name TEXT NOT NULL,
        kind TEXT NOT NULL, checksum TEXT NOT NULL, model_hash TEXT NOT NULL, text TEXT NOT NULL, down TEXT,
        applied_at TEXT NOT NULL, ms INTEGER, app TEXT, tool TEXT, engine TEXT,
        undone_at TEXT NOT NULL, undone_ms INTEGER, undone_app TEXT, undone_tool TEXT, undone_engine TEXT)
      """)
  }

  /// Whether the file has it: only one of which a step was taken back.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// How many steps were taken back.
  func count() throws -> Int {
    try exists() ? Int(connection.value("SELECT count(*) FROM vault_undone")?.int64 ?? 0) : 0
  }

  /// Writes down that a step was taken back, before its row goes.
  func append(_ number: Int, _ undoing: Undoing) throws {
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

  /// All steps that were taken back, as they were written down when they ran, in the order in which they were taken back.
  func steps() throws -> [(step: AppliedStep, undoing: Undoing)] {
    try connection.query(
      """
      SELECT version, name, kind, checksum, applied_at, ms, app, engine, text, down,
        undone_at, undone_ms, undone_app, undone_tool, undone_engine
      FROM vault_undone ORDER BY id
      """
    ) { row in
      (
        AppliedStep(row),
        Undoing(
          at: row.text(10) ?? "", milliseconds: Int(row.int64(11)), app: row.text(12) ?? "",
          tool: row.text(13) ?? "", engine: row.text(14) ?? "")
      )
    }
  }
}
