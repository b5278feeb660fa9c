// A store whose small writes share transactions, until the process is killed.

import Foundation
import ObjectVault
import TestSupport

/// Enqueues writes of numbered rows, and acknowledges each flush, which follows 37 of them.
func enqueueWrites(_ url: URL) async throws {
  var configuration = Store.Configuration()
  (configuration.enqueueInterval, configuration.enqueueLimit) = (3600, 1_000_000)
  let store = try await Store.open(at: url, key: testKey, configuration: configuration)
  let first = try await store.read { try $0.fetch(entity: "Memo").count() }
  acknowledge("begin")
  for number in first..<1_000_000 {
    try await store.enqueue { context in _ = try context.insert(entity: "Memo") { $0["pages"] = number } }
    guard (number + 1) % 37 == 0 else { continue }
    try await store.flush()
    acknowledge("flushed")
  }
}
