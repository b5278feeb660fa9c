// The package's own migration files: from every version to the last, with rows in every table.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite struct MicroblogHistory {
  static let set = Result { try MigrationSet.embedded(MicroblogMigrations.steps) }

  @Test func `the model of the last step is the one that the classes declare`() throws {
    let set = try Self.set.get()
    #expect(try set.model(at: set.version) == microblog)
  }

  @Test func `the lines for a schema mismatch rename a property whose class declares its former name`()
    async throws
  {
    let folder = try TemporaryFolder()
    let older = try MigrationSet(Array(Self.set.get().steps.prefix(4)))
    let error = await #expect(throws: StoreError.self) {
      _ = try await Store.open(
        at: folder.url.appendingPathComponent("a.store"), key: testKey, schema: microblog,
        migrations: .set(older))
    }
    guard case .schemaMismatch(_, let lines)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(lines.contains("rename attribute User.town -> city"))
    #expect(!lines.contains { $0.hasPrefix("drop attribute User.town") })
  }

  @Test(arguments: 1..<6)
  func `a migrated store of any earlier version keeps its rows, relationships and cascades`(_ version: Int)
    async throws
  {
    let set = try Self.set.get()
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("old.store")
    let older = try MigrationSet(Array(set.steps.prefix(version)))
    try await Store.create(at: url, key: testKey, migrations: older)
    let connection = try Connection.open(url.path, key: testKey)
    let model = try set.model(at: version)
    try connection.execute("INSERT INTO User(id, name) VALUES (1, 'Binger'), (2, 'Lily')")
    if model.entity(named: "User")?.attribute(named: "screenName") != nil {
      try connection.execute("UPDATE User SET screenName = name || '!'")
    }
    for name in ["town", "city"] where model.entity(named: "User")?.attribute(named: name) != nil {
      try connection.execute(sql: "UPDATE User SET \(name) = '北京'")
    }
    try connection.execute(
      "INSERT INTO Status(id, text, createdAt, user_id) VALUES (1, 'a', 1.5, 1), (2, 'b', 2, 1), (3, 'c', 3, 2)"
    )
    if model.entity(named: "Tag") != nil {
      try connection.execute("INSERT INTO Tag(id, name) VALUES (1, 'x')")
      try connection.execute("INSERT INTO Status_tags(Status_id, Tag_id) VALUES (1, 1), (3, 1)")
    }
    connection.close()

    let store = try await openMicroblog(url)
    #expect(store.opening.migratedSteps == Array(version + 1...6))
    let context = store.makeContext()
    let binger = try context.fetch(User.self).where("name = 'Binger'").one()
    #expect(binger.statuses.map(\.text).sorted() == ["a", "b"])
    #expect(binger.screenName == (version >= 2 ? "Binger!" : "Binger"))
    #expect(binger.city == (version >= 3 ? "北京" : nil))
    if version >= 4 {
      #expect(try context.fetch(Tag.self).one().statuses.map(\.text).sorted() == ["a", "c"])
    }
    context.delete(binger)
    try context.save()
    #expect(try context.fetch(Status.self).all().map(\.text) == ["c"])
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a created store and a migrated one have the same tables`() async throws {
    let set = try Self.set.get()
    let folder = try TemporaryFolder()
    let (new, old) = (folder.url.appendingPathComponent("new"), folder.url.appendingPathComponent("old"))
    try await Store.create(at: new, key: testKey, migrations: set)
    try await Store.create(at: old, key: testKey, migrations: MigrationSet(Array(set.steps.prefix(1))))
    _ = try await Store.migrate(at: old, key: testKey, migrations: set)
    let hashes = try [new, old].map { url in
      try Connection.open(url.path, key: testKey).value(
        "SELECT value FROM vault_meta WHERE key = 'physicalHash'")
    }
    #expect(hashes[0] == hashes[1] && hashes[0] != nil)
  }

  @Test func `history conflicts and newer stores give different errors`() async throws {
    let set = try Self.set.get()
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(at: url, key: testKey, migrations: set)
    func plan(_ steps: [MigrationStep]) async throws -> MigrationPlan {
      try await Store.plan(at: url, key: testKey, migrations: MigrationSet(steps))
    }
    #expect(try await plan(set.steps).isUpToDate)
    await #expect {
      _ = try await plan(Array(set.steps.prefix(4)))
    } throws: { error in
      guard case StoreError.storeIsNewer(_, 6, 4, _, true) = error else { return false }
      return true
    }
    var edited = set.steps
    edited[2] = try MigrationStep(
      number: 3, name: "town", text: "format: 1\n[up]\nadd attribute User.town string optional\n")
    await #expect {
      _ = try await plan(edited)
    } throws: { error in
      guard case StoreError.historyConflict(.edited(3, "town", _, _, let difference)) = error else {
        return false
      }
      return difference == [
        "- add attribute User.town string optional indexed", "+ add attribute User.town string optional",
      ]
    }
    var swapped = set.steps
    swapped[2] = try MigrationStep(number: 3, name: "tags", text: set.steps[3].text)
    swapped[3] = try MigrationStep(number: 4, name: "town", text: set.steps[2].text)
    await #expect(throws: StoreError.historyConflict(.reordered(number: 3, applied: "town", found: "tags"))) {
      _ = try await plan(swapped)
    }
  }

  @Test func `a plan changes no byte and creates no file`() async throws {
    let set = try Self.set.get()
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(at: url, key: testKey, migrations: MigrationSet(Array(set.steps.prefix(2))))
    let before = try folder.bytes("a.store")
    let plan = try await Store.plan(at: url, key: testKey, migrations: set)
    #expect(plan.steps.map(\.number) == [3, 4, 5, 6] && plan.storeVersion == 2)
    #expect(try folder.bytes("a.store") == before && folder.names == ["a.store"])
  }

  @Test func `classes that differ from the steps are refused with a list of the differences`() async throws {
    let folder = try TemporaryFolder()
    let steps = try MigrationSet([
      MigrationStep(
        number: 1, name: "a", text: "format: 1\n[up]\ncreate entity Genre {\nattribute name int unique\n}\n")
    ])
    let schema = Schema { Entity(Genre.self) }
    await #expect(throws: (any Error).self) {
      _ = try await Store.open(
        at: folder.url.appendingPathComponent("x"), key: testKey, schema: schema, migrations: .set(steps))
    }
    let tags = Schema { Entity(Language.self) }
    await #expect {
      _ = try await Store.open(
        at: folder.url.appendingPathComponent("x"), key: testKey, schema: tags, migrations: .set(steps))
    } throws: { error in
      guard case StoreError.schemaMismatch(let differences, let lines) = error else { return false }
      // A step with these lines resolves the mismatch.
      let step = try MigrationStep(
        number: 2, name: "b", text: "format: 1\n[up]\n" + lines.joined(separator: "\n"))
      let agrees = try MigrationSet(steps.steps + [step]).model(at: 2) == tags
      return agrees
        && differences == ["Language is missing in the steps", "Genre is missing in the Swift schema"]
    }
    #expect(folder.names.isEmpty)
  }

  @Test func `a new store runs each seed with the model of the seed's own step`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let texts = [
      "create entity A {\n attribute n string\n}\nseed { INSERT INTO $A($A.n) VALUES ('one') }",
      "rename attribute A.n -> m",
      "seed { INSERT INTO $A($A.m) VALUES ('two') }",
    ]
    let set = try MigrationSet(
      texts.enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0)", text: "format: 1\n[up]\n\($1)")
      })
    try await Store.create(at: url, key: testKey, migrations: set)
    let connection = try Connection.open(url.path, key: testKey)
    #expect(try connection.rows("SELECT m FROM A ORDER BY id") == [["one"], ["two"]])
    #expect(try connection.value("SELECT last FROM vault_ids WHERE entity = 'A'") == 2)
  }

  @Test func `a cancelled migration leaves the old version`() async throws {
    let set = try Self.set.get()
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(at: url, key: testKey, migrations: MigrationSet(Array(set.steps.prefix(1))))
    let progress = Progress(totalUnitCount: 1)
    progress.cancel()
    await #expect(throws: CancellationError.self) {
      _ = try await Store.migrate(at: url, key: testKey, migrations: set, progress: progress)
    }
    #expect(try Connection.open(url.path, key: testKey).userVersion() == 1)
  }

  @Test func `an open store that was migrated elsewhere refuses writes`() async throws {
    let folder = try TemporaryFolder()
    let store = try await openMicroblog(folder.url.appendingPathComponent("a.store"))
    let set = try Self.set.get()
    let more = try MigrationStep(
      number: 7, name: "more", text: "format: 1\n[up]\nadd attribute User.mail string optional\n")
    _ = try await Store.migrate(at: store.url, key: testKey, migrations: MigrationSet(set.steps + [more]))
    await #expect(throws: StoreError.storeMigratedElsewhere(file: store.url.path)) {
      try await store.write { context in _ = context.insert(User.self) { $0.name = "x" } }
    }
  }
}
