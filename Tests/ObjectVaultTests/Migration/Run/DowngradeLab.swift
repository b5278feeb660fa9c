// Helpers of the downgrade tests: rows with difficult values, and the comparable content of a store.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

/// The content of a store that must be equal after a step and its rollback.
struct StoreImage: Equatable, CustomStringConvertible {
  /// The hash of the tables, which does not depend on the order of their columns.
  let physicalHash: SQLValue?
  /// The model.
  let model: SQLValue?
  /// The rows of all tables, one line each.
  let rows: [String]

  /// Reads the store; throws when it is not sound.
  init(_ url: URL) throws {
    struct Unsound: Error, CustomStringConvertible { let description: String }
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let info = try StoreInfo(connection)
    let faults =
      try connection.findings() + info.drift(connection) + info.valueFindings(connection)
      + info.referenceFindings(connection)
    guard faults.isEmpty else { throw Unsound(description: faults.joined(separator: "; ")) }
    physicalHash = try connection.value("SELECT value FROM vault_meta WHERE key = 'physicalHash'")
    model = try connection.value("SELECT value FROM vault_meta WHERE key = 'modelJSON'")
    rows = try connection.tableNames().filter { !$0.hasPrefix("vault_") }.sorted().flatMap { table in
      let columns = try connection.tableInfo(table).columns.map(\.name).sorted()
      let values = columns.map { "'\($0)=' || quote(\"\($0)\")" }.joined(separator: " || ' ' || ")
      return try connection.rows(sql: "SELECT '\(table) ' || \(values) FROM \"\(table)\" ORDER BY 1")
        .map { $0[0].string ?? "" }
    }
  }

  var description: String { "\(model ?? .null)\n\(rows.prefix(6).joined(separator: "\n"))" }
}

/// Rows for the model of `WaysBack`.
enum GeneratedRows {
  private static let texts = [
    "", "a", "it''s \"quoted\"", "陳大文", "🏳️‍🌈", "NULL", " x ", "line' || char(10) || 'end",
  ]
  private static let numbers = [
    "0", "-1", "9223372036854775807", "-9223372036854775808", "1024", "7", "3", "-32768",
  ]

  /// Statements that insert rows.
  /// - Parameter isSparse: Whether some optional values are missing and some values occur twice.
  static func statements(isSparse: Bool) -> [String] {
    (0..<8).map { "INSERT INTO V(id, n) VALUES (\($0 * 5 + 1), 'v\($0) \(texts[$0])')" }
      + (0..<40).map { index in
        let isThere = !isSparse || index % 3 != 0
        return
          "INSERT INTO U(id, s, small, x, y, r_id) VALUES (\(index * 7 + 2), '\(isSparse ? "" : "\(index) ")\(texts[index % 8])', "
          + "\(index % 2 == 0 ? "32767" : "-32768"), "
          + "\(isThere ? (isSparse ? numbers[index % 8] : "\(index)") : "NULL"), \(numbers[index / 5]), "
          + "\(isThere ? "\(index % 8 * 5 + 1)" : "NULL"))"
      }
      + (0..<40).flatMap { index in
        [0, 3, 5].prefix(index % 4).map { offset in
          "INSERT INTO U_tags(U_id, V_id) VALUES (\(index * 7 + 2), \((index + offset) % 8 * 5 + 1))"
        }
      }
  }
}

/// A store in a folder of its own, which is migrated up and down.
struct DowngradeLab {
  let folder: TemporaryFolder
  let set: MigrationSet
  var url: URL { folder.url.appendingPathComponent("lab.store") }

  /// - Parameter steps: The text after the line `format: 1` of each step.
  init(_ steps: [String], at version: Int = 1, fill: [String] = []) async throws {
    try await self.init(Self.set(steps), at: version, fill: fill)
  }

  init(_ set: MigrationSet, at version: Int = 1, fill: [String] = []) async throws {
    folder = try TemporaryFolder()
    self.set = set
    try await Store.create(at: url, key: testKey, migrations: set.upTo(version))
    let connection = try open()
    defer { connection.close() }
    for sql in fill { try connection.execute(sql: sql) }
  }

  static func set(_ steps: [String]) throws -> MigrationSet {
    try MigrationSet(
      steps.enumerated().map { index, text in
        let text = text.contains("[up]") ? text : "[up]\n\(text)"
        return try MigrationStep(number: index + 1, name: "s\(index + 1)", text: "format: 1\n\(text)\n")
      })
  }

  func open() throws -> Connection {
    let connection = try Connection.open(url.path, key: testKey)
    try StoreInfo.prepare(connection)
    return connection
  }

  func rows(_ sql: String) throws -> [[SQLValue]] {
    let connection = try open()
    defer { connection.close() }
    return try connection.rows(sql: sql)
  }

  func run(_ sql: String) throws {
    let connection = try open()
    defer { connection.close() }
    try connection.executeScript(sql)
  }

  var image: StoreImage { get throws { try StoreImage(url) } }
  var version: Int { get throws { Int(try rows("PRAGMA user_version")[0][0].int64 ?? -1) } }

  @discardableResult
  func up(_ version: Int? = nil, allowing losses: Set<String> = []) async throws -> MigrationOutcome {
    let steps = try version.map { try set.upTo($0) } ?? set
    return try await Store.migrate(
      at: url, key: testKey, migrations: steps, makesBackups: false, allowing: losses)
  }

  /// Rolls back to a version, and allows all losses.
  @discardableResult
  func down(_ version: Int, _ steps: MigrationSet? = nil) async throws -> MigrationOutcome {
    let plan = try await Store.planDowngrade(at: url, key: testKey, to: version, migrations: steps ?? set)
    return try await Store.downgrade(
      at: url, key: testKey, to: version, migrations: steps ?? set, makesBackups: false,
      allowing: Set(plan.unallowedLosses))
  }
}
