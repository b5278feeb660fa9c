// Downgrades with a commit per step. With such commits, values are checked against the classes of the
// opening program after the last step.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct EachStepBacks {
  private static let texts = [
    "create entity User {\n attribute name string\n}", "add attribute User.a int default 1",
    "[up]\nrename attribute User.name -> title\n[down]\nrename attribute User.title -> name",
    "add attribute User.b int default 2", "add attribute User.c int default 3",
  ]

  private func back(_ lab: DowngradeLab, to version: Int, _ set: MigrationSet? = nil) async throws
    -> MigrationOutcome
  {
    try await Store.downgrade(
      at: lab.url, key: testKey, to: version, migrations: set ?? lab.set, makesBackups: false,
      allowing: ["User.a", "User.b", "User.c", "User.old"], commitsEachStep: true)
  }

  @Test func `a downgrade with a commit per step gives the same store as one transaction`() async throws {
    let fill: [String] = ["INSERT INTO User(id, title) VALUES (1, 'Ann')"]
    let (each, all) = (
      try await DowngradeLab(Self.texts, at: 5, fill: fill),
      try await DowngradeLab(Self.texts, at: 5, fill: fill)
    )
    let outcome = try await back(each, to: 1)
    try await all.down(1)
    #expect(outcome.takenBack == [5, 4, 3, 2] && outcome.startVersion == 5 && outcome.version == 1)
    #expect(try each.image == all.image)
  }

  @Test func `an edited step is rolled back by the rollback that the store carries`() async throws {
    let lab = try await DowngradeLab(
      Self.texts, at: 5, fill: ["INSERT INTO User(id, title) VALUES (1, 'Ann')"])
    var edited = Self.texts
    edited[2] = "add attribute User.title string optional"
    edited[3] = "add attribute User.other string default \"x\""
    let set = try DowngradeLab.set(edited)
    let outcome = try await back(lab, to: 1, set)
    #expect(outcome.takenBack == [5, 4, 3, 2] && outcome.version == 1)
    #expect(try lab.rows("SELECT id, name FROM User") == [[1, "Ann"]])
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set, commitsEachStep: true)
    #expect(try lab.rows("SELECT name, title, other FROM User") == [["Ann", .null, "x"]])
  }

  @Test func `a downgrade that fails leaves the version of the last step that was rolled back`() async throws
  {
    var texts = Self.texts
    texts[1] =
      "[up]\nadd attribute User.a int optional\n[down]\nrequire \"never\" { SELECT 0 }\ndrop attribute User.a"
    let lab = try await DowngradeLab(texts, at: 5)
    await #expect {
      try await back(lab, to: 1)
    } throws: { error in
      guard case StoreError.stopped(atVersion: 2, by: .store(.migrationFailed(step: 2, _, _, _))) = error
      else { return false }
      return true
    }
    #expect(try lab.version == 2)
    _ = try lab.image
  }

  @Test func `steps that the files fold into one are rolled back in one transaction`() async throws {
    var texts = Self.texts
    // The last rollback fails.
    texts[1] =
      "[up]\nadd attribute User.a int optional\n[down]\nrequire \"never\" { SELECT 0 }\ndrop attribute User.a"
    let lab = try await DowngradeLab(texts, at: 5)
    let fold = try lab.set.folded(to: 4).migrations
    await #expect {
      try await back(lab, to: 1, fold)
    } throws: { error in
      guard case StoreError.stopped(atVersion: 4, by: .store(.migrationFailed(step: 2, _, _, _))) = error
      else { return false }
      return true
    }
    // The same files migrate the store up again.
    #expect(try lab.version == 4)
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: fold).steps == [5])
    // A version inside the fold is a possible target.
    #expect(try await back(lab, to: 2, fold).takenBack == [5, 4, 3])
    #expect(try lab.version == 2)
  }

  @Test func `after the last step, values from earlier steps are checked against the classes`() async throws {
    let texts = [
      "create entity User {\n attribute mood string default \"calm\"\n}",
      "transform sql { UPDATE $User SET $User.mood = 'furious' }", "add attribute User.b int optional",
    ]
    var configuration = Store.Configuration()
    configuration.commitsEachStep = true
    let (schema, settings) = (Schema { Entity(MoodyClasses.User.self) }, configuration)
    func open(_ lab: DowngradeLab, _ set: MigrationSet) async throws -> Store.Opening {
      let store = try await Store.open(
        at: lab.url, key: testKey, schema: schema, migrations: .set(set), configuration: settings)
      defer { store.close() }
      return store.opening
    }
    let fill: [String] = ["INSERT INTO User(id) VALUES (1)"]
    let lab = try await DowngradeLab(texts, at: 1, fill: fill)
    await #expect {
      try await open(lab, lab.set)
    } throws: { error in
      guard case StoreError.stopped(atVersion: 2, by: .store(.migrationFailed(step: 2, _, _, _))) = error
      else { return false }
      return "\(error)".contains("User.mood is invalid (expected: string)")
    }
    #expect(try lab.version == 2)
    // A later step may correct the values.
    let right = "add attribute User.b int optional\ntransform sql { UPDATE $User SET $User.mood = 'cross' }"
    let whole = try await DowngradeLab(texts.dropLast() + [right], at: 1, fill: fill)
    #expect(try await open(whole, whole.set).migratedSteps == [2, 3])
  }
}
