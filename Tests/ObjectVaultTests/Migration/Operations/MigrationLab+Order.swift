// What tests of the order of operations compare: the rows that steps leave in a store that is sound.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension MigrationLab {
  /// The rows of all tables, each as a line, behind the steps of a set; nil when one of them refused them.
  func rows(after set: MigrationSet) async throws -> [String]? {
    let url = folder.url.appendingPathComponent(UUID().uuidString)
    try FileManager.default.copyItem(at: self.url, to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    var losses: Set<String> = []
    do {
      for step in set.steps { losses.formUnion(try set.losses(ofStep: step.number)) }
    } catch StoreError.migrationFailed {
      // It does not fit the model, whatever rows there are.
      return nil
    }
    do {
      _ = try await Store.migrate(
        at: url, key: testKey, migrations: set, makesBackups: false, allowing: losses)
    } catch StoreError.rowsRefused {
      return nil
    } catch StoreError.migrationFailed(_, _, let operation, let reason) {
      // What fits the model fails by its rows, or by SQL of its author; else a statement of ours is one that nobody has
      // thought of.
      #expect(
        ["transform sql", "retype ", "require "].contains { operation.contains($0) },
        "\(operation): \(reason)")
      return nil
    }
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let info = try StoreInfo(connection)
    let findings =
      try connection.findings() + info.drift(connection) + info.valueFindings(connection)
      + info.referenceFindings(connection)
    #expect(findings == [], "\(set.steps.dropFirst().map(\.canonicalText))")
    let tables = try connection.tableNames().filter { !$0.hasPrefix("vault_") }.sorted()
    return try tables.flatMap { table in
      let columns = try connection.tableInfo(table).columns.map(\.name).sorted()
      let list = SQL.names(columns.map { SQLName($0) })
      return try connection.rows("SELECT \(list) FROM \(identifier: table)").map { row in
        "\(table): \(zip(columns, row).map { "\($0) \($1)" }.joined(separator: ", "))"
      }.sorted()
    }
  }
}
