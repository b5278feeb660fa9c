// `transform swift` and `retype … using swift`: functions of the app, called inside a migration with the objects of the
// model at that point.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct SwiftTransforms {
  static let base = """
    create entity User {
        attribute name string
        attribute age int default 7
        attribute city string optional
        relationship posts -> Post many inverse Post.user on delete cascade
        relationship badge -> Badge inverse Badge.user
    }
    create entity Post {
        attribute text string
        relationship user -> User inverse User.posts
        relationship tags -> Tag many inverse Tag.posts
    }
    create entity Tag {
        attribute name string unique
        relationship posts -> Post many inverse Post.tags
    }
    create entity Badge {
        attribute name string
        relationship user -> User inverse User.badge
    }
    """
  static let fill = [
    "INSERT INTO Badge(id, name) VALUES (1, 'gold')",
    "INSERT INTO User(id, name, age, badge_id) VALUES (1, 'Ann Lee', 30, 1), (2, 'Bob', 40, NULL), "
      + "(9, 'Cy Di Ro', 50, NULL)",
    "UPDATE Badge SET user_id = 1",
    "INSERT INTO Post(id, text, user_id) VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', NULL)",
    "INSERT INTO Tag(id, name) VALUES (1, 'x'), (2, 'y')",
    "INSERT INTO Post_tags(Post_id, Tag_id) VALUES (1, 1), (1, 2), (3, 2)",
  ]

  private func lab(_ step: String, _ functions: [MigrationTransform]) async throws -> FunctionLab {
    try await FunctionLab([Self.base, step], functions, fill: Self.fill)
  }

  // MARK: Objects

  static let split = """
    add attribute User.first string default ""
    add attribute User.last string default ""
    transform swift split on User reads User.name writes User.first, User.last batch 2
    """
  static let splitting = MigrationTransform.objects("split") { user, _ in
    let parts = (user["name"] as String).split(separator: " ", maxSplits: 1)
    user["first"] = String(parts.first ?? "")
    user["last"] = String(parts.dropFirst().first ?? "")
  }

  @Test func `a function is called with each object, in batches, and what it sets is saved`() async throws {
    let lab = try await lab(Self.split, [Self.splitting])
    #expect(try await lab.up().steps == [2])
    #expect(
      try lab.rows("SELECT first, last FROM User ORDER BY id") == [
        ["Ann", "Lee"], ["Bob", ""], ["Cy", "Di Ro"],
      ])
    #expect(try lab.isSound())
  }

  @Test func `memory holds the objects of one batch`() async throws {
    let seen = Locked<[WeakObject]>([])
    let alive = Locked<[Int]>([])
    let lab = try await lab(
      "transform swift look on User batch 1",
      [
        .objects("look") { user, _ in
          alive.withLock { $0.append(seen.withLock { $0.count { $0.object != nil } }) }
          seen.withLock { $0.append(WeakObject(user)) }
        }
      ])
    try await lab.up()
    #expect(alive.withLock { $0 } == [0, 0, 0])
  }

  @Test func `it follows relationships, fetches, makes and deletes objects, by the rules of the model`()
    async throws
  {
    let lab = try await lab(
      "transform swift work on User batch 2",
      [
        .objects("work") { user, context in
          switch user["name"] as String {
          case "Ann Lee":
            // Her posts cascade, and their links go with them.
            context.delete(user)
          case "Bob":
            let tag = try context.insert(entity: "Tag") { $0["name"] = "new" }
            for post in user[toMany: "posts"] { try post.add(tag, to: "tags") }
            user["age"] = try context.fetch(entity: "User").count()
          default:
            _ = try context.insert(entity: "User") { $0["name"] = "made" }
            user[toOne: "badge"] = try context.fetch(entity: "Badge").first()
          }
        }
      ])
    try await lab.up()
    #expect(
      try lab.rows("SELECT id, name, age FROM User ORDER BY id") == [
        [2, "Bob", 2], [9, "Cy Di Ro", 50], [10, "made", 7],
      ])
    #expect(try lab.rows("SELECT id FROM Post ORDER BY id") == [[3], [4]])
    #expect(try lab.rows("SELECT Post_id, Tag_id FROM Post_tags ORDER BY 1, 2") == [[3, 2], [3, 3]])
    #expect(try lab.rows("SELECT user_id FROM Badge") == [[9]])
    #expect(try lab.isSound())
  }

  @Test func `the model is that of the step's place, whatever comes behind it`() async throws {
    let lab = try await lab(
      "rename attribute User.name -> title\ntransform swift shout on User batch 10\nrename entity User -> Person",
      [.objects("shout") { user, _ in user["title"] = (user["title"] as String).uppercased() }])
    try await lab.up()
    #expect(try lab.rows("SELECT title FROM Person ORDER BY id") == [["ANN LEE"], ["BOB"], ["CY DI RO"]])
  }

  // MARK: Failures

  struct NoSense: Error, CustomStringConvertible { let description = "no sense" }

  static let failures: [(String, MigrationTransform, String)] = [
    (
      "transform swift f on User batch 2",
      .objects("f") { user, _ in if user["name"] == "Bob" { throw NoSense() } else { user["age"] = 1 } },
      "User row 2: no sense"
    ),
    (
      "transform swift f on User", .objects("f") { user, _ in user["agee"] = 1 },
      "User row 1: User has no property \"agee\"; did you mean \"age\"?"
    ),
    ("transform swift f on User", .objects("f") { user, _ in user["age"] = "old" }, "User.age of row 1"),
    ("transform swift f on Tag", .objects("f") { tag, _ in tag["name"] = "same" }, "Tag.name of row"),
    (
      "transform swift f on User writes User.city", .objects("f") { user, _ in user["age"] = 1 },
      "wrote User.age of row 1, and the step does not say so; write into its line: writes User.age"
    ),
    (
      "transform swift f on User writes User.age, User.posts",
      .objects("f") { user, context in
        _ = try context.insert(entity: "Tag") { $0["name"] = "t\(user.id.rowID)" }
      },
      "made Tag 3, and the step does not say so; write into its line: writes Tag"
    ),
    (
      "transform swift f on Post writes Post.text", .objects("f") { post, context in context.delete(post) },
      "deleted Post 1"
    ),
    (
      "transform swift f on Tag writes Tag.name",
      .objects("f") { tag, _ in for post in tag[toMany: "posts"] { try post.remove(tag, from: "tags") } },
      "changed the links of Post.tags"
    ),
    (
      "retype User.age to int8 using swift f", .values("f") { (age: Int) in age * 100 },
      "3 of 3 values of User.age are no int8"
    ),
    (
      "retype User.name to int using swift f",
      .values("f") { (name: String) -> Int in if name == "Bob" { throw NoSense() } else { 1 } },
      "User.name of row 2: no sense"
    ),
  ]

  @Test(arguments: failures.indices)
  func `what goes wrong names step, entity and row, and undoes everything`(_ index: Int) async throws {
    let (step, function, reason) = Self.failures[index]
    let lab = try await lab("add index User(age)\n\(step)", [function])
    let before = try lab.image
    await #expect {
      try await lab.up()
    } throws: { error in
      guard case StoreError.migrationFailed(2, "s2", let operation, let found) = error else { return false }
      return operation.hasPrefix(step.split(separator: " ").prefix(2).joined(separator: " "))
        && found.contains(reason)
    }
    #expect(try lab.image == before)
  }

  @Test func `what is declared may be written, at either end of a relationship`() async throws {
    let lab = try await lab(
      "transform swift f on User writes Badge.user, Tag.posts, User.posts batch 1",
      [
        .objects("f") { user, context in
          for post in user[toMany: "posts"] {
            post[toOne: "user"] = nil
            for tag in post[toMany: "tags"] { try post.remove(tag, from: "tags") }
          }
          user[toOne: "badge"] = nil
        }
      ])
    try await lab.up()
    #expect(try lab.rows("SELECT count(*) FROM Post WHERE user_id NOT NULL") == [[0]])
    #expect(try lab.rows("SELECT Post_id FROM Post_tags") == [])
    #expect(try lab.rows("SELECT user_id FROM Badge") == [[.null]])
  }

  @Test(arguments: [
    ("transform swift f on Usr", "there is no entity Usr; did you mean \"User\"?"),
    ("transform swift f on User reads User.nam", "there is no property User.nam; did you mean \"name\"?"),
    ("transform swift f on User writes Pots", "there is no entity Pots; did you mean \"Post\"?"),
  ])
  func `a name that the model lacks at that point is an error of the step`(_ step: String, _ reason: String)
    throws
  {
    #expect {
      _ = try DowngradeLab.set([Self.base, step]).model(at: 2)
    } throws: { "\($0)".contains(reason) }
  }

  // MARK: Functions that are not given

  @Test func `a step whose function is missing is refused before anything begins`() async throws {
    for step in ["backup: always\n[up]\n\(Self.split)", "[up]\nretype User.name to int using swift split"] {
      let lab = try await lab(step, [])
      let bytes = try lab.folder.bytes("lab.store")
      let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
      #expect(plan.missingTransforms == ["split"] && plan.steps[0].transforms.map(\.rows) == [3])
      // A function of the other kind is none.
      let others =
        step.contains("retype") ? [Self.splitting] : [MigrationTransform.values("split") { (a: Int) in a }]
      for set in [lab.set, lab.set.transforming(by: others)] {
        await #expect(throws: StoreError.transformMissing(step: 2, name: "s2", transform: "split")) {
          try await Store.migrate(at: lab.url, key: testKey, migrations: set)
        }
      }
      #expect(try lab.folder.bytes("lab.store") == bytes && lab.folder.names == ["lab.store"])
    }
  }

  @Test func `an older program is not told to take back what needs a function of a later one`() async throws {
    let back =
      "[up]\nadd index User(age)\n[down]\ndrop index User(age)\ntransform swift undo on User batch 500"
    let undo = MigrationTransform.objects("undo") { user, _ in user["age"] = 0 }
    let lab = try await lab(back, [undo])
    try await lab.up()
    let older = try DowngradeLab.set([Self.base])
    await #expect {
      _ = try await Store.plan(at: lab.url, key: testKey, migrations: older)
    } throws: { error in
      guard case StoreError.storeIsNewer(_, 2, 1, _, canDowngrade: false) = error else { return false }
      return true
    }
    await #expect(throws: StoreError.transformMissing(step: 2, name: "s2", transform: "undo")) {
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: older)
    }
    try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    #expect(try lab.rows("SELECT DISTINCT age FROM User") == [[0]])
  }

  // MARK: Progress

  @Test func `progress tells the rows, and a cancellation is heard behind each batch`() async throws {
    let progress = Progress(totalUnitCount: 1)
    let told = Locked<[TransformProgress?]>([])
    let lab = try await lab(
      "transform swift f on User batch 1",
      [
        .objects("f") { _, _ in
          told.withLock { $0.append(progress.userInfo[.storeIsTransforming] as? TransformProgress) }
        }
      ])
    try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set, progress: progress)
    #expect(told.withLock { $0 }.map { $0?.done } == [nil, 1, 2])
    #expect(told.withLock { $0.last }??.all == 3)
    #expect(progress.userInfo[.storeIsTransforming] == nil)
    #expect(progress.completedUnitCount == progress.totalUnitCount)
    let other = Progress(totalUnitCount: 1)
    let stopping = try await self.lab(
      "transform swift f on User batch 1",
      [.objects("f") { user, _ in if user.id.rowID == 2 { other.cancel() } }])
    await #expect(throws: CancellationError.self) {
      try await Store.migrate(at: stopping.url, key: testKey, migrations: stopping.set, progress: other)
    }
    #expect(try stopping.version == 1)
  }

  // MARK: New stores, and there and back

  @Test func `a new store runs functions over what its seeds made, and needs none where nothing is`()
    async throws
  {
    let seeded = [
      Self.base, "seed { INSERT INTO $User($User.name) VALUES ('Dee Fox') }", Self.split,
      "transform sql { INSERT INTO $Tag($Tag.name) VALUES ('made') }",
    ]
    let lab = try await FunctionLab(seeded, [Self.splitting], at: 4)
    #expect(try lab.rows("SELECT first, last FROM User") == [["Dee", "Fox"]])
    #expect(try lab.rows("SELECT name FROM Tag") == [["made"]])
    let migrated = try await FunctionLab(seeded, [Self.splitting], at: 1)
    try await migrated.up()
    #expect(try migrated.image == lab.image)
    // Without a seed: the transform of SQL runs all the same, and nobody is there to be split.
    let empty = try await FunctionLab([Self.base, Self.split, seeded[3]], [], at: 3)
    #expect(try empty.rows("SELECT name FROM Tag") == [["made"]])
    await #expect(throws: StoreError.transformMissing(step: 3, name: "s3", transform: "split")) {
      _ = try await FunctionLab(seeded, [], at: 4)
    }
  }

  @Test func `what only the step's own properties hold is taken back with them, and done again`() async throws
  {
    let lab = try await lab(Self.split, [Self.splitting])
    // Objects that were saved are of a later version.
    func rows() throws -> [[SQLValue]] {
      try lab.rows("SELECT id, name, age, city, badge_id FROM User ORDER BY id")
    }
    let (before, users) = (try lab.image, try rows())
    try await lab.up()
    let after = try lab.image
    #expect(try await lab.down().takenBack == [2])
    #expect(try lab.image.model == before.model && lab.image.physicalHash == before.physicalHash)
    #expect(try rows() == users)
    try await lab.up()
    try lab.run("UPDATE User SET first = 'wrong'")
    try await Store.redo(
      at: lab.url, key: testKey, migrations: lab.set, makesBackups: false,
      allowing: ["User.first", "User.last"])
    #expect(
      try lab.rows("SELECT first, last FROM User") == [["Ann", "Lee"], ["Bob", ""], ["Cy", "Di Ro"]])
    #expect(try lab.image.model == after.model)
    for (line, isLossless) in [
      ("transform swift f on User writes User.age", false), ("transform swift f on User", false),
      (
        "add attribute User.z int optional\nrename attribute User.z -> w\ntransform swift f on User writes User.w",
        true
      ),
      ("create entity W {\n}\ntransform swift f on User writes W", true),
      ("rename attribute User.age -> z\ntransform swift f on User writes User.z", false),
    ] {
      let set = try DowngradeLab.set([Self.base, line])
      guard case .operations = try set.steps[1].wayBack(from: set.model(at: 1)) else {
        #expect(!isLossless, "\(line)")
        continue
      }
      #expect(isLossless, "\(line)")
    }
  }

  // MARK: Values

  @Test func `values become those of another type, and nil stays nil`() async throws {
    let lab = try await lab(
      "retype User.name to int using swift length\nrename attribute User.city -> town\nretype User.town to int using swift towns",
      [.values("length") { (name: String) in name.count }, .values("towns") { (town: String) in town.count }])
    let before = try lab.image
    try await lab.up()
    #expect(
      try lab.rows("SELECT name, typeof(name), town FROM User ORDER BY id") == [
        [7, "integer", .null], [3, "integer", .null], [8, "integer", .null],
      ])
    #expect(try lab.isSound())
    let image = try lab.image
    let none = try await self.lab(
      "retype User.city to string using swift f", [.values("f") { (town: String?) in town ?? "none" }])
    try await none.up()
    #expect(try none.rows("SELECT DISTINCT city FROM User") == [["none"]])
    #expect(image != before)
  }

  // MARK: Text

  @Test func `the text of a step has it in one spelling`() throws {
    for (line, canonical) in [
      ("transform swift f on E", "transform swift f on E batch 500"),
      (
        "transform  swift f on E batch 7 writes F, E.b,E.a reads E.c # why",
        "transform swift f on E reads E.c writes E.a, E.b, F batch 7"
      ),
      ("retype E.a to int using  swift f", "retype E.a to int using swift f"),
      ("retype E.a to int using (swift)", "retype E.a to int using (swift)"),
    ] {
      let step = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
      #expect(step.canonicalText == canonical)
      #expect(try MigrationStep(number: 1, name: "s", text: step.text) == step)
    }
    for (line, reason) in [
      ("transform swift", "the function's name is missing"), ("transform swift f E", "on is missing"),
      ("transform swift f on E batch", "the size of the batches"),
      ("transform swift f on E batch 0", "a number from 1"),
      ("transform swift f on E write E.a", "did you mean \"writes\"?"),
      ("transform swift f on E reads E.a reads E.b", "each once"), ("transform f on E", "sql is missing"),
      ("transform swift f on E writes", "is missing"), ("retype E.a to int using swift", "function's name"),
    ] {
      #expect {
        _ = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
      } throws: { "\($0)".contains(reason) }
    }
  }
}

