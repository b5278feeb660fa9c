// The lab with correct steps: the microblog's own, and the stores of earlier releases.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

@Suite(.tags(.slow)) struct MicroblogLab {
  /// The second step copies the name to the screen name, and requires that it is not empty.
  static func lab() throws -> MigrationLab {
    var lab = try MigrationLab(MicroblogMigrations.all, model: microblog)
    lab.rules["User.name"] = { $0 != "" }
    return lab
  }

  @Test func `a first migration test has five lines`() async throws {
    let lab = try MigrationLab(MicroblogMigrations.all, model: microblog)
    let old = try await lab.store(at: 3)
    let ada = try old.insert("User", ["name": "Ada Lovelace", "town": "London"])
    let new = try await old.migrate()
    #expect(try new.object(ada)["city"] == "London")
  }

  @Test func `rows, links and values are kept from every version`() async throws {
    try await Self.lab().checkEveryPath()
  }

  @Test func `a created store equals a migrated one`() async throws {
    try await Self.lab().checkCreatedEqualsMigrated()
  }

  @Test func `no step deletes rows by a cascade`() async throws { try await Self.lab().checkCascades() }

  @Test func `steps can be rolled back and run again`() async throws { try await Self.lab().checkUpDownUp() }

  @Test func `a migration is complete or absent wherever it is stopped`() async throws {
    try await Self.lab().checkKilledAnywhere()
  }

  @Test func `other processes wait, get an error, or are refused`() async throws {
    try await Self.lab().checkOtherProcess()
    // Without classes, as a tool migrates.
    try await MigrationLab(.embedded(MicroblogMigrations.steps)).checkOtherProcess(from: 5)
  }

  @Test func `an app that later steps allow to read the store is not refused`() async throws {
    let steps = try MigrationSet.embedded(MicroblogMigrations.steps).steps
    let more = try MigrationStep(
      number: 7, name: "more", text: "format: 1\nreader: 6\n[up]\nadd attribute User.mail string optional\n")
    try await MigrationLab(MigrationSet(steps + [more])).checkOtherProcess(from: 6)
    try await MigrationLab(MigrationSet(steps + [more])).checkOtherProcess(from: 5)
  }

  @Test func `without the rule the step refuses the empty name, and the message names the setting`()
    async throws
  {
    let lab = try MigrationLab(MicroblogMigrations.all, model: microblog)
    let error = await #expect(throws: CheckFailure.self) { try await lab.checkPath(from: 1) }
    let found = try #require(error)
    #expect(found.check == "checkEveryPath" && found.place == "version 1 to 6")
    #expect(
      "\(found)".contains("Step 0002 screen_name failed") && "\(found)".contains("lab.rules[\"User.name\"]"))
  }

  @Test(arguments: [3, 4].filter { $0 <= Engine.current.cipherMajor })
  func `stores of a release are migrated by present steps, and a loss is detected`(_ major: Int) async throws
  {
    let folder = packageRoot.appendingPathComponent("Tests/Fixtures/stores/0.1.0")
    let steps = try MigrationSet.directory(folder.appendingPathComponent("Steps")).steps
    let file = folder.appendingPathComponent("sqlcipher\(major).sqlcipher")
    let key = Key.passphrase("an old brush")
    let later = try MigrationStep(
      number: 3, name: "later",
      text: "format: 1\n[up]\nretype Painting.int16 to int32\nrename entity Painting -> Picture\n")
    try await MigrationLab(MigrationSet(steps + [later])).checkGolden(file, key: key)
    let losing = try MigrationStep(
      number: 3, name: "losing",
      text: "format: 1\n[up]\ntransform sql { DELETE FROM $Painting WHERE \"id\" = 1 }\n")
    let lab = try MigrationLab(MigrationSet(steps + [losing]))
    let error = await #expect(throws: CheckFailure.self) { try await lab.checkGolden(file, key: key) }
    #expect("\(try #require(error))".contains("checkGolden, sqlcipher\(major).sqlcipher"))
  }

  @Test func `a golden store that is missing or has another key is reported`() async throws {
    let lab = try Self.lab()
    let missing = await #expect(throws: CheckFailure.self) { try await lab.checkGolden("/nowhere/a.store") }
    #expect("\(try #require(missing))".contains("/nowhere/a.store"))
    let file = packageRoot.appendingPathComponent("Tests/Fixtures/stores/0.1.0/sqlcipher3.sqlcipher")
    let locked = await #expect(throws: CheckFailure.self) { try await lab.checkGolden(file) }
    #expect("\(try #require(locked))".contains("checkGolden, sqlcipher3.sqlcipher"))
  }
}

