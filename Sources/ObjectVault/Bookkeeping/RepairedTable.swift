// vault_repaired: the steps whose record was written anew, a row for each time. Nobody else writes SQL with its name.

internal import CipherSQLite

/// That the record of a step was written anew: what it was, and when in the life of the store.
struct RepairedStep {
  /// The step as it had been recorded.
  let former: AppliedStep
  /// What it is called since.
  let name: String
  /// Its checksum since.
  let checksum: String
  /// The version that the store had.
  let storeVersion: Int
  /// How many steps had been taken back until then. With the version it tells the moment, whatever clocks say.
  let undoneCount: Int
  /// When, as ISO 8601 in UTC.
  let at: String
  /// The program that did it.
  let app: String
  /// The engine that did it.
  let engine: String
}

/// The table `vault_repaired` of one file. It is made with the first repair: most stores have none.
struct RepairedTable {
  /// How SQL calls it.
  static let name = "vault_repaired"
  /// The columns that it has, no others.
  static let columns: Set<String> = [
    "id", "version", "name", "kind", "checksum", "text", "down", "applied_at", "ms", "app", "engine",
    "new_name", "new_checksum", "store_version", "undone", "repaired_at", "repaired_app", "repaired_tool",
    "repaired_engine",
  ]

  let connection: Connection

  /// Makes the table where there is none.
  func createIfMissing() throws {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS vault_repaired (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, name TEXT NOT NULL,
        kind TEXT NOT NULL, checksum TEXT NOT NULL, text TEXT NOT NULL, down TEXT, applied_at TEXT NOT NULL,
        ms INTEGER, app TEXT, engine TEXT, new_name TEXT NOT NULL, new_checksum TEXT NOT NULL,
        store_version INTEGER NOT NULL, undone INTEGER NOT NULL, repaired_at TEXT NOT NULL, repaired_app TEXT,
        repaired_tool TEXT, repaired_engine TEXT)
      """)
  }

  /// Whether the file has it: only one of which a step was repaired.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// Writes a repair down.
  func append(_ repair: RepairedStep, tool: String) throws {
    let step = repair.former
    try connection.execute(
      """
      INSERT INTO vault_repaired (version, name, kind, checksum, text, down, applied_at, ms, app, engine, new_name,
        new_checksum, store_version, undone, repaired_at, repaired_app, repaired_tool, repaired_engine)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(Int64(step.number)), .text(step.name), .text(step.kind), .text(step.checksum),
        .text(step.text),
        step.down.map { .text($0) } ?? .null, .text(step.appliedAt), .integer(Int64(step.milliseconds)),
        .text(step.app), .text(step.engine), .text(repair.name), .text(repair.checksum),
        .integer(Int64(repair.storeVersion)), .integer(Int64(repair.undoneCount)), .text(repair.at),
        .text(repair.app), .text(tool), .text(repair.engine),
      ])
  }

  /// All repairs, in their order.
  func repairs() throws -> [RepairedStep] {
    try connection.query(
      """
      SELECT version, name, kind, checksum, applied_at, ms, app, engine, text, down, new_name, new_checksum,
        store_version, undone, repaired_at, repaired_app, repaired_engine
      FROM vault_repaired ORDER BY id
      """
    ) { row in
      RepairedStep(
        former: AppliedStep(row), name: row.text(10) ?? "", checksum: row.text(11) ?? "",
        storeVersion: Int(row.int64(12)), undoneCount: Int(row.int64(13)), at: row.text(14) ?? "",
        app: row.text(15) ?? "", engine: row.text(16) ?? "")
    }
  }
}
