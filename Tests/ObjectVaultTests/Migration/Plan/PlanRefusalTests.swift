// A plan asks the rows what the steps will ask of them, where no earlier step writes there.

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
      (
        "add attribute Post.kind int default 1\nadd index Post(kind, user) unique", "Post", ["kind", "user"],
        "unique", 1, [2]
      ),
    ]

  @Test(arguments: cases.indices)
  func `rows that a step would refuse are counted, and the step fails`(_ index: Int) async throws {
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

  @Test(arguments: [
    // Each with the number of values that would be there more than once, and the last row of the first of them.
    ("retype U.n to int using (length($U.n))", 2, [2, 4]),
    ("retype U.n to string using (CASE WHEN id < 3 THEN 1 WHEN id = 3 THEN '1' ELSE $U.n END)", 1, [3]),
    ("retype U.n to double using (CASE id WHEN 1 THEN '1' WHEN 2 THEN 1 ELSE id END)", 1, [2]),
    ("retype U.n to int using (CASE id WHEN 1 THEN '01' WHEN 2 THEN 1 ELSE id END)", 1, [2]),
    ("retype U.n to decimal using (CASE id WHEN 1 THEN '1.0' WHEN 2 THEN '1.00' ELSE id END)", 1, [2]),
    ("retype U.m to int using (1)", 1, [2]),
    ("rename attribute U.n -> name\nretype U.name to int using (length($U.name))", 2, [2, 4]),
    (
      "retype U.n to int using (length($U.n))\nrename entity U -> W\nrename attribute W.n -> name", 2, [2, 4]
    ),
  ])
  func `values that a new type makes alike are counted where each may be there once`(
    _ step: String, _ count: Int, _ rows: [Int64]
  ) async throws {
    let base =
      "create entity U {\n attribute n string unique\n attribute m int\n attribute k int\n index (m, k) unique\n}"
    let fill = [
      "INSERT INTO U(id, n, m, k) VALUES (1, 'a', 1, 5), (2, 'b', 2, 5), (3, 'cc', 3, 6), (4, 'dd', 4, 7)"
    ]
    let lab = try await MigrationLab(base, fill: fill)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([base, step]))
    let refusal = try #require(plan.refusals.first)
    #expect(plan.refusals.count == 1 && plan.steps[0].unasked.isEmpty, "\(plan.steps[0].unasked)")
    #expect(refusal.rule == .unique && refusal.count == count && refusal.rows == rows, "\(refusal)")
    await #expect { try await lab.migrate(step) } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation == refusal.operation && reason.hasPrefix("\(count) value")
    }
  }

  // The column keeps a text that is no number, and the type refuses it: these are no values that are alike.
  @Test(arguments: ["int", "double"])
  func `texts that are no numbers are not taken for one number`(_ type: String) async throws {
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
        return reason.hasPrefix(message) && reason.contains("no \(type)")
      }
    }
  }

  @Test func `a view reads tables as they will be, so that what reads it is asked when it runs`() async throws
  {
    let base = """
      create entity A {
          attribute n string unique
      }
      create entity B {
          attribute x int
      }
      create raw view V { SELECT $B.id, $B.x FROM $B }
      """
    let fill = [
      "INSERT INTO A(id, n) VALUES (1, 'a'), (2, 'b')", "INSERT INTO B(id, x) VALUES (1, 0), (2, 0)",
    ]
    let steps = [
      "transform sql { UPDATE $B SET $B.x = id }",
      "retype A.n to int using ((SELECT V.x FROM V WHERE V.id = $A.$A.id))",
    ]
    let lab = try await MigrationLab(base, fill: fill)
    let set = try lab.set([base] + steps)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.refusals.isEmpty, "\(plan.refusals)")
    #expect(plan.steps[1].unasked.contains { $0.contains("the view V reads tables that change before") })
    try await Store.migrate(at: lab.url, key: testKey, migrations: set, allowing: Set(set.losses(ofStep: 3)))
    #expect(try lab.rows("SELECT n FROM A ORDER BY id") == [[1], [2]])
    // Of tables that stay as they are the view says now what it will say then.
    let other = try await MigrationLab(base, fill: fill)
    let asked = try await Store.plan(at: other.url, key: testKey, migrations: other.set([base, steps[1]]))
    #expect(asked.refusals.map(\.count) == [1], "\(asked)")
  }

  @Test func `what a function of the app makes of values that may be there once is asked when it runs`()
    async throws
  {
    let base = "create entity U {\n attribute n string unique\n}"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO U(id, n) VALUES (1, 'a'), (2, 'b')"])
    for (step, words) in [
      ("retype U.n to int using swift f", "\"retype U.n to int using swift f\" changes U.n before"),
      (
        "transform sql { UPDATE $U SET $U.n = 'a' }\nretype U.n to int using (length($U.n))",
        "step 0002 step2 writes rows of U before"
      ),
    ] {
      let set = try lab.set([base, step]).transforming(by: [.values("f") { (text: String) in text.count }])
      let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
      #expect(plan.refusals.isEmpty && plan.steps[0].unasked.count == 1, "\(plan.steps[0].unasked)")
      #expect(plan.steps[0].unasked.first?.contains(words) == true, "\(plan.steps[0].unasked)")
    }
  }

  @Test func `links that have to lead somewhere are not left out, and that is known before`() async throws {
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

  @Test func `a filling that many rows would share says what to write instead`() async throws {
    let step = "add attribute Post.code string unique filling \"a\""
    let refusals = try await plan(step).refusals
    #expect(refusals.count == 1 && "\(refusals)".contains("add index Post(code) unique"), "\(refusals)")
    await #expect { try await lab.migrate(step) } throws: { "\($0)".contains("add index Post(code) unique") }
  }

  @Test func `rows are asked behind as many steps as there may be`() async throws {
    // Each changes the table; some of its columns many times.
    var steps = (0..<120).map { "add attribute User.a\($0) int default \($0)" }
    var name = "city"
    for index in 0..<60 {
      steps.append("rename attribute User.\(name) -> city\(index)")
      name = "city\(index)"
      if index % 10 == 0 {
        steps += ["make User.\(name) required filling \"x\"", "make User.\(name) optional"]
      }
    }
    steps.append("add index User(\(name), a7) unique")
    let set = try lab.set([MigrationOperations.base] + steps)
    let found = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(
      found.steps.count == steps.count && found.steps.flatMap(\.unasked).isEmpty,
      "\(found.steps.flatMap(\.unasked).prefix(3))")
    #expect(found.refusals.isEmpty)
    let more = try lab.set([MigrationOperations.base] + steps + ["add index User(a7) unique"])
    let refused = try await Store.plan(at: lab.url, key: testKey, migrations: more)
    #expect(refused.refusals.map(\.properties) == [["a7"]] && refused.refusals[0].count == 1)
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: more)
    } throws: { error in
      if case StoreError.rowsRefused = error { true } else { false }
    }
  }

  @Test func `a column that is computed again and again is asked no more, and that is said`() async throws {
    let filling = ["make User.city required filling \"x\"", "make User.city optional"]
    let steps = Array(repeating: filling, count: 40).flatMap { $0 } + ["add index User(city) unique"]
    let set = try lab.set([MigrationOperations.base] + steps)
    let unasked = try await Store.plan(at: lab.url, key: testKey, migrations: set).steps.flatMap(\.unasked)
    #expect(unasked.count == 1 && unasked[0].contains("changes User.city before"), "\(unasked)")
    #expect(unasked[0].count < 200)
  }

  @Test(arguments: [
    "make User.age optional\nmake User.age required", "make User.city required filling \"x\"",
    "add index Post(text, user) unique",
    "add attribute User.mail string unique optional", "add attribute User.mail string default \"\"",
    "create entity Empty {\n attribute a int\n}\nadd index Empty(a) unique",
    "add attribute User.x int optional\nadd index User(x, city) unique",
  ])
  func `what the rows keep to is no refusal`(_ step: String) async throws {
    let found = try await plan(step)
    #expect(found.refusals.isEmpty && found.steps[0].unasked.isEmpty)
    try await lab.migrate(step)
  }

  @Test func `texts that are numbers are no refusal where they become numbers`() async throws {
    let steps = [MigrationOperations.base, "add attribute User.zip string default \"7\""]
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: try lab.set(steps))
    let set = try lab.set(steps + ["retype User.zip to int16 using ($User.zip)"])
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: set).refusals.isEmpty)
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    #expect(try lab.rows("SELECT DISTINCT zip, typeof(zip) FROM User") == [[7, "integer"]])
  }

  @Test func `a plan of the way back counts what does not fit into the narrower type any more`() async throws
  {
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
    #expect(refusal.count == 1 && refusal.rows == [2] && "\(refusal)".contains("none of that type"))
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
  func `a table stays where each value is stored as it was`(
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
    // What is no value of the type is found though nothing was written.
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

  @Test func `what an earlier step writes cannot be asked, and that is said`() async throws {
    let found = try await plan(
      "transform sql { UPDATE $Post SET $Post.user = NULL WHERE $Post.id = 2 }",
      "add index Post(user) unique\nmake User.city required\nretype User.age to string\nadd index User(age) unique"
    )
    #expect(found.refusals.map(\.entity) == ["User"] && found.steps[0].unasked.isEmpty)
    #expect(
      found.steps[1].unasked == [
        "add index Post(user) unique: the rows could not be asked, for step 0002 step2 writes rows of Post before"
      ])
  }
}
