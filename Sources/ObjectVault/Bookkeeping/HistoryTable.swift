// vault_migrations: the applied steps of a store, one row each. All SQL that names the table is in this
// file, except that UndoneTable copies rows from the table.

internal import CipherSQLite

/// A step, as the store recorded it.
public struct AppliedStep: Sendable, Hashable, Codable {
  /// The number of the step.
  public let number: Int
  /// The name of the step.
  public let name: String
  /// `created` for a step that was recorded when a new store was created; `baseline` for a step that was
  /// recorded without running, because another program had made its tables; `migration` for any other
  /// step.
  public let kind: String
  /// The checksum of the text with which the step ran; after a repair, the checksum of the text that was
  /// recorded in its place.
  public let checksum: String
  /// When the step ran, or was recorded without running, as ISO 8601 in UTC.
  public let appliedAt: String
  /// How long the step took, in milliseconds.
  public let milliseconds: Int
  /// The program that ran the step.
  public let app: String
  /// The engine that ran the step.
  public let engine: String
  let text: String
  /// The rollback as the lines of a `[down]` section: the author's or derived operations, or a line with
  /// the reason why there is no rollback. nil if the author wrote none and an earlier release, which
  /// derived none, ran the step.
  let down: String?
}

extension AppliedStep {
  /// Reads a step from a row.
  /// - Parameter row: version, name, kind, checksum, applied_at, ms, app, engine, text, down.
  init(_ row: Statement) {
    self.init(
      number: Int(row.int64(0)), name: row.text(1) ?? "", kind: row.text(2) ?? "",
      checksum: row.text(3) ?? "", appliedAt: row.text(4) ?? "", milliseconds: Int(row.int64(5)),
      app: row.text(6) ?? "", engine: row.text(7) ?? "", text: row.text(8) ?? "", down: row.text(9))
  }
}

/// The table `vault_migrations` of one file.
package struct HistoryTable {
  /// The name of the table in SQL.
  package static let name = "vault_migrations"
  /// All columns of the table.
  static let columns: Set<String> = [
    "version", "name", "kind", "checksum", "model_hash", "text", "down", "applied_at", "ms", "app", "tool",
    "engine",
  ]

  /// A step with the values that are recorded with it.
  struct Record {
    let step: AppliedStep
    /// A digest of the model's meaning after the step.
    let modelHash: String
    /// The library or tool that ran the step.
    let tool: String
  }

  let connection: Connection

  /// Creates the table.
  func create() throws {
    try connection.execute(
      """
      CREATE TABLE vault_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
        checksum TEXT NOT NULL, model_hash TEXT NOT NULL, text TEXT NOT NULL, down TEXT,
        applied_at TEXT NOT NULL, ms INTEGER, app TEXT, tool TEXT, engine TEXT)
      """)
  }

  /// Returns whether the file has the table. Every store has it, and no other file does.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// Returns all steps, by number.
  func steps() throws -> [AppliedStep] {
    try connection.query(
      """
      SELECT version, name, kind, checksum, applied_at, ms, app, engine, text, down FROM vault_migrations
      ORDER BY version
      """
    ) { AppliedStep($0) }
  }

  /// Returns the checksums of all steps, by number. Reads no text of a step.
  func checksums() throws -> [String] {
    try connection.query("SELECT checksum FROM vault_migrations ORDER BY version") { $0.text(0) ?? "" }
  }

  /// Returns the numbers of the first and the last step, without a scan of the table; nil if there are no
  /// steps.
  func numbers() throws -> ClosedRange<Int64>? {
    let row = try connection.rows(
      "SELECT (SELECT min(version) FROM vault_migrations), (SELECT max(version) FROM vault_migrations)"
    ).first
    guard let first = row?.first?.int64, let last = row?.last?.int64 else { return nil }
    return first...last
  }

  /// Adds the row of a step.
  func append(_ record: Record) throws {
    let step = record.step
    try connection.execute(
      """
      INSERT INTO vault_migrations
        (version, name, kind, checksum, model_hash, text, down, applied_at, ms, app, tool, engine)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(Int64(step.number)), .text(step.name), .text(step.kind), .text(step.checksum),
        .text(record.modelHash), .text(step.text), step.down.map { .text($0) } ?? .null,
        .text(step.appliedAt), .integer(Int64(step.milliseconds)), .text(step.app), .text(record.tool),
        .text(step.engine),
      ])
  }

  /// Replaces the name and content of a step's row. Time, kind and program of the run stay.
  func rewrite(_ number: Int, _ step: AppliedStep, modelHash: String) throws {
    try connection.execute(
      "UPDATE vault_migrations SET name = ?, checksum = ?, model_hash = ?, text = ?, down = ? WHERE version = ?",
      [
        .text(step.name), .text(step.checksum), .text(modelHash), .text(step.text),
        step.down.map { .text($0) } ?? .null, .integer(Int64(number)),
      ])
  }

  /// Deletes the row of a step. Its copy is in `vault_undone`.
  func remove(_ number: Int) throws {
    try connection.execute("DELETE FROM vault_migrations WHERE version = ?", [.integer(Int64(number))])
  }
}
