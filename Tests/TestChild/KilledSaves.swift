// Saves of a microblog that the testing library kills.

import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting

/// Saves what `kind` says, until it is killed: `one` save, or `two` that belong together.
func saveUntilKilled(_ kind: String) async throws {
  try await KilledProgram.run(microblog, migrations: MicroblogMigrations.all) { store in
    switch kind {
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
