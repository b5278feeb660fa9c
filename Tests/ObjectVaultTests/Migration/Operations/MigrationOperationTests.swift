// Each operation on a store with rows: what is kept, what changes, and whether the tables are those of the
// model.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// A store at version 1 that is migrated by one more step.
struct MigrationLab {
  let folder: TemporaryFolder
  var url: URL { folder.url.appendingPathComponent("lab.store") }
  private let first: String

  init(_ first: String, fill: [String] = []) async throws {
    folder = try TemporaryFolder()
    self.first = first
    try await Store.create(at: url, key: testKey, migrations: try set([first]))
    let connection = try open()
    for sql in fill { try connection.execute(sql: sql) }
  }

  func set(_ texts: [String]) throws -> MigrationSet {
    try MigrationSet(
      texts.enumerated().map { index, text in
        try MigrationStep(number: index + 1, name: "step\(index + 1)", text: "format: 1\n[up]\n\(text)")
      })
  }

  func open() throws -> Connection {
    let connection = try Connection.open(url.path, key: testKey)
    try StoreInfo.prepare(connection)
    return connection
  }

  @discardableResult
  func migrate(_ text: String) async throws -> [Int] {
    let steps = try set([first, text])
    return try await Store.migrate(
      at: url, key: testKey, migrations: steps, allowing: Set(steps.losses(ofStep: 2))
    ).steps
  }

  /// Runs steps that are refused, after a rehearsal that must have the same error and change nothing.
  /// - Parameter isKnown: Whether a plan counts the rows; else it must list a check that only the run can
  ///   do.
  func refuse(_ texts: String..., isKnown: Bool = false) async throws {
    let steps = try set([first] + texts)
    let before = try folder.bytes("lab.store")
    let plan = try await Store.plan(at: url, key: testKey, migrations: steps)
    let rehearsal = try await Store.rehearse(at: url, key: testKey, migrations: steps)
    let now = try folder.bytes("lab.store")
    #expect(now == before && folder.names == ["lab.store"])
    let unasked = plan.steps.flatMap(\.unasked)
    #expect(plan.refusals.isEmpty != isKnown && unasked.isEmpty == isKnown, "\(plan.refusals) \(unasked)")
    do {
      let losses = Set(try steps.steps.flatMap { try steps.losses(ofStep: $0.number) })
      try await Store.migrate(at: url, key: testKey, migrations: steps, allowing: losses)
    } catch let error as StoreError {
      #expect(rehearsal.failure as? StoreError == error)
      throw error
    }
    Issue.record("it ran: \(texts)")
  }

  func rows(_ sql: String) throws -> [[SQLValue]] { try open().rows(sql: sql) }

  func isSound() throws -> Bool {
    let connection = try open()
    return try connection.findings().isEmpty && StoreInfo(connection).drift(connection).isEmpty
  }
}

/// A step that failed, because of itself or because of the rows.
struct StoppedStep {
  let number: Int
  let name: String
  let operation: String
  let reason: String

  init?(_ error: any Error) {
    switch error {
    case StoreError.migrationFailed(let step, let name, let operation, let reason),
      StoreError.rowsRefused(let step, let name, let operation, let reason):
      (number, self.name, self.operation, self.reason) = (step, name, operation, reason)
    default: return nil
    }
  }
}

