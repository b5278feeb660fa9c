// Files as other programs make them, for the tests of the import.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import VaultAuthoring

/// A folder with a plain file, made by SQL, and the store that it is imported into.
struct AdoptionLab {
  let folder: TemporaryFolder
  var file: URL { folder.url.appendingPathComponent("legacy.db") }
  var store: URL { folder.url.appendingPathComponent("new.store") }

  /// - Parameter sql: The SQL that makes the file.
  init(_ sql: String) throws {
    folder = try TemporaryFolder()
    let path = folder.path("made")
    _ = try Connection.create(path, key: testKey) { connection in
      try connection.executeScript("PRAGMA foreign_keys = OFF")
      try connection.executeScript(sql)
    }
    let connection = try Connection.open(path, key: testKey)
    try connection.exportPlaintext(to: file.path)
    connection.close()
    try FileManager.default.removeItem(atPath: path)
  }

  func plan(_ relationships: [String: String] = [:]) async throws -> Adoption {
    try await Store.planAdoption(of: file, key: nil, relationships: relationships)
  }

  /// Imports the rows, by the step that is derived from the file's tables or by another one.
  @discardableResult
  func adopt(
    _ step: String? = nil, allowing losses: Set<String> = [], relationships: [String: String] = [:]
  ) async throws -> Adoption {
    let own = try await plan(relationships).step
    let set = try MigrationSet([
      step.map { try MigrationStep(number: 1, name: "adopted", text: "format: 1\n[up]\n\($0)\n") } ?? own
    ])
    return try await Store.adopt(
      file, fileKey: nil, into: store, key: testKey, migrations: set, relationships: relationships,
      allowing: losses)
  }

  /// Queries the new store, after all of it was checked.
  func rows(_ sql: String) throws -> [[SQLValue]] {
    _ = try StoreImage(store)
    let connection = try Connection.open(store.path, key: testKey)
    defer { connection.close() }
    return try connection.rows(sql: sql)
  }
}
