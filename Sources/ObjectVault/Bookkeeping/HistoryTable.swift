// vault_migrations: the steps that a store has been through, a row for each. Nobody else writes SQL with its name.

internal import CipherSQLite

/// A step as the store recorded it.
public struct AppliedStep: Sendable, Hashable, Codable {
  /// Its number.
  public let number: Int
  /// Its name.
  public let name: String
  /// `created` for steps that a new store was made with, `baseline` for those that rows of another program stood in the
  /// place of, `migration` for others.
  public let kind: String
  /// The checksum of what was run.
  public let checksum: String
  /// When, as ISO 8601 in UTC.
  public let appliedAt: String
  /// How long it took, in milliseconds.
  public let milliseconds: Int
  /// The program that ran it.
  public let app: String
  /// The engine that ran it.
  public let engine: String
  let text: String
  /// What takes it back, as a `[down]` section has it; nil where an earlier release ran the step and its author said
  /// nothing.
  let down: String?
}

extension AppliedStep {
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
  /// How SQL calls it.
  package static let name = "vault_migrations"
  /// The columns that it has, no others.
  static let columns: Set<String> = [
    "version", "name", "kind", "checksum", "model_hash", "text", "down", "applied_at", "ms", "app", "tool",
    "engine",
  ]

  /// A step, and what is written down beside it.
  struct Record {
    let step: AppliedStep
    /// A digest of what the model means after it.
    let modelHash: String
    /// What ran it.
    let tool: String
  }

  let connection: Connection

  /// Makes the table.
  func create() throws {
    try connection.execute(
      """
      CREATE TABLE vault_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
        checksum TEXT NOT NULL, model_hash TEXT NOT NULL, text TEXT NOT NULL, down TEXT,
        applied_at TEXT NOT NULL, ms INTEGER, app TEXT, tool TEXT, engine TEXT)
      """)
  }

  /// Whether the file has it: only a store does.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// All steps, in their order.
  func steps() throws -> [AppliedStep] {
    try connection.query(
      """
      SELECT version, name, kind, checksum, applied_at, ms, app, engine, text, down FROM vault_migrations
      ORDER BY version
      """
    ) { AppliedStep($0) }
  }

  /// The checksums of all steps, in their order. Reads no text of a step.
  func checksums() throws -> [String] {
    try connection.query("SELECT checksum FROM vault_migrations ORDER BY version") { $0.text(0) ?? "" }
  }

  /// The first and the last number, found at the ends of the table; nil when it has no rows.
  func numbers() throws -> ClosedRange<Int64>? {
    let row = try connection.rows(
      "SELECT (SELECT min(version) FROM vault_migrations), (SELECT max(version) FROM vault_migrations)"
    ).first
    guard let first = row?.first?.int64, let last = row?.last?.int64 else { return nil }
    return first...last
  }

  /// Writes a step down.
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

  /// Writes the row of a step anew: what it is called, and what it did. When it ran, and who ran it, stays.
  func rewrite(_ number: Int, _ step: AppliedStep, modelHash: String) throws {
    try connection.execute(
      "UPDATE vault_migrations SET name = ?, checksum = ?, model_hash = ?, text = ?, down = ? WHERE version = ?",
      [
        .text(step.name), .text(step.checksum), .text(modelHash), .text(step.text),
        step.down.map { .text($0) } ?? .null, .integer(Int64(number)),
      ])
  }

  /// Takes the row of a step away: what happened to it is in `vault_undone`.
  func remove(_ number: Int) throws {
    try connection.execute("DELETE FROM vault_migrations WHERE version = ?", [.integer(Int64(number))])
  }
}
