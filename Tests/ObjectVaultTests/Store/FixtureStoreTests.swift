// Stores that releases have written under either engine. Every later version reads them, works with them,
// and runs its steps on them. `make fixtures` makes those of a release that is not out yet.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FixtureStores {
  static let isMaking = ProcessInfo.processInfo.environment["VAULT_FIXTURES"] != nil
  /// The fixtures that this engine reads: an older engine cannot read what a newer one wrote.
  static let readable = [3, 4].filter { $0 <= Engine.current.cipherMajor }

  private let folder: TemporaryFolder
  private let url: URL

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("pictures.store")
  }

  private func open(_ migrations: Store.Migrations = .directory(Fixture.steps)) async throws -> Store {
    try await Store.open(at: url, key: Fixture.key, schema: Fixture.schema, migrations: migrations)
  }

  private func expectGraph(_ found: [String]) {
    #expect(found.count == Fixture.expected.count)
    for (line, expected) in zip(found, Fixture.expected) { #expect(line == expected) }
  }

  @Test(.enabled(if: isMaking, "make fixtures writes them"))
  func `make fixtures writes the store of this engine`() async throws {
    let file = Fixture.file(Engine.current.cipherMajor)
    let store = try await open()
    try await store.write { Fixture.fill($0) }
    store.close()
    #expect(folder.names == ["pictures.store"])
    try? FileManager.default.removeItem(at: file)
    try FileManager.default.copyItem(at: url, to: file)
  }

  @Test(.enabled(if: !isMaking), arguments: readable)
  func `classes find the content of a released store, and can change it`(_ major: Int) async throws {
    try FileManager.default.copyItem(at: Fixture.file(major), to: url)
    let store = try await open()
    #expect(!store.opening.isNew && store.opening.migratedSteps.isEmpty && store.opening.version == 2)
    expectGraph(try await store.read { try Fixture.graph($0) })
    #expect(try await store.verify().isEmpty)
    try await store.write { context in
      let painter = try context.fetch(Painter.self).where("name == '吳道子'").one()
      let painting = context.insert(Painting.self) { Fixture.fillPlainly($0, title: "new", painter: painter) }
      // The ids that were issued before are known.
      try context.save()
      #expect(painting.id.rowID == 3)
      painting.add(try context.fetch(Motif.self).where("name == 'horse'").one(), to: \.motifs)
    }
    let titles = try await store.read { context in
      try context.fetch(Painting.self).where("ANY motifs.name == 'horse'").sorted(by: \.id).all().map(\.title)
    }
    #expect(titles.count == 3 && titles.last == "new")
    #expect(try await store.verify().isEmpty)
    store.close()
  }

  @Test(.enabled(if: !isMaking), arguments: readable)
  func `without classes a released store has the same content, and can be changed`(_ major: Int) async throws
  {
    try FileManager.default.copyItem(at: Fixture.file(major), to: url)
    let store = try await Store.open(at: url, key: Fixture.key)
    #expect(store.opening.cipher.hash == (major == 3 ? .sha1 : .sha512))
    expectGraph(try await store.read { try Fixture.graph(byNames: $0) })
    try await store.write { context in
      context.delete(try context.fetch(entity: "Painter").where("name == '吳道子'").one())
    }
    let left = try await store.read { context in
      try ["Painter", "Painting", "Motif"].map { try context.fetch(entity: $0).count() }
    }
    // The cascade has deleted its painting.
    #expect(left == [1, 1, 2])
    #expect(try await store.verify().isEmpty)
    store.close()
  }

  @Test(.enabled(if: !isMaking), arguments: readable)
  func `a later step runs on a released store and keeps its rows`(_ major: Int) async throws {
    try FileManager.default.copyItem(at: Fixture.file(major), to: url)
    let steps = try MigrationSet.directory(Fixture.steps).steps
    let set = try MigrationSet(
      steps + [
        MigrationStep(
          number: 3, name: "later",
          text:
            "format: 1\n[up]\nadd attribute Painter.city string optional\nretype Painting.int16 to int32\n"
        )
      ])
    #expect(try await Store.migrate(at: url, key: Fixture.key, migrations: set).steps == [3])
    let store = try await Store.open(at: url, key: Fixture.key)
    #expect(try await store.read { try $0.fetch(entity: "Painting").where("int16 == 32767").count() } == 1)
    #expect(try await store.verify().isEmpty)
    store.close()
  }

  @Test(.enabled(if: !isMaking && Engine.current.cipherMajor == 3, "SQLCipher 4 reads both"))
  func `an engine that is too old for a store reports that the key fits, and what it lacks`() async throws {
    try FileManager.default.copyItem(at: Fixture.file(4), to: url)
    let before = try folder.bytes("pictures.store")
    for isByItsModel in [true, false] {
      do {
        _ = try await isByItsModel ? Store.open(at: url, key: Fixture.key) : open()
        Issue.record("the store was opened")
      } catch let error as SQLError {
        #expect(
          "\(error)".contains(
            "the key is right, but the file has the cipher settings page 4096, HMAC-SHA512"),
          "\(error)")
        #expect("\(error)".contains("Open it with an engine that supports them."))
      }
    }
    #expect(try folder.bytes("pictures.store") == before && folder.names == ["pictures.store"])
  }

  @Test(.enabled(if: !isMaking), arguments: readable)
  func `a released store without down steps is rolled back by files, and then by its own steps`(_ major: Int)
    async throws
  {
    try FileManager.default.copyItem(at: Fixture.file(major), to: url)
    let set = try MigrationSet.directory(Fixture.steps)
    let losses: Set<String> = ["Motif", "Painting.motifs", "Painting.note"]
    let connection = try Connection.open(url.path, key: Fixture.key)
    try connection.execute("UPDATE vault_migrations SET down = NULL")
    connection.close()
    do {
      try await Store.downgrade(
        at: url, key: Fixture.key, to: 1, migrations: set.upTo(1), allowing: losses)
      Issue.record("the step was rolled back")
    } catch StoreError.cannotRollBack(2, "motifs", let reason) {
      #expect(reason.contains("an earlier release"))
    }
    for _ in 0..<2 {
      let plan = try await Store.planDowngrade(at: url, key: Fixture.key, to: 1, migrations: set)
      #expect(losses.isSuperset(of: plan.unallowedLosses))
      try await Store.downgrade(
        at: url, key: Fixture.key, to: 1, migrations: set, makesBackups: false, allowing: losses)
      let store = try await Store.open(at: url, key: Fixture.key)
      #expect(store.opening.version == 1)
      #expect(try await store.read { try $0.fetch(entity: "Painting").where("painter != nil").count() } > 0)
      #expect(try await store.verify().isEmpty)
      store.close()
      try await Store.migrate(at: url, key: Fixture.key, migrations: set)
    }
    let outcome = try await Store.downgrade(
      at: url, key: Fixture.key, to: 1, migrations: set.upTo(1), makesBackups: false, allowing: losses)
    #expect(outcome.takenBack == [2])
    try await Store.migrate(at: url, key: Fixture.key, migrations: set)
    let store = try await open()
    #expect(try await store.verify().isEmpty)
    store.close()
  }
}
