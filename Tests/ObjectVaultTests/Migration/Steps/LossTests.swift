// The losses of a step are exactly the tables and columns without a successor. Opening, plan, backup and
// check use the same list.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Losses {
  static let base = """
    create entity User {
        attribute name string
        attribute city string optional
        relationship statuses -> Status many
        relationship posts -> Post many inverse Post.user
    }
    create entity Status {
        attribute text string
        relationship tags -> Tag many inverse Tag.statuses
    }
    create entity Post {
        attribute text string
        relationship user -> User inverse User.posts
    }
    create entity Tag {
        attribute name string
        relationship statuses -> Status many inverse Status.tags
    }
    """
  static let fill = [
    "INSERT INTO User(id, name) VALUES (1, 'Ann')", "INSERT INTO Status(id, text) VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO User_statuses(User_id, Status_id) VALUES (1, 1), (1, 2)",
    "INSERT INTO Tag(id, name) VALUES (1, 't')", "INSERT INTO Status_tags VALUES (1, 1)",
    "INSERT INTO Post(id, text, user_id) VALUES (1, 'p', 1)",
  ]

  let lab: MigrationLab
  init() async throws { lab = try await MigrationLab(Self.base, fill: Self.fill) }

  static let steps: [(String, [String])] = [
    ("add relationship Status.user -> User inverse User.statuses", ["User.statuses"]),
    ("add relationship Status.users -> User many inverse User.statuses", []),
    ("drop attribute User.city", ["User.city"]),
    ("rename attribute User.city -> town\ndrop attribute User.town", ["User.town"]),
    ("rename entity User -> Person\ndrop attribute Person.city", ["Person.city"]),
    ("drop attribute User.city\nadd attribute User.city string optional", ["User.city"]),
    ("drop attribute User.city\nrename entity User -> Person", ["User.city"]),
    ("add attribute User.x int optional\ndrop attribute User.x", []),
    (
      "rename attribute User.name -> x\nrename attribute User.city -> name\nrename attribute User.x -> city",
      []
    ),
    ("drop relationship User.posts", []), ("drop relationship Post.user", ["Post.user"]),
    ("drop relationship User.statuses", ["User.statuses"]), ("drop relationship Status.tags", []),
    ("drop relationship Status.tags\nadd relationship Status.tags -> Tag many inverse Tag.statuses", []),
    (
      "drop relationship Status.tags\ndrop relationship Tag.statuses\ndrop entity Tag",
      ["Tag", "Status.tags"]
    ),
    (
      "drop relationship Status.tags\ntransform sql { DELETE FROM $Post }\ndrop relationship Tag.statuses",
      ["Tag.statuses"]
    ),
    ("drop relationship User.posts\ndrop entity Post", ["Post"]),
    ("drop relationship User.posts\ndrop entity Post\nrename entity Tag -> Post", ["Post"]),
    ("rename relationship User.statuses -> notes\nrename entity Status -> Note", []),
  ]

  @Test(arguments: steps)
  func `a loss is an old table or column without a successor`(_ step: String, _ losses: [String]) async throws
  {
    let set = try lab.set([Self.base, step])
    #expect(try set.losses(ofStep: 2) == losses)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.losses == losses)
    let needsCopy = !losses.isEmpty || step.contains("transform")
    #expect(plan.makesBackup == needsCopy)
    if !losses.isEmpty {
      await #expect(
        throws: StoreError.lossNotAllowed(
          step: 2, name: "step2", losses: losses, emptied: plan.steps[0].emptied)
      ) { try await Store.migrate(at: lab.url, key: testKey, migrations: set) }
    }
    let outcome = try await Store.migrate(
      at: lab.url, key: testKey, migrations: set, allowing: Set(losses))
    #expect((outcome.backup != nil) == needsCopy)
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    ("drop relationship Post.user", ["Post.user": ["User.posts"]]),
    (
      "rename entity User -> Person\nrename relationship Person.posts -> texts\ndrop relationship Post.user",
      ["Post.user": ["Person.texts"]]
    ),
    (
      "drop relationship Post.user\nadd relationship Post.author -> User inverse User.posts",
      ["Post.user": ["User.posts"]]
    ),
    ("drop relationship Post.user\ndrop relationship User.posts", [:]),
    ("drop relationship User.posts\ndrop relationship Post.user", [:]),
    ("drop relationship User.posts", [:]), ("drop relationship Tag.statuses", [:]),
    ("drop relationship User.posts\ndrop entity Post", [:]), ("make Post.user many", [:]),
  ])
  func `a to-many that a lost to-one empties is reported with the loss`(
    _ step: String, _ emptied: [String: [String]]
  ) async throws {
    let set = try lab.set([Self.base, step])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.steps[0].emptied == emptied)
    let names = emptied.keys.sorted()
    #expect(
      plan.losses.map(plan.text)
        == plan.losses.map { $0 + (emptied[$0].map { " (which empties \($0[0]))" } ?? "") })
    let lint = try set.findings().filter { $0.rule == .dropsProperty }
    #expect(names.allSatisfy { name in lint.contains { $0.text.hasPrefix(plan.text(ofLoss: name)) } })
    if !plan.losses.isEmpty {
      await #expect(
        throws: StoreError.lossNotAllowed(step: 2, name: "step2", losses: plan.losses, emptied: emptied)
      ) { try await Store.migrate(at: lab.url, key: testKey, migrations: set) }
    }
    // Allowing the one loss is enough.
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set, allowing: Set(plan.losses))
    #expect(plan.losses.count < 3 && plan.losses.filter { emptied[$0] != nil } == names)
    for name in emptied.values.joined() {
      let parts = name.split(separator: ".").map(String.init)
      #expect(
        try lab.set([Self.base, step]).model(at: 2).entity(named: parts[0])?.relationship(named: parts[1])
          != nil)
    }
    #expect(try lab.isSound())
  }

  @Test func `a proposal reports a loss with the to-many that it empties`() throws {
    let step = "drop relationship Post.user"
    let proposal = try lab.set([Self.base]).proposal(for: lab.set([Self.base, step]).model(at: 2))
    #expect(proposal.lines == [step] && proposal.losses == ["Post.user"])
    #expect(proposal.emptied == ["Post.user": ["User.posts"]])
    #expect(proposal.lossTexts == ["Post.user (which empties User.posts)"])
    let review = try lab.set([Self.base, step]).review(lab.set([Self.base, step]).models())
    #expect(
      review.losses.map(\.texts) == [[], proposal.lossTexts] && review.losses[1].names == ["Post.user"])
  }

  @Test func `links that are not listed as lost are kept`() async throws {
    try await lab.migrate(
      "add relationship Status.users -> User many inverse User.statuses\ndrop relationship Tag.statuses")
    #expect(try lab.rows("SELECT Status_id, User_id FROM Status_users ORDER BY 1") == [[1, 1], [2, 1]])
    #expect(try lab.rows("SELECT Status_id, Tag_id FROM Status_tags") == [[1, 1]])
  }

  @Test func `a copy is made before a retype with an expression`() async throws {
    let set = try lab.set([Self.base, "retype User.name to int using (length($User.name))"])
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: set).backup != nil)
  }

  // MARK: Ids

  @Test(arguments: [
    ("drop relationship User.posts\ndrop entity Post\nrename entity Tag -> Post", "Post", 20),
    ("rename entity User -> T\nrename entity Status -> User\nrename entity T -> Status", "User", 30),
    ("rename entity User -> T\nrename entity Status -> User\nrename entity T -> Status", "Status", 30),
    ("rename entity Post -> A", "A", 20), ("rename entity Post -> A\ncreate entity Post {\n}", "Post", 20),
    ("drop relationship User.posts\ndrop entity Post\ncreate entity Post {\n}", "Post", 20),
    ("drop relationship User.posts\ndrop entity Post\nrename entity User -> Post", "Post", 20),
  ])
  func `no id is issued twice under an entity's name, whichever entity had the name before`(
    _ step: String, _ entity: String, _ last: Int64
  ) async throws {
    try lab.open().execute(
      "INSERT OR REPLACE INTO vault_ids VALUES ('User', 10), ('Post', 20), ('Status', 30), ('Tag', 5)")
    try await lab.migrate(step)
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = '\(entity)'") == [[.integer(last)]])
    #expect(try lab.isSound())
  }
}
