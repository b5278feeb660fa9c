// The meaning of a step's text: texts are kept, names are resolved, created stores equal migrated ones, and
// only the step's file allows its losses.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Race: ManagedObject {
  @Attribute var joined: Int
  @Attribute var code: String
  @Attribute(.unique) var tag: String
  @ToOne var owner: Racer?
}
private final class Racer: ManagedObject {
  @Attribute var name: String
  @ToMany(inverse: \Race.owner, onDelete: .deny) var races: Set<Race>
}

@Suite struct StepMeaning {
  let lab: MigrationLab
  init() async throws {
    lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
  }

  // MARK: Texts

  @Test func `texts with several lines and dollar signs are kept unchanged`() async throws {
    try await lab.migrate(
      """
      transform sql {
          UPDATE $User SET $User.city = 'first\u{20}\u{20}

             third costs US$5 {and $User.name}' -- $Nobody
            WHERE $User.id = 1;

          UPDATE $User SET $User.city = '$$' WHERE $User.id = 2
      }
      """)
    #expect(
      try lab.rows("SELECT city FROM User ORDER BY id") == [
        ["first  \n\n       third costs US$5 {and $User.name}"], ["$$"],
      ])
    let step = try lab.set(["transform sql {\n  SELECT 'a\n\n  b'\n\n}"]).steps[0]
    #expect(step.canonicalText == "transform sql {\nSELECT 'a\n\n  b'\n}")
    #expect(try MigrationStep(number: 1, name: "s", text: step.text).operations == step.operations)
    _ = try lab.set(["require \"a { in it\" { SELECT '{' }"])
  }

  @Test func `a store whose recorded checksum is that of trimmed texts opens`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let set = try lab.set([
      MigrationOperations.base, "seed { INSERT INTO $Tag($Tag.name) VALUES ('a\n\n   b') }",
    ])
    try await Store.create(at: url, key: testKey, migrations: set)
    let connection = try Connection.open(url.path, key: testKey)
    #expect(try connection.value("SELECT name FROM Tag") == "a\n\n   b")
    let trimmed = try lab.set([
      MigrationOperations.base, "seed { INSERT INTO $Tag($Tag.name) VALUES ('a\nb') }",
    ])
    try connection.execute(
      sql: "UPDATE vault_migrations SET checksum = '\(trimmed.steps[1].checksum)' WHERE version = 2")
    connection.close()
    #expect(try await Store.plan(at: url, key: testKey, migrations: set).isUpToDate)
  }

  // MARK: Expressions

  static let expressions: [(String, String, [[SQLValue]])] = [
    (
      "retype User.age to string using ('n' || $User.age)\nretype User.age to int using (length($User.age))",
      "SELECT age, typeof(age) FROM User ORDER BY id", [[3, "integer"], [3, "integer"]]
    ),
    (
      "retype Post.text to int using (ifnull($Post.user, 0))", "SELECT text FROM Post ORDER BY id",
      [[1], [1], [2], [0]]
    ),
    (
      "rename attribute User.name -> title\nretype User.age to string using ($User.title || $User.age)",
      "SELECT age FROM User ORDER BY id", [["Ann30"], ["Bob40"]]
    ),
    (
      "retype User.city to int using ((SELECT count(*) FROM $Post))", "SELECT city FROM User ORDER BY id",
      [[4], [4]]
    ),
  ]

  @Test(arguments: expressions.indices)
  func `names in an expression denote the columns at that point of the step`(_ index: Int) async throws {
    let (step, query, rows) = Self.expressions[index]
    try await lab.migrate(step)
    #expect(try lab.rows(query) == rows)
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    ("retype User.age to string using ($User.agee)", "did you mean \"$User.age\"?"),
    ("retype User.age to string using ($Usr.age)", "did you mean \"$User\"?"),
    ("retype User.age to string using ($User.posts)", "has no column"),
    ("drop index User(city)\nretype User.age to string using (nobody + 1)", "no such column"),
  ])
  func `an unknown name in an expression is an error of the operation that has it`(
    _ step: String, _ word: String
  ) async throws {
    await #expect {
      try await lab.migrate(step)
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, let operation, let reason) = error else { return false }
      return operation.hasPrefix("retype User.age") && !operation.contains("drop index")
        && reason.contains(word)
    }
  }

  // MARK: Created and migrated

  @Test func `steps with an index of a to-one and with a require also create new stores`() async throws {
    let folder = try TemporaryFolder()
    let set = try lab.set([
      MigrationOperations.base, "add index Post(user)",
      "require \"there are users\" { SELECT count(*) > 0 FROM $User }\nseed { INSERT INTO $Tag($Tag.name) VALUES ('t') }",
    ])
    let new = folder.url.appendingPathComponent("new")
    try await Store.create(at: new, key: testKey, migrations: set)
    #expect(try Connection.open(new.path, key: testKey).value("SELECT name FROM Tag") == "t")
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    let hashes = try [new, lab.url].map {
      try Connection.open($0.path, key: testKey).value(
        "SELECT value FROM vault_meta WHERE key = 'physicalHash'")
    }
    #expect(hashes[0] == hashes[1] && hashes[0] != nil)
  }

  @Test func `an index of one property is the same however it is declared`() throws {
    let schema = Schema {
      Entity(Race.self).index(\.joined).unique(\.code).index(\.owner).index(\.joined, \.code).index(
        \.joined, \.code)
      Entity(Racer.self)
    }
    try schema.validate()
    let before = Schema {
      Entity(Race.self)
      Entity(Racer.self)
    }
    let first = try MigrationSet.creating(before).steps[0]
    let second = try MigrationStep(
      number: 2, name: "b",
      text:
        "format: 1\n[up]\nadd index Race(joined)\nadd index Race(code) unique\nadd index Race(joined, code)")
    #expect(try MigrationSet([first, second]).model(at: 2) == schema)
  }

  // MARK: Losses

  @Test func `opening refuses a loss that the step's file does not allow`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let schema = Schema { Entity(Lone.self) }
    let base = "create entity Lone {\n attribute name string\n attribute old int optional\n}"
    try await Store.create(at: url, key: testKey, migrations: lab.set([base]))
    let set = try lab.set([base, "drop attribute Lone.old"])
    await #expect(throws: StoreError.lossNotAllowed(step: 2, name: "step2", losses: ["Lone.old"])) {
      _ = try await Store.open(at: url, key: testKey, schema: schema, migrations: .set(set))
    }
    #expect(try Connection.open(url.path, key: testKey).userVersion() == 1)
    let allowed = try MigrationStep(
      number: 2, name: "step2", text: "format: 1\nallow: lossy:Lone.old\n[up]\ndrop attribute Lone.old")
    let store = try await Store.open(
      at: url, key: testKey, schema: schema, migrations: .set(MigrationSet([set.steps[0], allowed])))
    #expect(store.opening.migratedSteps == [2])
  }

  // MARK: Unique values and delete rules

  @Test func `the error for a unique index over duplicates has their number and rows`() async throws {
    await #expect {
      try await lab.migrate(
        "drop index User(city)\nadd index Post(user) unique\nadd attribute User.x int optional")
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation == "add index Post(user) unique"
        && reason.contains("1 value of Post(user) occurs more than once") && reason.contains("row 2")
    }
    let plan = try await Store.plan(
      at: lab.url, key: testKey,
      migrations: lab.set([MigrationOperations.base, "add index Post(user) unique"]))
    #expect(plan.steps[0].sql.contains { $0.contains("HAVING count(*) > 1") })
  }

  @Test func `changing a delete rule loses no link`() async throws {
    try await lab.migrate("set delete rule of User.posts to nullify")
    #expect(try lab.rows("SELECT user_id FROM Post ORDER BY id") == [[1], [1], [2], [.null]])
    #expect(try lab.isSound())
    let connection = try lab.open()
    try connection.execute("DELETE FROM User WHERE id = 1")
    #expect(try connection.value("SELECT count(*) FROM Post") == 4)
    let step = try lab.set(["set delete rule of A.b to deny"]).steps[0]
    #expect(step.canonicalText == "set delete rule of A.b to deny")
  }

  // MARK: Names

  @Test func `names that collide in the file, or with a member of every object, are faults`() throws {
    let a = EntityDescription(
      name: "A",
      attributes: [AttributeDescription(name: "b_c", type: .int, isIndexed: true)]
        + ["b", "c"].map { AttributeDescription(name: $0, type: .int) },
      indexes: [IndexDescription(properties: ["b", "c"])])
    #expect {
      try Schema(entities: [a]).validate()
    } throws: { "\($0)".contains("ix_A_b_c") }
    let b = EntityDescription(
      name: "B", relationships: [RelationshipDescription(name: "cs", destination: "B", isToMany: true)])
    #expect {
      try Schema(entities: [b, EntityDescription(name: "B_cs")]).validate()
    } throws: { "\($0)".contains("B_cs") && "\($0)".contains("links of B") }
    let c = EntityDescription(name: "C", attributes: [AttributeDescription(name: "objectState", type: .int)])
    #expect {
      try Schema(entities: [c]).validate()
    } throws: { "\($0)".contains("this name is reserved") }
  }
}

final class Lone: ManagedObject { @Attribute var name: String }
