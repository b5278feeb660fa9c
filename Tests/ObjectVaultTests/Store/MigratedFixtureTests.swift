// Stores that were made and migrated under either engine, up and down. The other engine opens them, finds
// the same chain of models, and migrates them further. `make fixtures` makes those of a release that is
// not out yet.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct MigratedFixtureStores {
  private static let folder = packageRoot.appendingPathComponent("Tests/Fixtures/stores/migrated")
  private static func file(_ major: Int) -> URL {
    folder.appendingPathComponent("sqlcipher\(major).sqlcipher")
  }
  /// The fixtures that this engine reads. A missing fixture fails its tests, because it may have been
  /// lost.
  private static let readable = FixtureStores.readable
  private static let losses: Set = ["Reader.town", "Loan.note"]

  private let temporary: TemporaryFolder
  private let url: URL
  /// Five steps, of which a fixture has four.
  private let set: MigrationSet

  init() throws {
    temporary = try TemporaryFolder()
    url = temporary.url.appendingPathComponent("library.store")
    set = try .directory(Self.folder.appendingPathComponent("Steps"))
  }

  /// Makes a store at version 1, migrates it to 3, rolls it back to 2, and migrates it to 4.
  private func make() async throws {
    try await Store.create(at: url, key: testKey, migrations: set.upTo(1))
    let connection = try Connection.open(url.path, key: testKey)
    try connection.executeScript(
      """
      INSERT INTO Book(id, title, pages) VALUES (1, '紅樓夢', 2400), (2, 'Emma', NULL);
      INSERT INTO Reader(id, name) VALUES (1, 'Ann'), (2, 'Zoë');
      INSERT INTO Loan(id, since, book_id, reader_id) VALUES (1, 800000000.5, 1, 2), (2, 800000060, 2, 2);
      """)
    connection.close()
    try await Store.migrate(at: url, key: testKey, migrations: set.upTo(3), makesBackups: false)
    try await Store.downgrade(
      at: url, key: testKey, to: 2, migrations: set, makesBackups: false, allowing: Self.losses)
    try await Store.migrate(at: url, key: testKey, migrations: set.upTo(4), makesBackups: false)
  }

  private func chain(_ url: URL) throws -> [[SQLValue]] {
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    return try connection.rows(
      "SELECT version, checksum, model_hash, text, down FROM vault_migrations ORDER BY version")
      + connection.rows(
        "SELECT key, value FROM vault_meta WHERE key IN ('version', 'modelHash', 'modelJSON', 'physicalHash', 'minReader', 'generation', 'format', 'standing') ORDER BY key"
      )
  }

  private func loans(_ store: Store, _ entity: String = "Loan") async throws -> [String] {
    try await store.read { context in
      try context.fetch(entity: entity).sorted(byPath: "id").all().map { loan in
        guard let reader = loan[toOne: "reader"] else { return "-" }
        return reader["name"]
      }
    }
  }

  @Test(.enabled(if: FixtureStores.isMaking, "make fixtures writes them"))
  func `make fixtures writes the migrated store of this engine`() async throws {
    try await make()
    let file = Self.file(Engine.current.cipherMajor)
    try? FileManager.default.removeItem(at: file)
    try FileManager.default.copyItem(at: url, to: file)
  }

  @Test(.enabled(if: !FixtureStores.isMaking), arguments: readable)
  func `15: a store migrated under one engine matches and is migrated further under the other`(_ major: Int)
    async throws
  {
    try FileManager.default.copyItem(at: Self.file(major), to: url)
    let plan = try await Store.plan(at: url, key: testKey, migrations: set)
    #expect(plan.storeVersion == 4 && plan.drift.isEmpty && plan.steps.map(\.number) == [5])
    let before = try await Store.open(at: url, key: testKey)
    #expect(try await loans(before) == ["Zoë", "Zoë"])
    #expect(try await before.verify().isEmpty)
    before.close()
    #expect(try await Store.migrate(at: url, key: testKey, migrations: set).steps == [5])
    let after = try await Store.open(at: url, key: testKey)
    #expect(try await loans(after, "Lending") == ["Zoë", "Zoë"])
    #expect(try await after.verify().isEmpty)
    after.close()
    // The store is rolled back by its own down steps, some of them from the other engine.
    try await Store.downgrade(
      at: url, key: testKey, to: 1, migrations: MigrationSet([]), allowing: Self.losses)
    let first = try await Store.open(at: url, key: testKey)
    #expect(try await loans(first) == ["Zoë", "Zoë"])
    #expect(try await first.verify().isEmpty)
    first.close()
  }

  @Test(.enabled(if: !FixtureStores.isMaking), arguments: readable)
  func `the chain of models, steps and down steps is the same on either engine`(_ major: Int) async throws {
    try await make()
    try FileManager.default.copyItem(
      at: Self.file(major), to: temporary.url.appendingPathComponent("fixture.store"))
    #expect(try chain(url) == chain(temporary.url.appendingPathComponent("fixture.store")))
  }
}
