// Saves of a microblog that the testing library kills.

import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting

/// Saves what `kind` names, until the process is killed: `one` save, or `two` that belong together; a
/// `large` one that exceeds the cache, and writes pages twice; or `endless`, which saves nothing and does
/// not end.
func saveUntilKilled(_ kind: String) async throws {
  var configuration = Store.Configuration()
  if kind == "large" { configuration.cacheSize = 64 << 10 }
  try await KilledProgram.run(
    microblog, migrations: MicroblogMigrations.all, configuration: configuration
  ) { store in
    switch kind {
    case "large": try await insertTwice(store)
    case "endless": try await Task.sleep(for: .seconds(600))
    case "one": try await insert("Ada", store)
    case "two":
      try await insert("Ada", store)
      try await insert("Bo", store)
    default: throw CocoaError(.featureUnsupported)
    }
  }
}

private func insert(_ name: String, _ store: Store) async throws {
  try await store.write { context in
    let user = context.insert(User.self) { $0.name = name }
    for number in 0..<30 {
      context.insert(Status.self) {
        $0.text = "\(number) " + String(repeating: "text ", count: 400)
        $0.createdAt = .now
        $0.user = user
      }
    }
  }
}

/// One transaction whose second half changes pages that are in the log already.
private func insertTwice(_ store: Store) async throws {
  try await store.write { context in
    let users = (0..<200).map { number in
      context.insert(User.self) { $0.name = "user \(number) " + String(repeating: "a", count: 1_000) }
    }
    try context.save()
    for user in users { user.name += "b" }
  }
}
