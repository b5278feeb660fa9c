// Stores for tests: each in a folder of its own, encrypted with a raw key, which takes no time.

public import CipherSQLite
public import Foundation
import Microblog
import Migrations
public import ObjectVault

/// The key of all test stores.
public let testKey = Key.raw([UInt8](repeating: 0x5A, count: 32))

/// Opens or creates a microblog with the steps of the package.
public func openMicroblog(_ url: URL, key: Key = testKey) async throws -> Store {
  try await Store.open(at: url, key: key, schema: microblog, migrations: MicroblogMigrations.all)
}

/// A store in a temporary folder, both gone when the value is.
public final class TemporaryStore: Sendable {
  /// The folder that holds it.
  public let folder: TemporaryFolder
  /// The open store.
  public let store: Store

  /// Makes it.
  public init(_ schema: Schema, key: Key = testKey) async throws {
    folder = try TemporaryFolder()
    store = try await Store.open(
      at: folder.url.appendingPathComponent("test.store"), key: key, schema: schema,
      migrations: .creatingSchema)
  }

  deinit { store.close() }

  /// A second store on the same file, as another process would have it.
  public func again() async throws -> Store {
    try await Store.open(at: store.url, key: testKey, schema: store.schema, migrations: .creatingSchema)
  }
}
