// Copies of runs that commit each step and are stopped. The copy from before the first step and the newest
// copy stay, and those between them are deleted.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ResumedRunCopies {
  private static let count = 7
  private static let texts =
    ["create entity User {\n attribute name string\n}"]
    + (2...count).map { "backup: always\n[up]\nadd attribute User.a\($0) int default \($0)" }

  /// - Parameter refusing: The number of a step with a condition that fails.
  private func set(refusing: Int? = nil) throws -> MigrationSet {
    try DowngradeLab.set(
      Self.texts.enumerated().map { $0 + 1 == refusing ? "\($1)\nrequire \"something\" { SELECT 0 }" : $1 })
  }

  private func run(_ lab: DowngradeLab, refusing: Int? = nil) async throws -> MigrationOutcome {
    try await Store.migrate(
      at: lab.url, key: testKey, migrations: set(refusing: refusing), commitsEachStep: true)
  }

  private func copies(_ lab: DowngradeLab) -> [String] {
    lab.folder.names.filter { $0.hasSuffix(".backup") }.map {
      String($0.dropFirst("lab.store.".count).prefix(2))
    }
    .sorted()
  }

  private func remembered(_ lab: DowngradeLab) throws -> String {
    try lab.rows("SELECT value FROM vault_meta WHERE key = 'copies'").first?[0].string ?? ""
  }

  @Test func `however often a run is stopped, the copy from before it and the newest one stay`() async throws
  {
    let lab = try await DowngradeLab(set(), at: 1)
    for step in 3...Self.count {
      await #expect(throws: StoreError.self) { try await run(lab, refusing: step) }
      #expect(try lab.version == step - 1)
      #expect(copies(lab) == (step == 3 ? ["v1"] : ["v1", "v\(step - 2)"]), "\(lab.folder.names)")
      #expect(try remembered(lab).hasPrefix("v1-"))
    }
    let outcome = try await run(lab)
    #expect(outcome.steps == [Self.count])
    #expect(copies(lab) == ["v1", "v\(Self.count - 1)"])
    // After a complete run its copies are ordinary ones.
    #expect(try !remembered(lab).contains("first"))
  }

  @Test func `a step that fails repeatedly does not accumulate copies`() async throws {
    let lab = try await DowngradeLab(set(), at: 1)
    for _ in 1...3 { await #expect(throws: StoreError.self) { try await run(lab, refusing: 3) } }
    #expect(try copies(lab) == ["v1"] && lab.version == 2)
  }

  @Test func `the newest copy has the rows that were entered between two runs`() async throws {
    let lab = try await DowngradeLab(set(), at: 1)
    await #expect(throws: StoreError.self) { try await run(lab, refusing: 3) }
    try lab.run("INSERT INTO User(name) VALUES ('entered at 2')")
    let backup = try #require(try await run(lab).backup)
    let copy = try Connection.open(backup.path, key: testKey)
    defer { copy.close() }
    #expect(try copy.rows("SELECT name FROM User") == [["entered at 2"]])
  }

  @Test func `openings between two steps of a run are not counted`() async throws {
    let lab = try await DowngradeLab(set(), at: 1)
    await #expect(throws: StoreError.self) { try await run(lab, refusing: 3) }
    var configuration = Store.Configuration()
    configuration.backupOpenings = 1
    // An app whose steps end at this version.
    for _ in 1...2 {
      let store = try await Store.open(
        at: lab.url, key: testKey, schema: Schema { Entity(AtTwo.User.self) },
        migrations: .set(try set().upTo(2)), configuration: configuration)
      store.close()
    }
    #expect(try copies(lab) == ["v1"] && remembered(lab).hasSuffix(" 0 first"))
  }
}

private enum AtTwo {
  final class User: ManagedObject {
    @Attribute var name: String
    @Attribute var a2: Int = 2
  }
}
