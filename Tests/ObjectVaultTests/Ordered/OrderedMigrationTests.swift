// Orders in migrations: members keep their positions under other names and in other tables, or the order is
// a named loss.

import CipherSQLite
import Foundation

import TestSupport
import Testing

import ObjectVault
import VaultAuthoring

@Suite(.tags(.slow)) struct OrderedMigrations {
  static let base = """
    create entity A {
        attribute n string
        relationship bs -> B many ordered inverse B.a
        relationship ts -> B many ordered inverse B.as
        relationship plain -> B many inverse B.owner
        relationship lone -> B many ordered
    }
    create entity B {
        attribute n string
        relationship a -> A inverse A.bs
        relationship as -> A many ordered inverse A.ts
        relationship owner -> A inverse A.plain
    }
    """
  static let fill =
    ["INSERT INTO A(id, n) VALUES (1, 'x'), (2, 'y')"]
    + ["INSERT OR REPLACE INTO vault_ids VALUES ('A', 2), ('B', 6)"]
    + (1...6).map { index in
      "INSERT INTO B(id, n, a_id, _a_position, owner_id) VALUES (\(index), 'b\(index)', \(1 + index % 2), \(100 - index), \(1 + index % 2))"
    }
    + (1...6).map { index in
      "INSERT INTO A_ts(A_id, B_id, A_ts_position, B_as_position) VALUES (\(1 + index % 2), \(index), \(index * 7 % 5), \(index))"
    }
    + (1...6).map { "INSERT INTO A_lone(A_id, lone_id, A_lone_position) VALUES (1, \($0), \(50 - $0))" }
    .map { $0.replacingOccurrences(of: "lone_id", with: "B_id") }

  private func lab(_ steps: String...) async throws -> DowngradeLab {
    try await DowngradeLab([Self.base] + steps, fill: Self.fill)
  }

  /// The members of each object by each ordered to-many, in the order that objects return.
  private func orders(_ lab: DowngradeLab) async throws -> [String] {
    let store = try await Store.open(at: lab.url, key: testKey)
    defer { store.close() }
    #expect(try await store.verify().isEmpty)
    let schema = store.schema
    return try await store.read { context in
      try schema.entities.flatMap { entity in
        try context.fetch(entity: entity.name).all().sorted { $0.id.rowID < $1.id.rowID }.flatMap { object in
          entity.relationships.filter(\.isOrdered).sorted { $0.name < $1.name }.map { relationship in
            let ids = object[ordered: relationship.name].map { "\($0.id.rowID)" }.joined(separator: " ")
            return "\(entity.name) \(object.id.rowID) \(relationship.name): \(ids)"
          }
        }
      }
    }
  }

  static let keeping = [
    "rename relationship A.bs -> all", "rename relationship B.a -> top", "rename relationship A.ts -> zs",
    "rename relationship B.as -> zs", "rename entity A -> Z",
    "rename entity B -> C\nrename relationship C.a -> q",
    "rename relationship A.lone -> other", "add attribute B.z int default 3",
    "make B.n optional\nmake A.n optional",
    "add relationship B.more -> A many ordered inverse A.less\nadd relationship A.less -> B many inverse B.more",
    "drop relationship A.plain", "make A.plain ordered",
  ]

  @Test(arguments: keeping)
  func `orders survive changes of tables and names, and rollbacks restore them`(_ step: String) async throws {
    let lab = try await lab(step)
    let (before, image) = (try await orders(lab), try lab.image)
    #expect(before.contains("A 1 bs: 6 4 2") && before.contains("A 1 lone: 6 5 4 3 2 1"))
    #expect(try lab.set.losses(ofStep: 2).isEmpty)
    try await lab.up()
    func lists(_ lines: [String]) -> [String] {
      lines.filter { !$0.hasSuffix(": ") }.map { String($0.split(separator: ":")[1]) }.sorted()
    }
    var after = lists(try await orders(lab))
    if step == "make A.plain ordered" {
      // By their ids.
      #expect(try await orders(lab).contains("A 1 plain: 2 4 6"))
      for list in [" 1 3 5", " 2 4 6"] { after.remove(at: try #require(after.firstIndex(of: list))) }
    }
    #expect(after == lists(before), "\(step)")
    let new = try await DowngradeLab([Self.base, step], at: 2)
    #expect(try new.image.physicalHash == lab.image.physicalHash)
    let back = try lab.set.steps[1].rollback(from: lab.set.model(at: 1))
    guard case .operations = back else { return }
    try await lab.down(1)
    #expect(try lab.image == image, "\(step)")
  }

  static let losing = [
    ("make A.bs unordered", ["A.bs"]), ("make A.ts unordered", ["A.ts"]), ("make B.as unordered", ["B.as"]),
    ("make A.lone unordered", ["A.lone"]), ("drop relationship A.bs", ["A.bs"]),
    ("drop relationship A.ts", ["A.ts"]), ("drop relationship A.lone", ["A.lone"]),
    ("make A.bs unordered\nmake A.bs ordered", ["A.bs"]),
    ("rename relationship A.bs -> all\nmake A.all unordered", ["A.all"]),
    ("drop relationship A.bs\nadd relationship A.bs -> B many ordered inverse B.a", ["A.bs"]),
  ]

  @Test(arguments: losing)
  func `losing an order is a named loss that has to be allowed`(_ step: String, _ losses: [String])
    async throws
  {
    let lab = try await lab(step)
    let image = try lab.image
    #expect(try lab.set.losses(ofStep: 2) == losses)
    await #expect(throws: StoreError.lossNotAllowed(step: 2, name: "s2", losses: losses)) {
      try await lab.up()
    }
    #expect(try lab.image == image)
    try await lab.up(allowing: Set(losses))
    if step.hasSuffix("ordered") || step.contains("add ") {
      #expect(
        try await orders(lab).contains("A 1 bs: 2 4 6")
          == (losses == ["A.bs"] && !step.hasSuffix("unordered")))
    }
    let new = try await DowngradeLab([Self.base, step], at: 2)
    #expect(try new.image.physicalHash == lab.image.physicalHash)
    guard case .none(let reason) = try lab.set.steps[1].rollback(from: lab.set.model(at: 1)) else {
      Issue.record("\(step) has a rollback")
      return
    }
    #expect(reason.contains("order") || reason.contains(" lost"))
  }

  @Test func `links that move to another table keep their positions`() async throws {
    let lab = try await lab("make B.a many", "make B.a one", "make B.as one")
    let before = try await orders(lab)
    try await lab.up(2)
    #expect(try await orders(lab).filter { $0.contains(" bs:") } == before.filter { $0.contains(" bs:") })
    try await lab.up(3)
    #expect(try await orders(lab) == before)
    try await lab.up(4)
    #expect(try await orders(lab) == before.filter { !$0.hasPrefix("B") })
    // The ordered B.as is a to-one by now.
    try await lab.down(3)
    #expect(try await orders(lab).filter { $0.hasPrefix("A") } == before.filter { $0.hasPrefix("A") })
    let picking = try await self.lab("allow: lossy:B.as\n[up]\nmake B.as one picking ($A.n)")
    try await picking.up()
    #expect(try await orders(picking) == before.filter { !$0.hasPrefix("B") })
  }

  @Test(arguments: [
    ("make A.n ordered", "there is no relationship A.n"), ("make B.a ordered", "is a to-one"),
    ("make A.bs ordered", "A.bs is already ordered"),
    ("make A.plain unordered", "A.plain is already unordered"),
    ("add relationship A.x -> B ordered", "only a to-many can be ordered"),
    ("make relationship A.lone an entity Link (a, b)", "make A.lone unordered"),
    ("make relationship A.ts an entity Link (a, b)", "make A.ts unordered"),
    ("merge entity A into B with A.n -> B.n", "make A.bs unordered"),
    (
      "create entity L {\n relationship x -> A inverse A.ls\n relationship y -> B\n}\n"
        + "add relationship A.ls -> L many ordered inverse L.x\nmake entity L a relationship A.all -> B",
      "make A.ls unordered"
    ),
  ])
  func `an operation that cannot keep an order is refused with what to write`(
    _ step: String, _ reason: String
  ) async throws {
    #expect {
      _ = try DowngradeLab.set([Self.base, step]).model(at: 2)
    } throws: { "\($0)".contains(reason) }
  }

  @Test func `SQL of steps and views can name the positions`() async throws {
    let lab = try await lab(
      "create raw view Sorted { SELECT $B.id, $A.bs.position AS p FROM $B ORDER BY $A.bs.position }\nrename relationship B.a -> top\nrename relationship A.bs -> all",
      "transform sql { UPDATE $B SET $A.all.position = $B.id; UPDATE $A.ts SET $A.ts.position = -$A.ts.B }")
    try await lab.up()
    #expect(try await orders(lab).contains("A 1 all: 2 4 6"))
    #expect(try await orders(lab).contains("A 1 ts: 6 4 2"))
    #expect(try lab.rows("SELECT p FROM Sorted") == (1...6).map { [.integer($0)] })
    #expect {
      _ = try DowngradeLab.set([Self.base, "create raw view X { SELECT $A.plain.position FROM $B }"]).model(
        at: 2)
    } throws: { "\($0)".contains("A.plain is not ordered, so its members have no position") }
  }

  @Test(arguments: [
    (
      "UPDATE $B SET $A.bs.position = 'first' WHERE $B.id = 2",
      "1 of 6 values of $A.bs.position is invalid (expected: whole number): B row 2"
    ),
    (
      "UPDATE $A.ts SET $A.ts.position = 1.5 WHERE $A.ts.B = 3",
      "1 of 6 values of A.ts.position is invalid (expected: whole number): row 2"
    ),
    (
      "UPDATE $A.ts SET $B.as.position = x'00'",
      "6 of 6 values of B.as.position are invalid (expected: whole number): rows 1"
    ),
  ])
  func `positions that are no integers are found after the SQL that wrote them`(
    _ sql: String, _ finding: String
  ) async throws {
    let lab = try await lab("transform sql { \(sql) }")
    await #expect {
      try await lab.up()
    } throws: { "\($0)".contains(finding) }
    let connection = try lab.open()
    try connection.execute(sql: "UPDATE A_lone SET A_lone_position = 'x' WHERE B_id = 2")
    #expect(
      try StoreInfo(connection).valueFindings(connection) == [
        "1 of 6 values of A.lone.position is invalid (expected: whole number): row 1"
      ])
    connection.close()
  }

  @Test func `a foreign file has no order, and a step that declares one is refused before the import`()
    async throws
  {
    let lab = try AdoptionLab(
      "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY, a_id INTEGER REFERENCES a(id));"
        + "INSERT INTO a VALUES (1); INSERT INTO b VALUES (1, 1), (2, 1)")
    let own = try await lab.plan().step.canonicalText
    let ordered = own.replacingOccurrences(of: " many inverse", with: " many ordered inverse")
    await #expect {
      try await lab.adopt(ordered)
    } throws: { "\($0)".contains("A.bs is ordered in the steps") && "\($0)".contains("make A.bs ordered") }
    #expect(!lab.folder.names.contains("new.store"))
    try await lab.adopt(own)
  }

  @Test func `the difference of two models includes changed orders`() throws {
    let set = try DowngradeLab.set([
      Self.base, "make A.bs unordered\nmake A.plain ordered\nmake A.lone unordered",
    ])
    let (before, after) = (try set.model(at: 1), try set.model(at: 2))
    let lines = SchemaDifference.operations(from: before, to: after).map(\.summary)
    #expect(lines == ["make A.bs unordered", "make A.lone unordered", "make A.plain ordered"])
    #expect(
      SchemaDifference.lines(before, against: after, found: "x", expected: "y").joined().contains("ordered"))
  }
}
