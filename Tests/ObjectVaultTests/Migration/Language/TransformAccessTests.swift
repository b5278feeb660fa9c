// The reads and writes that a step declares for its transform: their text, and their comparison with what
// SQL and Swift do.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct TransformAccesses {
  private func lab(_ step: String, _ functions: [MigrationTransform] = []) async throws -> FunctionLab {
    try await FunctionLab([SwiftTransforms.base, step], functions, fill: SwiftTransforms.fill)
  }

  // MARK: Texts

  @Test func `reads and writes have one canonical text, and a step without them keeps its text`() throws {
    for (line, canonical) in [
      ("transform sql { UPDATE $E }", "transform sql {\nUPDATE $E\n}"),
      (
        "transform sql writes F, E.b,E.a reads E.c { UPDATE $E }",
        "transform sql reads E.c writes E.a, E.b, F {\nUPDATE $E\n}"
      ),
    ] {
      let step = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
      #expect(step.canonicalText == canonical)
      #expect(try MigrationStep(number: 1, name: "s", text: step.text) == step)
    }
    let places = [
      TransformAccess.Place(entity: "E", property: "a"), TransformAccess.Place(entity: "F"),
    ]
    let step = try MigrationStep(
      number: 1, name: "s", text: "format: 1\n[up]\ntransform sql reads F, E.a { UPDATE $E }\n")
    #expect(step.operations == [.transform(SQLTransform("UPDATE $E", reads: places))])
    guard case .transform(let transform)? = step.operations.first else { return }
    #expect(transform.access.reads == places && transform.access.writes == nil)
  }

  @Test(arguments: [
    ("transform sql reads { UPDATE $E }", "an entity or Entity.property is missing"),
    ("transform sql reads E.a reads E.b { UPDATE $E }", "each at most once"),
    ("transform sql write E.a { UPDATE $E }", "did you mean \"writes\"?"),
    ("transform sql batch 5 { UPDATE $E }", "{ is missing after transform sql"),
    ("transform sql reads E.a UPDATE", "{ is missing after transform sql reads E.a"),
    ("transform sql reads E.a", "{ is missing after transform sql reads E.a"),
  ])
  func `an invalid reads or writes clause is an error with a reason`(_ line: String, _ reason: String) throws
  {
    #expect {
      _ = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
    } throws: { "\($0)".contains(reason) }
  }

  @Test func `unknown names in reads and writes are errors with a suggestion`() async throws {
    for (words, reason) in [
      ("reads User.nam", "there is no property User.nam; did you mean \"name\"?"),
      ("writes Usr", "there is no entity Usr; did you mean \"User\"?"),
    ] {
      let lab = try await lab("transform sql \(words) { UPDATE $User SET $User.age = 1 }")
      await #expect { try await lab.up() } throws: { "\($0)".contains(reason) }
    }
  }

  // MARK: SQL

  @Test(arguments: [
    (
      "reads User.name writes User.city { UPDATE $User SET $User.city = $User.name, $User.age = 1 }",
      "it writes User.age, which the step does not declare; write in its line: writes User.age, User.city"
    ),
    (
      "reads User.name writes User.city { UPDATE $User SET $User.city = $User.age WHERE $User.id IN (SELECT $Badge.user FROM $Badge) }",
      "it reads User.age, reads Badge.user, which the step does not declare; write in its line: reads Badge.user, User.age, User.name"
    ),
    (
      "writes User.city { INSERT INTO $User ($User.name) VALUES ('x') }",
      "it inserts rows of User, which the step does not declare; write in its line: writes User, User.city"
    ),
    (
      "reads Post.text writes Post.text { DELETE FROM $Post WHERE $Post.text = '' }",
      "it deletes rows of Post, which the step does not declare; write in its line: writes Post, Post.text"
    ),
    (
      "writes User.age { UPDATE OR REPLACE $User SET $User.age = 1 }",
      "it may replace rows of User, which the step does not declare; write in its line: writes User, User.age"
    ),
    ("writes Post.text { INSERT INTO $Post.tags (Post_id, Tag_id) VALUES (2, 2) }", "writes Post.tags"),
    ("writes User.age { UPDATE $User SET $User.id = 100 WHERE $User.id = 9 }", "writes User"),
    (
      "reads User.age { UPDATE $User SET $User.age = (SELECT count(*) FROM $Post WHERE $Post.user = $User.$User.id) }",
      "it reads Post.user, which the step does not declare; write in its line: reads Post.user, User.age"
    ),
    (
      "reads User.age { UPDATE $User SET $User.age = (SELECT count(*) FROM $Post) }",
      "it reads rows of Post, which the step does not declare; write in its line: reads Post, User.age"
    ),
    (
      "reads User.age writes User.age { UPDATE $User SET $User.age = 1 WHERE EXISTS (SELECT 1 FROM $Post.tags) }",
      "it reads Post.tags, which the step does not declare; write in its line: reads Post.tags, User.age"
    ),
    (
      "reads User.age writes User.city { UPDATE $User SET $User.city = (SELECT name FROM Names LIMIT 1) }",
      "it reads User.name (by Names), which"
    ),
  ])
  func `SQL beyond its declared reads and writes is refused, also without rows`(
    _ words: String, _ reason: String
  ) async throws {
    let step = "create raw view Names { SELECT $User.name FROM $User }\ntransform sql \(words)"
    let lab = try await lab(step)
    let before = try lab.rows("SELECT * FROM User ORDER BY id")
    await #expect { try await lab.up() } throws: { error in
      guard case StoreError.migrationFailed(2, _, _, let found) = error else { return false }
      return found.contains(reason)
    }
    #expect(try lab.rows("SELECT * FROM User ORDER BY id") == before)
    // As `check` does, which has no store.
    let faults = try lab.set.compileFaults()
    #expect(faults.count == 1 && faults[0].contains(reason), "\(faults)")
  }

  @Test(arguments: [
    "reads User.posts, User.name writes User.city { UPDATE $User SET $User.city = (SELECT count(*) FROM $Post WHERE $Post.user = $User.$User.id AND $User.name <> '') }",
    "reads Post.text writes User.age { UPDATE $User SET $User.age = (SELECT count(*) FROM $Post) }",
    "reads Badge.user writes User.city { UPDATE $User SET $User.city = (SELECT count(*) FROM $Badge b, $User u) }",
    "reads Post, Tag writes User.age { UPDATE $User SET $User.age = (SELECT count(*) FROM $Post.tags) }",
    "writes User.age { UPDATE $User SET $User.age = (SELECT count(*) FROM $Badge) }",
    "writes Tag { INSERT INTO $Post.tags (Post_id, Tag_id) VALUES (2, 2) }",
    "writes Tag.posts { DELETE FROM $Post.tags }", "writes User { DELETE FROM $User WHERE $User.id = 9 }",
    "writes User { INSERT INTO $User ($User.name) VALUES ('x') }",
    "reads User writes User { UPDATE $User SET $User.name = upper($User.name) || $User.age }",
    "writes User.age { UPDATE $User SET $User.age = 1 WHERE $User.name = 'Bob' }",
    "reads User.name { UPDATE $User SET $User.age = 1 WHERE $User.name = 'Bob' AND $User.id > 0 }",
    "reads User.id writes User.age { UPDATE $User SET $User.age = 1 WHERE $User.id = 1 }",
  ])
  func `SQL within its declared reads and writes runs`(_ words: String) async throws {
    // The id is no property, so a step cannot declare it.
    let words = words.replacing("reads User.id ", with: "reads User.age ")
    let lab = try await lab("transform sql \(words)")
    #expect(try lab.set.compileFaults().isEmpty)
    #expect(try await lab.up().steps == [2])
  }

  @Test func `declaring an entity covers its children, and children may declare inherited properties`()
    async throws
  {
    let base =
      "create entity Animal {\n attribute name string\n}\n"
      + "create entity Dog : Animal {\n attribute tail int optional\n}"
    let fill = ["INSERT INTO Animal(id, _entity, name) VALUES (1, 'Dog', 'Rex')"]
    let sql = "{ UPDATE $Dog SET $Dog.tail = length($Dog.name) WHERE _entity = 'Dog' }"
    for words in ["reads Animal writes Animal", "reads Dog.name writes Dog.tail", "reads Dog writes Dog"] {
      let lab = try await FunctionLab([base, "transform sql \(words) \(sql)"], [], fill: fill)
      #expect(try await lab.up().steps == [2], "\(words)")
      #expect(try lab.rows("SELECT tail FROM Animal") == [[3]])
    }
    let lab = try await FunctionLab(
      [base, "transform sql reads Dog writes Animal.name \(sql)"], [], fill: fill)
    await #expect { try await lab.up() } throws: {
      "\($0)".contains("write in its line: writes Animal.name, Dog.tail")
    }
  }

  @Test func `a block that may write a new child may change its parent's rows, so it has no rollback`()
    async throws
  {
    let base = "create entity Animal {\n attribute name string\n}"
    let fill = ["INSERT INTO Animal(id, name) VALUES (1, 'Rex'), (2, 'Tom')"]
    for (words, sql, isReversible) in [
      ("Dog", "DELETE FROM $Animal WHERE id = 2", false),
      ("Dog.name", "UPDATE $Dog SET $Dog.name = 'x'", false),
      ("Dog.tail", "UPDATE $Dog SET $Dog.tail = 1 WHERE _entity = 'Dog'", true),
      ("Toy", "INSERT INTO $Toy ($Toy.kind) VALUES ('ball')", true),
    ] {
      let step =
        "create entity Dog : Animal {\n attribute tail int optional\n}\ncreate entity Toy {\n attribute kind string\n}\n"
        + "transform sql writes \(words) { \(sql) }"
      let lab = try await FunctionLab([base, step], [], fill: fill)
      try await lab.up()
      let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
      #expect((plan.irreversible[2] == nil) == isReversible, "\(words): \(plan.irreversible)")
    }
  }

  @Test(arguments: [
    (
      "add relationship Post.likers -> User many inverse User.likes",
      "add relationship User.likes -> Post many",
      "Post.likers { DELETE FROM $User.likes }"
    ),
    (
      "add relationship User.owned -> Post many inverse Post.owner", "add relationship Post.owner -> User",
      "User.owned { UPDATE $Post SET $Post.owner = NULL }"
    ),
  ])
  func `a block that writes a new end of existing links has no rollback`(
    _ add: String, _ base: String, _ sql: String
  ) async throws {
    let entities =
      "create entity User {\n attribute name string\n}\ncreate entity Post {\n attribute text string\n}\n"
    for isOld in [true, false] {
      let steps = isOld ? [entities + base, add] : [entities, base + "\n" + add]
      let lab = try await FunctionLab([steps[0], steps[1] + "\ntransform sql writes " + sql], [], fill: [])
      try await lab.up()
      let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
      #expect((plan.irreversible[2] != nil) == isOld, "\(plan.irreversible)")
    }
  }

  @Test func `a block must declare that it replaces rows, also when a trigger does so`() async throws {
    let trigger =
      "create raw trigger T { AFTER UPDATE OF $User.city ON $User BEGIN UPDATE OR REPLACE $Post SET $Post.text = 'x'; END }\n"
    let sql = "{ UPDATE $User SET $User.city = 'Rom' WHERE $User.id = 1 }"
    let lab = try await lab(trigger + "transform sql writes User.city, Post \(sql)")
    #expect(try lab.set.compileFaults() == [])
    let other = try await self.lab(trigger + "transform sql writes User.city, Post.text \(sql)")
    let faults = try other.set.compileFaults()
    #expect(faults.count == 1 && faults[0].contains("it may replace rows of Post (by T), which"), "\(faults)")
  }

  @Test func `the declaration that a refusal proposes is complete`() async throws {
    let sql = "{ UPDATE $User SET $User.age = length($User.name) + (SELECT count($Badge.user) FROM $Badge) }"
    let lab = try await lab("transform sql reads User.name writes User.city \(sql)")
    let reason = try await #require(throws: StoreError.self) { try await lab.up() }
    let words = try #require("\(reason)".firstMatch(of: #/write in its line: (.*?)\. /#)?.1)
    #expect(words == "reads Badge.user, User.name writes User.age, User.city")
    #expect(try await self.lab("transform sql \(words) \(sql)").up().steps == [2])
  }

  @Test func `a block that writes only what its step adds is rolled back with it`() async throws {
    let add = "add attribute User.nick string optional\ntransform sql"
    let sql = "{ UPDATE $User SET $User.nick = lower($User.name) }"
    let lab = try await lab("\(add) reads User.name writes User.nick \(sql)")
    try await lab.up()
    #expect(try lab.rows("SELECT nick FROM User WHERE id = 2") == [["bob"]])
    try await lab.down()
    #expect(try lab.version == 1)
    // A block without declarations may have written anything.
    let silent = try await self.lab("\(add) \(sql)")
    try await silent.up()
    await #expect(throws: StoreError.self) { try await silent.down() }
  }

  // MARK: Swift

  private static let reads: [(String, @Sendable (DynamicObject, ObjectContext) throws -> Void, String?)] = [
    ("reads User.name", { user, _ in _ = user["age"] as Int }, "User.age"),
    ("reads User.name", { user, _ in _ = try user.value("age") }, "User.age"),
    ("reads User.name", { user, _ in _ = user[toMany: "posts"] }, "User.posts"),
    ("reads User.name", { user, _ in _ = user[toOne: "badge"] }, "User.badge"),
    (
      "reads User.posts",
      { user, _ in for post in user[toMany: "posts"] { _ = post["text"] as String } }, "Post.text"
    ),
    ("reads User.name writes User.age", { user, _ in user["age"] = (user["age"] as Int) + 1 }, "User.age"),
    ("reads Post.user", { user, _ in _ = user[toMany: "posts"] }, nil),
    ("reads User", { user, _ in _ = (user["age"] as Int, user[toOne: "badge"]) }, nil),
    ("reads User.name writes User.age", { user, _ in user["age"] = (user["name"] as String).count }, nil),
    ("writes User.age", { user, _ in user["age"] = (user["age"] as Int) + 1 }, nil),
  ]

  @Test(arguments: reads.indices)
  func `Swift beyond its declared reads is refused with the row`(_ index: Int) async throws {
    let (words, body, place) = Self.reads[index]
    let lab = try await lab("transform swift f on User \(words)", [.objects("f", body)])
    guard let place else {
      #expect(try await lab.up().steps == [2], "\(words)")
      return
    }
    await #expect { try await lab.up() } throws: { error in
      guard case StoreError.migrationFailed(2, _, _, let reason) = error else { return false }
      return reason.contains("User row 1: read \(place) of row ")
        && reason.contains("which the step does not declare; write in its line: reads ")
        && reason.contains(place)
    }
    #expect(try lab.version == 1)
  }
}
