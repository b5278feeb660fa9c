// The tool of the tutorial's app, at the version in `NOTES_VERSION`: a developer would rebuild it, and the
// test of the page sets the variable. `notes-migrate add TITLE…` is the use of the app between versions.

import CipherSQLite
import Foundation
import ObjectVault
import StoreMigrateKit

@main struct Tool {
  static let schemas = [Version1.schema, Version2.schema, Version3.schema, Version4.schema]

  static func main() async throws {
    let environment = ProcessInfo.processInfo.environment
    let version = environment["NOTES_VERSION"].flatMap { Int($0) } ?? 1
    guard schemas.indices.contains(version - 1) else { return }
    if CommandLine.arguments.dropFirst().first == "add" {
      try await add(CommandLine.arguments.dropFirst(2), environment["STORE_MIGRATE_KEY"] ?? "")
    } else {
      await StoreMigrate.main(model: schemas[version - 1])
    }
  }

  /// The app at its first version, with the steps in its folder.
  private static func add(_ titles: ArraySlice<String>, _ passphrase: String) async throws {
    let store = try await Store.open(
      at: URL(fileURLWithPath: "notes.store"), key: .passphrase(passphrase), schema: Version1.schema,
      migrations: .directory(URL(fileURLWithPath: "Migrations")))
    try await store.write { context in
      for title in titles {
        context.insert(Version1.Note.self) {
          $0.title = title
          $0.body = "About \(title)"
          $0.createdAt = Date(timeIntervalSinceReferenceDate: 0)
        }
      }
    }
    store.close()
  }
}
