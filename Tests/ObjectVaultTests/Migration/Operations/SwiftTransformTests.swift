// `transform swift` and `retype … using swift`: functions of the app, which a migration calls with the
// objects of the model at that point.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct SwiftTransforms {
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
    "INSERT INTO User(id, name, age) VALUES (1, 'Ann Lee', 30), (2, 'Bob', 40), (9, 'Cy Di Ro', 50)",
    "UPDATE Badge SET user_id = 1",
    "INSERT INTO Post(id, text, user_id) VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', NULL)",
    "INSERT INTO Tag(id, name) VALUES (1, 'x'), (2, 'y')",
    "INSERT INTO Post_tags(Post_id, Tag_id) VALUES (1, 1), (1, 2), (3, 2)",
  ]

  private func lab(_ step: String, _ functions: [MigrationTransform]) async throws -> FunctionLab {
    try await FunctionLab([Self.base, step], functions, fill: Self.fill)
  }

  @Test func `a function of the wrong kind is refused, with both kinds in the reason`() async throws {
    let function = MigrationTransform.objects("f") { _, _ in }
    let lab = try await lab("retype User.age to int using swift f", [function])
    await #expect {
      try await lab.up()
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, "retype User.age to int using swift f", let reason) = error
      else {
        return false
      }
      return reason.contains("takes objects, but this line calls it with a value")
    }
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

  @Test func `a function is called with each object, in batches, and its changes are saved`() async throws {
    let lab = try await lab(Self.split, [Self.splitting])
    #expect(try await lab.up().steps == [2])
    #expect(
      try lab.rows("SELECT first, last FROM User ORDER BY id") == [
        ["Ann", "Lee"], ["Bob", ""], ["Cy", "Di Ro"],
      ])
    #expect(try lab.isSound())
  }

  @Test func `memory has only the objects of one batch`() async throws {
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

  @Test func `a function can follow relationships, fetch, insert and delete by the model's rules`()
    async throws
  {
    let lab = try await lab(
      "transform swift work on User batch 2",
      [
        .objects("work") { user, context in
          switch user["name"] as String {
          case "Ann Lee":
            // Her posts are deleted by the cascade, and so are their links.
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

  @Test func `a link whose end is deleted in the same batch is deleted, too`() async throws {
    let lab = try await lab(
      "transform swift work on Post batch 3",
      [
        .objects("work") { post, context in
          let tag =
            try post["text"] == "b"
            ? context.fetch(entity: "Tag").where("name == 'x'").first()
            : context.insert(entity: "Tag") { $0["name"] = "of \(post["text"] as String)" }
          guard let tag else { return }
          try post.add(tag, to: "tags")
          // Writes the new objects and links first.
          _ = try context.fetch(entity: "Post").where("ANY tags.name LIKE 'of%'").count()
          if post["text"] != "c" { context.delete(tag) }
        }
      ])
    try await lab.up()
    #expect(
      try lab.rows("SELECT name FROM Tag ORDER BY id") == [["y"], ["of c"]])
    #expect(
      try lab.rows(
        "SELECT p.text, t.name FROM Post_tags l JOIN Post p ON p.id = Post_id JOIN Tag t ON t.id = Tag_id ORDER BY 1, 2"
      )
        == [["a", "y"], ["c", "of c"], ["c", "y"]])
    #expect(try lab.rows("SELECT count(*) FROM Post_tags") == [[3]])
    #expect(try lab.isSound())
  }

  @Test func `a function gets the model at its place in the step, whatever follows`() async throws {
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
      "wrote User.age of row 1, which the step does not declare; write in its line: writes User.age"
    ),
    (
      "transform swift f on User writes User.age, User.posts",
      .objects("f") { user, context in
        _ = try context.insert(entity: "Tag") { $0["name"] = "t\(user.id.rowID)" }
      },
      "inserted Tag 3, which the step does not declare; write in its line: writes Tag"
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
      "3 of 3 values of User.age are invalid (expected: int8)"
    ),
    (
      "retype User.name to int using swift f",
      .values("f") { (name: String) -> Int in if name == "Bob" { throw NoSense() } else { 1 } },
      "User.name of row 2: no sense"
    ),
  ]

  @Test(arguments: failures.indices)
  func `a failing function is reported with step, entity and row, and all is rolled back`(_ index: Int)
    async throws
  {
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

  @Test func `a declared relationship may be written at either end`() async throws {
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
  func `an unknown name in a transform swift is an error of the step, with a suggestion`(
    _ step: String, _ reason: String
  ) throws {
    #expect {
      _ = try DowngradeLab.set([Self.base, step]).model(at: 2)
    } throws: { "\($0)".contains(reason) }
  }

  // MARK: Missing functions

  @Test func `a step whose function is missing is refused before anything begins`() async throws {
    for step in ["backup: always\n[up]\n\(Self.split)", "[up]\nretype User.name to int using swift split"] {
      let lab = try await lab(step, [])
      let bytes = try lab.folder.bytes("lab.store")
      let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
      #expect(plan.missingTransforms == ["split"] && plan.steps[0].transforms.map(\.rows) == [3])
      await #expect(throws: StoreError.transformMissing(step: 2, name: "s2", transform: "split")) {
        try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
      }
      // A function of the other kind does not count.
      let others =
        step.contains("retype") ? [Self.splitting] : [MigrationTransform.values("split") { (a: Int) in a }]
      await #expect {
        try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set.transforming(by: others))
      } throws: { error in
        guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
        return reason.contains("the function \"split\" of this program takes")
      }
      #expect(try lab.folder.bytes("lab.store") == bytes && lab.folder.names == ["lab.store"])
    }
  }

  @Test func `an older program is not advised to roll back a step that needs a later function`() async throws
  {
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

  @Test func `progress reports the rows, and a cancellation takes effect after each batch`() async throws {
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
}

/// A weak reference to an object.
private final class WeakObject: @unchecked Sendable {
  // Set once, on the thread that migrates.
  weak var object: DynamicObject?
  init(_ object: DynamicObject) { self.object = object }
}
