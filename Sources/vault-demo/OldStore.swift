// The classes of the first release, which make a store of version 1.

import CipherSQLite
import Foundation
import ObjectVault

/// The model of version 1. The classes have the names of the entities, so they need a namespace of their
/// own.
enum OldStore {
  final class User: ManagedObject {
    @Attribute(.unique) var name: String
    @ToMany(inverse: \Status.user, onDelete: .cascade) var statuses: Set<Status>
  }

  final class Status: ManagedObject {
    @Attribute var text: String
    @Attribute(.indexed) var createdAt: Date
    @ToOne var user: User?
  }

  static func create(at url: URL, key: Key, migrations: MigrationSet) async throws {
    let schema = Schema {
      Entity(User.self)
      Entity(Status.self)
    }
    let store = try await Store.open(at: url, key: key, schema: schema, migrations: .set(migrations))
    let texts = [
      "Binger": ["The Watch is out", "Reading all day"], "Xiaona": ["Is a Watch a phone?", "Rain"],
      "Lily": ["Shenzhen soon", "New Watch, old strap"], "Qianmo": ["Hello", "Hello again"],
      "Yanyue": ["Leaving", "Gone tomorrow"],
    ]
    try await store.write { context in
      for name in ["Binger", "Xiaona", "Lily", "Qianmo", "Yanyue"] {
        let user = context.insert(User.self) { $0.name = name }
        for (hour, text) in (texts[name] ?? []).enumerated() {
          context.insert(Status.self) {
            $0.text = text
            $0.createdAt = Date(timeIntervalSinceReferenceDate: 800_000_000 + Double(hour) * 3600)
            $0.user = user
          }
        }
      }
    }
    store.close()
  }
}
