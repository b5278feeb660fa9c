// Stores that exist as long as they are open, and stores that are held open while the parent works.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import TestSupport

/// Opens a store in memory and one in the temporary folder, and prints their paths. On a line from the parent
/// it uses both, prints the result, and closes them.
func holdTemporaryStores() async throws {
  let stores = [try await Store.inMemory(schema: microblog), try await Store.temporary(schema: microblog)]
  for store in stores {
    try await store.write { _ = $0.insert(User.self) { $0.name = "Binger" } }
    acknowledge(store.url.path)
  }
  _ = readLine()
  for store in stores {
    try await store.write { _ = $0.insert(User.self) { $0.name = "Lily" } }
    acknowledge("\(try await store.read { try $0.fetch(User.self).count() })")
    store.close()
  }
}

/// Fails to make a temporary store, because its step makes another model than the classes.
func failAtTemporaryStore() async throws {
  let step = try MigrationStep(
    number: 1, name: "s1", text: "format: 1\n[up]\ncreate entity Note {\n attribute text string\n}\n")
  _ = try await Store.temporary(schema: microblog, migrations: .set(MigrationSet([step])))
}

/// Opens a store, prints a line, and keeps the store open until the parent sends a line.
func holdStore(_ url: URL) async throws {
  let store = try await Store.open(at: url, key: testKey)
  acknowledge("open")
  _ = readLine()
  store.close()
}
