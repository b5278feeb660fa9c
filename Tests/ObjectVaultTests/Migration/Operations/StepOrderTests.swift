// One step of two operations changes rows as two steps of one operation each do: combining operations has
// no visible effect.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.sampled, .slow)) struct StepOrder {
  static let base = """
    create entity U {
        attribute s string
        attribute x int optional
        attribute y int optional
        attribute d double default 1.5
        relationship r -> V inverse V.us
        relationship tags -> V many inverse V.tagged
    }
    create entity V {
        attribute n string
        relationship us -> U many inverse U.r on delete cascade
        relationship tagged -> U many inverse U.tags
    }
    """
  static let fill = [
    "INSERT INTO V(id, n) VALUES (1, '5a'), (2, 'v')",
    "INSERT INTO U(id, s, x, y, r_id) VALUES (1, '5a', 4, 1, 2), (2, '6b', NULL, NULL, NULL), (3, '5c', 6, 0, 1)",
    "INSERT INTO U_tags(U_id, V_id) VALUES (1, 1), (1, 2), (3, 2)",
  ]
  static let operations = [
    "add attribute U.z int optional", "add attribute U.z int default 3",
    "add attribute U.z int filling 4", "add attribute U.z int filling 4 default 2",
    "add relationship U.z -> V required filling 1",
    "retype U.z to string using ('x' || $U.s)", "make U.z required filling 5", "make U.z required",
    "make U.z optional", "set default of U.z to 9", "drop attribute U.z", "rename attribute U.z -> w",
    "retype U.x to int using (substr($U.s, 1, 1))", "retype U.y to bool using ($U.x = 5)",
    "retype U.x to string", "make U.x required filling 7", "make U.x required", "make U.x optional",
    "rename attribute U.x -> z", "drop attribute U.x",
    "retype U.y to int using ((SELECT count(*) FROM V WHERE n = s))",
    "retype U.y to int using (ifnull(x, 0) + ifnull(R_ID, 0))",
    "retype U.y to int using ((SELECT count(*) FROM $U.tags WHERE $U.tags.U = $U.id))",
    "make U.r required filling 1", "make U.r optional", "rename relationship U.r -> q",
    "rename entity U -> W",
    "retype W.y to int using ((SELECT max($W.x) FROM $W))", "drop relationship U.tags",
    "add relationship U.tags -> V many inverse V.tagged", "drop relationship V.tagged",
    "add relationship V.tagged -> U many inverse U.tags", "set default of U.d to 9", "add index U(x) unique",
    "move attribute U.x -> V.x by U.r", "make relationship U.tags an entity T (u, v)",
    "make U.r many", "make U.tags one picking ($V.n DESC)", "make V.us one picking ($U.s)",
    "merge entity V into U with V.n -> U.s", "merge entity U into V with U.s -> V.n",
    "create raw view Few { SELECT $U.y FROM $U WHERE $U.x IS NULL }", "drop raw view Few",
    "retype U.y to int using ((SELECT count(*) FROM Few))",
    "create raw index byLength { ON $U (length($U.s)) }", "make U.tags ordered", "make U.tags unordered",
    "make V.us ordered", "make V.us unordered",
  ]

  let lab: MigrationLab
  init() async throws { lab = try await MigrationLab(Self.base, fill: Self.fill) }

  @Test(arguments: operations)
  func `two operations have the same result in one step and in two`(_ first: String) async throws {
    var compared = 0
    // Three pairs that the model allows, other ones each day. The long run compares all pairs.
    for second in Rotation.turned(Self.operations, by: 3) where isTorture || compared < 3 {
      let together = try lab.set([Self.base, "\(first)\n\(second)"])
      let apart = try lab.set([Self.base, first, second])
      // The model does not allow this pair, whatever the rows are.
      guard (try? apart.model(at: 3)) != nil else { continue }
      let (one, two) = (try await lab.rows(after: together), try await lab.rows(after: apart))
      #expect(one == two && one?.count ?? 5 >= 5, "\(first); \(second)")
      compared += 1
    }
    #expect(compared > 0 || (try? lab.set([Self.base, first]).model(at: 2)) == nil)
  }

  static let more =
    operations + [
      "add attribute U.z int", "add relationship U.z -> V required",
      "rename attribute U.s -> x", "rename attribute U.z -> x", "rename attribute U.y -> s",
      "rename relationship U.tags -> labels", "rename relationship V.tagged -> a",
      "add relationship U.r2 -> V",
      "rename relationship U.r2 -> r", "drop relationship U.r", "drop relationship V.us",
      "rename entity V -> X",
      "rename entity W -> V", "rename entity X -> U", "add attribute U.x string default \"7\"",
      "retype U.s to int using (length(s) + ifnull($U.y, 0))", "make U.s required filling \"q\"",
      "make U.s optional",
      "set delete rule of V.us to deny", "add index U(s, y) unique", "add attribute W.x int default 2",
      "retype W.s to string using ($W.s || (SELECT count(*) FROM $W WHERE $W.x = 2))",
    ]

  @Test(arguments: 1...(isTorture ? 64 : 2))
  func `random operations have the same result in one step and in several`(_ seed: UInt64) async throws {
    // Reproducible sequences: Knuth's linear congruential generator, read from its upper bits.
    var state = seed
    func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    var compared = 0
    while compared < 12 {
      var steps = [Self.base]
      for _ in 0..<60 where steps.count < 6 {
        let longer = steps + [Self.more[next(Self.more.count)]]
        if (try? lab.set(longer).model(at: longer.count)) != nil { steps = longer }
      }
      let apart = try await lab.rows(after: lab.set(steps))
      let together = try await lab.rows(
        after: lab.set([Self.base, steps.dropFirst().joined(separator: "\n")]))
      // Operations that fail in separate steps may succeed together: an index that is dropped again.
      #expect(apart == nil || apart == together, "\(steps.dropFirst().joined(separator: "; "))")
      compared += apart == nil ? 0 : 1
    }
  }

  // MARK: Cases beyond the table above

  @Test func `a backfill value of a to-one sets the object in every row without one`() async throws {
    try await lab.migrate("make U.r required filling 1")
    #expect(try lab.rows("SELECT r_id FROM U ORDER BY id") == [[2], [1], [1]])
    #expect(try lab.isSound())
    #expect {
      _ = try lab.set([Self.base, "make U.r required filling \"Ann\""]).model(at: 2)
    } throws: { "\($0)".contains("not the id of an object") }
  }

  @Test(arguments: [
    "make U.x required\nrename attribute U.x -> k", "make U.x required\nrename entity U -> W",
    "make U.x required\nrename attribute U.x -> k\nrename entity U -> W",
    "make U.x required\ndrop attribute U.x",
  ])
  func `a missing required value is reported at its operation, whatever is renamed later`(_ step: String)
    async throws
  {
    await #expect {
      try await lab.migrate(step)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation == "make U.x required" && reason.contains("1 object has no x")
        && reason.contains("row 2")
    }
  }

  @Test func `a step rebuilds a table only once if its operations allow that`() async throws {
    let set = try lab.set([
      Self.base,
      "rename attribute U.s -> t\nmake U.x required filling 7\nset default of U.x to 7\nretype U.d to int using (round($U.d))\nadd index U(x, t)",
    ])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.steps[0].rebuiltTables == ["U"])
  }
}

