// Classes in which a one-to-one has its column at the other end than in the store. No store may use a
// column that does not exist.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private enum Led {
  final class Team: ManagedObject {
    @Attribute var name: String
    @ToOne var captain: User?
  }
  final class User: ManagedObject {
    @Attribute var name: String
    @ToOne(inverse: \Team.captain) var leads: Team?
  }
}

private enum Turned {
  final class Team: ManagedObject {
    @Attribute var name: String
    @ToOne(inverse: \User.leads) var captain: User?
  }
  final class User: ManagedObject {
    @Attribute var name: String
    @ToOne var leads: Team?
  }
}

@Suite struct TurnedPairs {
  private let folder: TemporaryFolder
  private var url: URL { folder.url.appendingPathComponent("teams.store") }
  private let former = Schema {
    Entity(Led.Team.self)
    Entity(Led.User.self)
  }
  private let turned = Schema {
    Entity(Turned.Team.self)
    Entity(Turned.User.self)
  }

  init() throws { folder = try TemporaryFolder() }

  private func fill(_ migrations: Store.Migrations) async throws {
    let store = try await Store.open(at: url, key: testKey, schema: former, migrations: migrations)
    defer { store.close() }
    try await store.write { context in
      for name in ["a", "b"] {
        let team = context.insert(Led.Team.self) { $0.name = name }
        team.captain = context.insert(Led.User.self) { $0.name = "captain of \(name)" }
      }
    }
  }

  @Test func `the automatic step moves the column of a one-to-one to the other end, with all links`()
    async throws
  {
    try await fill(.automatic)
    let store = try await Store.open(at: url, key: testKey, schema: turned, migrations: .automatic)
    defer { store.close() }
    #expect(store.opening.automaticStep != nil)
    try await store.read { context in
      for team in try context.fetch(Turned.Team.self).all() {
        #expect(team.captain?.name == "captain of \(team.name)" && team.captain?.leads === team)
      }
      #expect(try context.fetch(Turned.User.self).where("leads.name == 'a'").count() == 1)
    }
  }

  @Test func `steps with the column at the other end are reported as those of other classes`() async throws {
    let steps = try MigrationSet([
      MigrationStep(
        number: 1, name: "teams",
        text: "format: 1\n[up]\n\(former.creation.map(\.description).joined(separator: "\n"))\n")
    ])
    try await fill(.set(steps))
    await #expect {
      _ = try await Store.open(at: url, key: testKey, schema: turned, migrations: .set(steps))
    } throws: { "\($0)".contains("captain") }
    // The store is as it was, and opens with the classes that made it.
    let store = try await Store.open(at: url, key: testKey, schema: former, migrations: .set(steps))
    #expect(try await store.read { try $0.fetch(Led.User.self).where("leads.name == 'b'").count() } == 1)
    store.close()
  }
}
