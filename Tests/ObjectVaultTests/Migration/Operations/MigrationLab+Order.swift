// What tests of the order of operations compare: the rows that steps leave in a sound store.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension MigrationLab {
  /// The rows of all tables after the steps of a set, one line each; nil when a step is refused.
  func rows(after set: MigrationSet) async throws -> [String]? {
    let url = folder.url.appendingPathComponent(UUID().uuidString)
    try FileManager.default.copyItem(at: self.url, to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    var losses: Set<String> = []
    do {
      for step in set.steps { losses.formUnion(try set.losses(ofStep: step.number)) }
    } catch StoreError.migrationFailed {
      // The step does not fit the model, whatever the rows are.
      return nil
    }
    do {
      _ = try await Store.migrate(
        at: url, key: testKey, migrations: set, makesBackups: false, allowing: losses)
    } catch StoreError.rowsRefused {
      return nil
    } catch StoreError.migrationFailed(_, _, let operation, let reason) {
      // A step that fits the model can fail by its rows, or by SQL of its author. Any other failure is a
      // fault of the library's own SQL.
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