@Suite(.tags(.slow)) struct MigrationOperations {
  static let base = """
    create entity User {
        attribute name string unique
        attribute age int default 7
        attribute city string optional indexed
        relationship posts -> Post many inverse Post.user on delete cascade
        index (name, age)
    }
    create entity Post {
        attribute text string
        relationship user -> User inverse User.posts
        relationship tags -> Tag many inverse Tag.posts
    }
    create entity Tag {
        attribute name string
        relationship posts -> Post many inverse Post.tags
    }
    """
  static let fill = [
    "INSERT INTO User(id, name, age, city) VALUES (1, 'Ann', 30, 'Bonn'), (2, 'Bob', 40, NULL)",
    "INSERT INTO Post(id, text, user_id) VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', NULL)",
    "INSERT INTO Tag(id, name) VALUES (1, 'x'), (2, 'y')",
    "INSERT INTO Post_tags(Post_id, Tag_id) VALUES (1, 1), (1, 2), (3, 2)",
  ]

  let lab: MigrationLab
  init() async throws { lab = try await MigrationLab(Self.base, fill: Self.fill) }

  private func links() throws -> Int64 {
    try lab.rows("SELECT count(*) FROM Post_tags").first?.first?.int64 ?? -1
  }
  private func posts() throws -> Int64 { try lab.rows("SELECT count(*) FROM Post").first?.first?.int64 ?? -1 }

  static let cases: [(step: String, query: String, rows: [[SQLValue]])] = [
    ("add attribute User.mail string optional", "SELECT mail FROM User", [[SQLValue.null], [.null]]),
    ("add attribute User.mail string default \"it's\"", "SELECT mail FROM User", [["it's"], ["it's"]]),
    ("add attribute User.rank double default 1 indexed", "SELECT rank FROM User", [[1.0], [1.0]]),
    ("drop attribute User.city", "SELECT name FROM User ORDER BY id", [["Ann"], ["Bob"]]),
    ("rename attribute User.name -> fullName", "SELECT fullName FROM User ORDER BY id", [["Ann"], ["Bob"]]),
    ("rename attribute User.city -> town", "SELECT town FROM User ORDER BY id", [["Bonn"], [.null]]),
    (
      "retype User.age to string", "SELECT age, typeof(age) FROM User ORDER BY id",
      [["30", "text"], ["40", "text"]]
    ),
    (
      "retype User.age to double using ($User.age / 4.0)", "SELECT age FROM User ORDER BY id",
      [[7.5], [10.0]]
    ),
    ("make User.city required filling \"?\"", "SELECT city FROM User ORDER BY id", [["Bonn"], ["?"]]),
    ("make User.age optional", "SELECT age FROM User ORDER BY id", [[30], [40]]),
    ("set default of User.age to 9", "SELECT age FROM User ORDER BY id", [[30], [40]]),
    ("set default of User.age to none", "SELECT age FROM User ORDER BY id", [[30], [40]]),
    ("rename entity User -> Person", "SELECT name FROM Person ORDER BY id", [["Ann"], ["Bob"]]),
    (
      "rename relationship Post.user -> author", "SELECT author_id FROM Post ORDER BY id",
      [[1], [1], [2], [.null]]
    ),
    (
      "rename relationship Post.tags -> labels", "SELECT Post_id, Tag_id FROM Post_labels ORDER BY 1, 2",
      [[1, 1], [1, 2], [3, 2]]
    ),
    (
      "rename relationship Tag.posts -> aPosts", "SELECT Post_id FROM Post_tags ORDER BY 1",
      [[1], [1], [3]]
    ),
    ("add relationship User.boss -> User", "SELECT boss_id FROM User", [[.null], [.null]]),
    ("add index User(city, age) unique", "SELECT count(*) FROM User", [[2]]),
    ("drop index User(name, age)", "SELECT count(*) FROM User", [[2]]),
    ("drop index User(city)", "SELECT count(*) FROM User", [[2]]),
    (
      "transform sql { UPDATE $User SET $User.city = $User.name WHERE $User.city IS NULL }",
      "SELECT city FROM User ORDER BY id", [["Bonn"], ["Bob"]]
    ),
    (
      "transform sql { UPDATE $User SET $User.city = (SELECT max(p.$Post.text) FROM $Post p WHERE p.$Post.user = $User.$User.id) }",
      "SELECT city FROM User ORDER BY id", [["b"], ["c"]]
    ),
    (
      "retype User.age to string using ($User.$User.name || $User.$User.age)",
      "SELECT age FROM User ORDER BY id", [["Ann30"], ["Bob40"]]
    ),
    ("seed { INSERT INTO $Tag($Tag.name) VALUES ('new') }", "SELECT name FROM Tag WHERE id = 3", [["new"]]),
    ("require \"there are users\" { SELECT count(*) > 0 FROM $User }", "SELECT count(*) FROM User", [[2]]),
    (
      "rename attribute User.name -> old\nadd attribute User.name string default \"n\"\ndrop attribute User.city\nmake User.age optional",
      "SELECT old, name, age FROM User ORDER BY id", [["Ann", "n", 30], ["Bob", "n", 40]]
    ),
    (
      "rename attribute User.name -> x\nrename attribute User.city -> name\nrename attribute User.x -> city",
      "SELECT city, name FROM User ORDER BY id", [["Ann", "Bonn"], ["Bob", .null]]
    ),
  ]

  @Test(arguments: cases.map(\.step))
  func `an operation keeps the rows, their children and their links`(_ step: String) async throws {
    let (_, query, expected) = try #require(Self.cases.first { $0.step == step })
    #expect(try await lab.migrate(step) == [2])
    #expect(try lab.rows(query) == expected)
    if !step.contains("labels") { #expect(try links() == 3) }
    #expect(try posts() == 4)
    #expect(try lab.isSound())
    #expect(try await lab.migrate(step) == [])
  }

  @Test func `dropping an entity and its relationships leaves other tables unchanged`() async throws {
    try await lab.migrate("drop relationship Post.tags\ndrop relationship Tag.posts\ndrop entity Tag")
    #expect(try posts() == 4)
    #expect(try lab.open().tableNames().filter { !$0.hasPrefix("vault_") } == ["Post", "User"])
    #expect(try lab.isSound())
  }

  @Test func `a many-to-many between existing entities gets its join table`() async throws {
    try await lab.migrate(
      "add relationship User.likes -> Post many inverse Post.fans\nadd relationship Post.fans -> User many inverse User.likes"
    )
    #expect(try lab.open().tableExists("Post_fans"))
    #expect(try lab.isSound())
  }

  @Test func `cascades still work after a rebuild`() async throws {
    try await lab.migrate("retype User.age to string")
    let connection = try lab.open()
    try connection.execute("DELETE FROM User WHERE id = 1")
    #expect(try connection.value("SELECT count(*) FROM Post") == 2)
    #expect(try connection.value("SELECT count(*) FROM Post_tags") == 1)
  }

  @Test(arguments: [
    ("add attribute User.mail string", "NOT NULL"), ("make User.city required", "1 object has no city"),
    ("drop attribute User.nothing", "no attribute User.nothing"),
    ("drop attribute User.cit", "did you mean \"city\"?"),
    ("drop entity User", "to it; drop"), ("drop attribute User.name", "drop the index first"),
    ("add attribute User.name string", "already exists"),
    ("retype User.name to int", "cannot be converted to int"),
    ("rename attribute User.name -> user_id", "cannot be used"),
    ("create entity User {\n}", "already exists"),
    ("add relationship User.x -> Nobody", "not in the schema"),
    (
      "add relationship User.x -> Pst",
      "User.x refers to Pst, which does not exist; did you mean \"Post\"?"
    ),
    ("add index User(nothing)", "cannot be used"),
    ("require \"there are ten users\" { SELECT count(*) = 10 FROM $User }", "there are ten users"),
    ("transform sql { UPDATE $Usr SET x = 1 }", "did you mean \"$User\"?"),
    ("transform sql { UPDATE $User SET $User.nam = 1 }", "did you mean \"$User.name\"?"),
    ("transform sql { DROP TABLE User }", "not authorized"), ("transform sql { COMMIT }", "not authorized"),
    ("transform sql { DELETE FROM vault_migrations }", "not authorized"),
    ("transform sql { CREATE TABLE x(y) }", "not authorized"),
    ("transform sql { PRAGMA user_version = 99 }", "not authorized"),
    ("transform sql { ATTACH 'x' AS y }", "not authorized"),
    ("transform sql { UPDATE $Post SET $Post.user = 99 }", "references to missing rows"),
    ("transform sql { UPDATE $User SET $User.name = 'same' }", "UNIQUE"),
    ("add index Post(user) unique", "must be unique"),
    // The engine would end each of these at the NUL.
    ("transform sql { DELETE FROM $Post \0 WHERE $Post.id = 1 }", "has a NUL character"),
    ("require \"none\" { SELECT 1 \0 WHERE 0 }", "has a NUL character"),
    ("create raw view V { SELECT $User.id FROM $User \0 WHERE 0 }", "has a NUL character"),
    ("retype User.city to string using ('x' \0 || $User.city)", "has a NUL character"),
    (
      (0..<5000).map { "add attribute User.p\($0) int optional" }.joined(separator: "\n"),
      "1025 properties; at most 512 are allowed"
    ),
  ])
  func `a step that fails reports the reason, and leaves the store unchanged`(
    _ step: String, _ reason: String
  ) async throws {
    let before = try lab.rows("SELECT * FROM User")
    await #expect {
      try await lab.migrate(step)
    } throws: { error in
      guard let stopped = StoppedStep(error) else { return false }
      return stopped.number == 2 && stopped.name == "step2" && stopped.reason.contains(reason)
    }
    #expect(try lab.rows("SELECT * FROM User") == before)
    #expect(try lab.open().userVersion() == 1)
    #expect(try posts() == 4 && links() == 3)
    #expect(try lab.isSound())
  }

  @Test func `a renamed entity keeps its high-water mark of ids`() async throws {
    try lab.open().execute("INSERT OR REPLACE INTO vault_ids VALUES ('User', 9)")
    try await lab.migrate("rename entity User -> Person")
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Person'") == [[9]])
  }
}