@Suite struct InverseOrder {
  private static let base = """
    create entity A {
        relationship b -> B
    }
    create entity B {
        attribute n int optional
    }
    """

  @Test func `the new end of a relationship keeps the links when the old end goes in the same step`()
    async throws
  {
    let added = "add relationship B.a -> A inverse A.b"
    let fill = ["INSERT INTO B(id) VALUES (1), (2), (3)", "INSERT INTO A(id, b_id) VALUES (1, 1), (2, 3)"]
    let dropped = "drop relationship A.b"
    let (one, two) = (
      try await DowngradeLab([Self.base, "\(added)\n\(dropped)"], at: 1, fill: fill),
      try await DowngradeLab([Self.base, added, dropped], at: 1, fill: fill)
    )
    for lab in [one, two] { _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set) }
    #expect(try one.image == two.image)
    #expect(try one.rows("SELECT id, a_id FROM B ORDER BY id") == [[1, 1], [2, .null], [3, 2]])
  }
}

@Suite struct IndexOrder {
  private func model(_ lines: String...) throws -> Schema {
    try MigrationSet([
      MigrationStep(
        number: 1, name: "s1", text: "format: 1\n[up]\ncreate entity User {\n attribute city string\n}\n"),
      MigrationStep(number: 2, name: "s2", text: "format: 1\n[up]\n\(lines.joined(separator: "\n"))\n"),
    ]).model(at: 2)
  }

  @Test(arguments: ["citys", "town"])
  func `an index may stand before its attribute, whatever the attribute's name is`(_ name: String) throws {
    let lines = ["add index User(\(name))", "add attribute User.\(name) string optional"]
    for lines in [lines, lines.reversed()] {
      let user = try #require(model(lines[0], lines[1]).entities.first)
      #expect(user.indexes.map(\.properties) == [[name]] || user.attribute(named: name)?.isIndexed == true)
    }
  }

  @Test func `an unknown property of an index is reported with a suggestion`() throws {
    #expect { try model("add index User(ctiy)") } throws: { error in
      guard case StoreError.migrationFailed(2, _, "add index User(ctiy)", let reason) = error else {
        return false
      }
      return reason.contains("no property User.ctiy; did you mean \"city\"?")
    }
  }
}
