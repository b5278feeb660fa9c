// vault_repaired: the repairs of recorded steps, one row each. All SQL that names the table is in this
// file.

internal import CipherSQLite

/// A repair of a step's record: the former record, its new name and checksum, and when in the store's
/// history it happened.
struct RepairedStep {
  /// The former record of the step.
  let former: AppliedStep
  /// The new name.
  let name: String
  /// The new checksum.
  let checksum: String
  /// The version of the store at that time.
  let storeVersion: Int
  /// The number of rollbacks before the repair. Together with the version it dates the repair
  /// independently of clocks.
  let undoneCount: Int
  /// When the repair was done, as ISO 8601 in UTC.
  let at: String
  /// The program that did the repair.
  let app: String
  /// The engine that did the repair.
  let engine: String
}

/// The table `vault_repaired` of one file. It is created with the first repair: most stores have none.
struct RepairedTable {
  /// The name of the table in SQL.
  static let name = "vault_repaired"
  /// All columns of the table.
  static let columns: Set<String> = [
    "id", "version", "name", "kind", "checksum", "text", "down", "applied_at", "ms", "app", "engine",
    "new_name", "new_checksum", "store_version", "undone", "repaired_at", "repaired_app", "repaired_tool",
    "repaired_engine",
  ]

  let connection: Connection

  /// Creates the table if it does not exist.
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

  /// Returns whether the file has the table: whether a step was ever repaired.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// Records a repair.
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

  /// Returns all repairs, oldest first.
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