@Suite struct LabStores {
  private func lab() throws -> MigrationLab { try MicroblogLab.lab() }

  @Test func `objects are inserted and read by names, with their relationships`() async throws {
    let old = try await lab().store(at: 4)
    let tag = try old.insert("Tag", ["name": "x"])
    let ada = try old.insert("User", ["name": "Ada", "town": nil])
    let status = try old.insert(
      "Status", ["text": "Hello", "createdAt": Date.now, "user": ada, "tags": [tag]])
    let new = try await old.migrate(to: 5)
    let found = try new.object(status)
    #expect(try found[toOne: "user"]?.id == ada && found[toMany: "tags"].map(\.id) == [tag])
    #expect(try new.object(ada)["city"] as String? == nil)
    #expect(try new.objects("Status").count == 1 && new.count(of: "User") == 1)
    // The former store is unchanged.
    #expect(try old.object(ada)["town"] as String? == nil && old.version == 4)
  }

  @Test func `unknown names, wrong values and missing objects are errors`() async throws {
    let old = try await lab().store(at: 3)
    let ada = try old.insert("User", ["name": "Ada"])
    #expect(throws: CheckFailure.self) { try old.insert("Usr") }
    #expect(throws: CheckFailure.self) { try old.insert("User", ["nam": "Bo"]) }
    #expect(throws: StoreError.self) { try old.insert("User", ["name": 3 as Int]) }
    #expect(throws: StoreError.self) { try old.insert("User", ["name": ["a": 1]]) }
    #expect(throws: CheckFailure.self) { try old.object(ada)["city"] as String? }
    #expect(throws: StoreError.self) { try old.object(ada)[toOne: "name"] }
    #expect(throws: StoreError.objectGone(entity: "User", rowID: 7)) {
      try old.object(DynamicID(entity: "User", rowID: 7))
    }
    #expect(try old.count(of: "User") == 1)
  }

  @Test func `an id finds its object after its entity was renamed`() async throws {
    let lab = try Steps.lab([
      "create entity User {\n attribute name string\n}", "rename entity User -> Person",
    ])
    let old = try await lab.store(at: 1)
    let ada = try old.insert("User", ["name": "Ada"])
    let new = try await old.migrate()
    #expect(try new.object(ada)["name"] == "Ada" && new.object(ada).id.entity == "Person")
    #expect(try await new.migrate(to: 1).object(new.object(ada).id)["name"] == "Ada")
  }

  @Test func `after entities swapped names, an id finds the object of the present name`() async throws {
    let lab = try Steps.lab([
      "create entity A {\n attribute a string\n}\ncreate entity B {\n attribute b string\n}",
      "rename entity A -> C\nrename entity B -> A\nrename entity C -> B",
    ])
    let old = try await lab.store(at: 1)
    let (first, second) = (try old.insert("A", ["a": "x"]), try old.insert("B", ["b": "y"]))
    let new = try await old.migrate()
    #expect(try new.object(first)["b"] == "y" && new.object(second)["a"] == "x")
    #expect(try new.object(DynamicID(entity: "B", rowID: first.rowID))["a"] == "x")
  }

  @Test func `a store is migrated back to an earlier version, as far as its steps are reversible`()
    async throws
  {
    let new = try await lab().store(at: 5)
    let ada = try new.insert("User", ["name": "Ada", "city": "London"])
    let old = try await new.migrate(to: 3)
    #expect(try old.version == 3 && old.object(ada)["town"] == "London")
    await #expect(throws: StoreError.self) { _ = try await new.migrate(to: 1) }
  }

  @Test func `versions outside of the steps are refused`() async throws {
    let lab = try lab()
    for version in [0, 7] {
      await #expect(throws: CheckFailure.self) { _ = try await lab.store(at: .number(version)) }
    }
    let store = try await lab.store(at: .latest)
    #expect(store.version == 6)
    await #expect(throws: CheckFailure.self) { _ = try await store.migrate(to: 7) }
    #expect(throws: CheckFailure.self) { _ = try MigrationLab(MigrationSet([])) }
  }

  @Test func `a store that is not retained leaves no files`() async throws {
    var store: LabStore? = try await lab().filledStore(at: 6)
    let folder = try #require(store?.url.deletingLastPathComponent())
    #expect(try store?.content().count ?? 0 > 50)
    store = nil
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }
}