/// An object that nobody keeps on its account.
private final class WeakObject: @unchecked Sendable {
  // Set once, on the thread that migrates.
  weak var object: DynamicObject?
  init(_ object: DynamicObject) { self.object = object }
}

/// A store of some steps and functions.
struct FunctionLab {
  private let lab: DowngradeLab
  let set: MigrationSet
  var folder: TemporaryFolder { lab.folder }
  var url: URL { lab.url }
  var image: StoreImage { get throws { try lab.image } }
  var version: Int { get throws { try lab.version } }

  init(_ steps: [String], _ functions: [MigrationTransform], at version: Int = 1, fill: [String] = [])
    async throws
  {
    set = try DowngradeLab.set(steps).transforming(by: functions)
    lab = try await DowngradeLab(set, at: version, fill: fill)
  }

  func rows(_ sql: String) throws -> [[SQLValue]] { try lab.rows(sql) }
  func run(_ sql: String) throws { try lab.run(sql) }

  func isSound() throws -> Bool {
    let connection = try lab.open()
    return try connection.findings().isEmpty && StoreInfo(connection).drift(connection).isEmpty
  }

  @discardableResult
  func up(allowing losses: Set<String> = []) async throws -> MigrationOutcome {
    try await lab.up(allowing: losses)
  }

  @discardableResult
  func down() async throws -> MigrationOutcome { try await lab.down(1) }
}
