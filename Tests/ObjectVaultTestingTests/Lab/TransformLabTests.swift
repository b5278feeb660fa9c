// The lab with steps that call functions of the app, and with steps that split, merge and join.

import ObjectVault
import ObjectVaultTesting
import Testing

@Suite(.tags(.slow)) struct TransformLab {
  static let shouting: [MigrationTransform] = [
    .objects("shout") { user, _ in user["loud"] = (user["name"] as String).uppercased() },
    .values("double") { (age: Int) in Double(age) },
  ]

  @Test func `steps with functions of the app pass every check that needs no other program`() async throws {
    let steps = try Steps.set([
      Steps.blog,
      "add attribute User.loud string default \"\"\ntransform swift shout on User writes User.loud batch 3",
      "retype User.age to double using swift double",
    ])
    let lab = try MigrationLab(steps.transforming(by: Self.shouting))
    try await lab.checkAll()
    let old = try await lab.store(at: 1)
    let ada = try old.insert("User", ["name": "Ada", "age": 7])
    let new = try await old.migrate()
    #expect(try new.object(ada)["loud"] == "ADA" && new.object(ada)["age"] == 7.0)
  }

  @Test func `a missing function makes the check fail`() async throws {
    let lab = try MigrationLab(
      Steps.set([Steps.blog, "transform swift shout on User"]))
    await #expect(throws: (any Error).self) { try await lab.checkEveryPath() }
  }

  @Test func `steps that split entities and turn links into objects pass every check`() async throws {
    let lab = try MigrationLab(
      Steps.set([
        Steps.blog
          + "\nadd relationship User.likes -> Status many inverse Status.fans\nadd relationship Status.fans -> User many inverse User.likes",
        "create entity Profile {\n relationship user -> User inverse User.profile\n}\n"
          + "add relationship User.profile -> Profile inverse Profile.user on delete cascade\n"
          + "move attribute User.name, User.age -> Profile.name, Profile.age by User.profile",
        "make relationship User.likes an entity Like (who, what) inverse User.liked, Status.likes",
      ]))
    try await lab.checkAll()
  }

  @Test func `a move of attributes may set the to-one that it uses`() async throws {
    let lab = try MigrationLab(
      Steps.set([
        "create entity Note {\n attribute text string optional\n relationship page -> Page inverse Page.note\n}\n"
          + "create entity Page {\n attribute n int default 1\n relationship note -> Note inverse Note.page\n}",
        "move attribute Note.text -> Page.text by Note.page",
      ]))
    try await lab.checkEveryPath()
  }
}
