// A plan checks existing rows against the conditions of pending steps, where no earlier step writes them.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PlanRefusals {
  let lab: MigrationLab
  init() async throws {
    lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
  }

  private func plan(_ steps: String...) async throws -> MigrationPlan {
    try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([MigrationOperations.base] + steps))
  }

  static let cases:
    [(step: String, entity: String, properties: [String], rule: String, count: Int, rows: [Int64])] = [
      ("add index Post(user) unique", "Post", ["user"], "unique", 1, [2]),
      ("make User.city required", "User", ["city"], "required", 1, [2]),
      ("make Post.user required", "Post", ["user"], "required", 1, [4]),
      (
        "rename entity Post -> Note\nrename relationship Note.user -> author\nadd index Note(author) unique",
        "Note", ["author"], "unique", 1, [2]
      ),
      ("rename attribute User.city -> town\nmake User.town required", "User", ["town"], "required", 1, [2]),
      ("add attribute User.mail string", "User", ["mail"], "required", 2, [1, 2]),
      ("add attribute Post.code int unique default 3", "Post", ["code"], "unique", 4, [1, 2, 3, 4]),
      ("add relationship Post.main -> Tag required", "Post", ["main"], "required", 4, [1, 2, 3, 4]),
    ]

  @Test(arguments: cases.indices)
  func `a plan counts the rows that a step would reject, and the step fails`(_ index: Int) async throws {
    let each = Self.cases[index]
    let before = try lab.folder.bytes("lab.store")
    let found = try await plan(each.step)
    #expect(found.refusals.count == 1)
    let refusal = try #require(found.refusals.first)
    #expect(refusal.entity == each.entity && refusal.properties == each.properties)
    #expect(refusal.rule.rawValue == each.rule && refusal.count == each.count && refusal.rows == each.rows)
    #expect(found.steps[0].unasked.isEmpty)
    #expect(try lab.folder.bytes("lab.store") == before && lab.folder.names == ["lab.store"])
    await #expect {
      try await lab.migrate(each.step)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, _) = error else { return false }
      return operation == refusal.operation
    }
  }

  // The column keeps a text that is no number, and the type check rejects it. Two such texts are not equal
  // numbers.
  @Test(arguments: ["int", "double"])
  func `texts that are no numbers are not counted as duplicates of a number`(_ type: String) async throws {
    let base = "create entity U {\n attribute n string unique\n}"
    for (values, message) in [
      ("'Xa', 'Xb'", "2 of 2 values"), ("'12a', '12b'", "2 of 2 values"), ("'7', '7a'", "1 of 2 values"),
    ] {
      let rows = values.split(separator: ",").enumerated().map { "(\($0.offset + 1), \($0.element))" }
      let lab = try await MigrationLab(
        base, fill: ["INSERT INTO U(id, n) VALUES \(rows.joined(separator: ", "))"])
      let step = "retype U.n to \(type) using ($U.n || '')"
      let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([base, step]))
      #expect(plan.refusals.filter { $0.rule == .unique }.isEmpty, "\(plan.refusals)")
      await #expect { try await lab.migrate(step) } throws: { error in
        let reason = StoppedStep(error)?.reason ?? ""
        return reason.hasPrefix(message) && reason.contains("invalid (expected: \(type))")
      }
    }
  }

  @Test func `a query of a view is left to the run when a table that the view may read changes first`()
    async throws
  {
    let base = """
      create entity A {
          attribute n string
      }
      create entity B {
          attribute x int
      }
      create raw view V { SELECT $B.id, $B.x FROM $B }
      """
    let requirement = "require \"none\" { SELECT count(*) = 0 FROM V }"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO B(id, x) VALUES (1, 0)"])
    let set = try lab.set([base, "transform sql { DELETE FROM $B }", requirement])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.refusals.isEmpty, "\(plan.refusals)")
    #expect(plan.steps[1].unasked.contains { $0.contains("the view V may read tables that change first") })
    try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    // While its tables do not change, the view has the same result now as in the run.
    let other = try await MigrationLab(base, fill: ["INSERT INTO B(id, x) VALUES (1, 0)"])
    let asked = try await Store.plan(
      at: other.url, key: testKey, migrations: other.set([base, requirement]))
    #expect(asked.refusals.map(\.count) == [1], "\(asked)")
  }

  @Test func `the uniqueness of values that a step computes is checked only by the run`() async throws {
    let base = "create entity U {\n attribute n string unique\n}"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO U(id, n) VALUES (1, 'a'), (2, 'b')"])
    for step in ["retype U.n to int using swift f", "retype U.n to int using (length($U.n))"] {
      let set = try lab.set([base, step]).transforming(by: [.values("f") { (text: String) in text.count }])
      let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
      #expect(plan.refusals.isEmpty)
      #expect(
        plan.steps[0].unasked == [
          "\(step): not known before the run: the step itself computes the values"
        ])
    }
  }

  @Test func `make one refuses to drop links of a required relationship, and the plan reports it`()
    async throws
  {
    let base = """
      create entity Note {
          relationship links -> Link many inverse Link.note on delete cascade
      }
      create entity Link {
          attribute text string
          relationship note -> Note required inverse Note.links
      }
      """
    let fill = [
      "INSERT INTO Note(id) VALUES (1), (2)",
      "INSERT INTO Link(id, text, note_id) VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)",
    ]
    let lab = try await MigrationLab(base, fill: fill)
    let step = "make Note.links one picking ($Link.text)"
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([base, step]))
    #expect(plan.refusals.map(\.rows) == [[1]] && "\(plan.refusals)".contains("make Link.note optional"))
    await #expect { try await lab.migrate(step) } throws: { "\($0)".contains("make Link.note optional") }
    try await lab.migrate("make Link.note optional\n\(step)")
    #expect(try lab.rows("SELECT id, note_id FROM Link ORDER BY id") == [[1, 1], [2, .null], [3, 2]])
  }

  @Test func `a plan checks columns after any number of steps that only add other columns`() async throws {
    let steps = (0..<120).map { "add attribute User.a\($0) int default \($0)" }
    let end = "add index User(city) unique"
    let set = try lab.set([MigrationOperations.base] + steps + [end])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.steps.flatMap(\.unasked).isEmpty && plan.refusals.isEmpty)
    let connection = try lab.open()
    try connection.execute("UPDATE User SET city = 'Bonn'")
    connection.close()
    let refused = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(refused.refusals.map(\.properties) == [["city"]] && refused.refusals[0].count == 1)
    // The added column is not in the file.
    let more = try lab.set([MigrationOperations.base] + steps + ["add index User(a7) unique"])
    let unasked = try await Store.plan(at: lab.url, key: testKey, migrations: more).steps.flatMap(\.unasked)
    #expect(
      unasked == [
        "add index User(a7) unique: not known before the run: step 0009 step9 adds User.a7 first"
      ])
  }

  @Test(arguments: [
    "make User.age optional\nmake User.age required", "make User.city required filling \"x\"",
    "add index Post(text, user) unique",
    "add attribute User.mail string unique optional", "add attribute User.mail string default \"\"",
    "create entity Empty {\n attribute a int\n}\nadd index Empty(a) unique",
    "add attribute User.x int optional\nadd index User(x, city) unique",
  ])
  func `a plan reports no rejected row for a step whose condition the rows meet`(_ step: String) async throws
  {
    let found = try await plan(step)
    #expect(found.refusals.isEmpty && found.steps[0].unasked.isEmpty)
    try await lab.migrate(step)
  }

  @Test func `texts that are numbers are accepted where they become numbers`() async throws {
    let steps = [MigrationOperations.base, "add attribute User.zip string default \"7\""]
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: try lab.set(steps))
    let set = try lab.set(steps + ["retype User.zip to int16 using ($User.zip)"])
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: set).refusals.isEmpty)
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    #expect(try lab.rows("SELECT DISTINCT zip, typeof(zip) FROM User") == [[7, "integer"]])
  }

  @Test func `a downgrade plan counts values that do not fit the narrower type`() async throws {
    let set = try lab.set([
      MigrationOperations.base, "add attribute User.small int16 optional", "retype User.small to int",
    ])
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    func plan() async throws -> MigrationPlan {
      try await Store.planDowngrade(at: lab.url, key: testKey, to: 2, migrations: set)
    }
    func write(_ value: Int) throws {
      let connection = try lab.open()
      defer { connection.close() }
      try connection.execute(sql: "UPDATE User SET small = \(value) WHERE id = 2")
    }
    try write(32_767)
    #expect(try await plan().refusals.isEmpty)
    try write(32_768)
    let refusal = try #require(try await plan().refusals.first)
    #expect(refusal.rule == .fitting && refusal.entity == "User" && refusal.properties == ["small"])
    #expect(refusal.count == 1 && refusal.rows == [2] && "\(refusal)".contains("not valid for the new type"))
    await #expect(throws: StoreError.self) {
      try await Store.downgrade(at: lab.url, key: testKey, to: 2, migrations: set)
    }
    try write(-32_768)
    try await Store.downgrade(at: lab.url, key: testKey, to: 2, migrations: set)
    #expect(try lab.rows("SELECT small FROM User WHERE id = 2") == [[-32_768]])
  }

  @Test(arguments: [
    ("int16", "int", "7", false), ("bool", "uint8", "1", false), ("float", "double", "0.5", false),
    ("uuid", "string", "'6B29FC40-CA47-1067-B31D-00DD010662DA'", false), ("int16", "double", "7", true),
    ("decimal", "string", "'1.5'", true),
  ])
  func `a retype does not rebuild a table when each value is stored as before`(
    _ old: String, _ new: String, _ value: String, _ isRebuilt: Bool
  ) async throws {
    let steps = [
      MigrationOperations.base, "add attribute User.kept \(old) optional indexed",
      "retype User.kept to \(new)",
    ]
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: try lab.set(Array(steps.prefix(2))))
    let connection = try lab.open()
    try connection.execute(sql: "UPDATE User SET kept = \(value) WHERE id = 1")
    connection.close()
    let set = try lab.set(steps)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.steps[0].rebuiltTables == (isRebuilt ? ["User"] : []), "\(plan.steps[0].sql)")
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    #expect(
      try lab.isSound()
        && lab.rows("SELECT CAST(kept AS TEXT) = \(value) || '' OR kept = \(value) FROM User WHERE id = 1")
          == [[1]]
    )
    // A value of another type is found, although no row was written.
    guard !isRebuilt, new != "string", new != "double" else { return }
    try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: set, allowing: ["User.kept"])
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: try lab.set(Array(steps.prefix(2))))
    let other = try lab.open()
    try other.execute(sql: "UPDATE User SET kept = 'x' WHERE id = 1")
    other.close()
    await #expect(throws: StoreError.self) {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    }
  }

  @Test func `a plan does not check rows that an earlier step writes, and states that`() async throws {
    let found = try await plan(
      "transform sql { UPDATE $Post SET $Post.user = NULL WHERE $Post.id = 2 }",
      "add index Post(user) unique\nmake User.city required"
    )
    #expect(found.refusals.map(\.entity) == ["User"])
    #expect(found.steps[0].unasked == ["transform sql: its effect on rows is only known when the step runs"])
    #expect(
      found.steps[1].unasked == [
        "add index Post(user) unique: not known before the run: step 0002 step2 changes Post first"
      ])
  }
}
