// Steps that would leave a one-to-one whose ends say different things.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PartnerSteps {
  private static let teams = """
    create entity Team {
     attribute name string
    }
    create entity User {
     attribute name string
    }
    """
  private static let pair = """
    add relationship Team.captain -> User inverse User.leads
    add relationship User.leads -> Team inverse Team.captain
    """
  private static let rows = [
    "INSERT INTO Team(id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO User(id, name) VALUES (1, 'x'), (2, 'y'), (4, 'z')",
  ]

  private func refusal(_ steps: [String], at version: Int = 1, fill: [String] = Self.rows) async throws
    -> String
  {
    let lab = try await DowngradeLab(steps, at: version, fill: fill)
    let before = try Data(contentsOf: lab.url)
    do {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
      return "no error"
    } catch let error as StoreError {
      #expect(try Data(contentsOf: lab.url) == before)
      return "\(error)"
    }
  }

  @Test(arguments: [
    """
    add relationship Team.captain -> User required filling 4 inverse User.leads
    add relationship User.leads -> Team inverse Team.captain on delete cascade
    """,
    """
    add relationship User.leads -> Team inverse Team.captain on delete cascade
    add relationship Team.captain -> User required filling 4 inverse User.leads
    """,
    Self.pair + "\ntransform sql { UPDATE $Team SET $Team.captain = 1 WHERE $Team.id = 1 }",
    Self.pair + "\ntransform sql { UPDATE $Team SET $Team.captain = 1 }",
  ])
  func `a step that writes one end is refused`(_ step: String) async throws {
    let said = try await refusal([Self.teams, step])
    #expect(said.contains("Team.captain") && said.contains("0002"), "\(said)")
  }

  @Test func `what the refusal of one end says writes the other one`() async throws {
    let step = Self.pair + "\ntransform sql { UPDATE $Team SET $Team.captain = $Team.id WHERE $Team.id < 3 }"
    let said = try await refusal([Self.teams, step])
    let advice = try #require(said.firstMatch(of: /as in (transform sql \{.*\})\./)?.1)
    let lab = try await DowngradeLab([Self.teams, "\(step)\n\(advice)"], fill: Self.rows)
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[1, 1], [2, 2], [4, .null]])
    _ = try StoreImage(lab.url)
  }

  @Test func `a step that writes both ends, in one block or in two, runs`() async throws {
    for blocks in [
      "transform sql { UPDATE $Team SET $Team.captain = $Team.id; UPDATE $User SET $User.leads = $User.id WHERE $User.id < 3; UPDATE $Team SET $Team.captain = NULL WHERE $Team.id = 3 }",
      """
      transform sql { UPDATE $Team SET $Team.captain = $Team.id WHERE $Team.id < 3 }
      add attribute Team.size int default 0
      transform sql { UPDATE $User SET $User.leads = $User.id WHERE $User.id < 3 }
      """,
    ] {
      let lab = try await DowngradeLab([Self.teams, Self.pair + "\n" + blocks], fill: Self.rows)
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
      #expect(
        try lab.rows("SELECT id, captain_id FROM Team ORDER BY id") == [[1, 1], [2, 2], [3, .null]])
      #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[1, 1], [2, 2], [4, .null]])
      _ = try StoreImage(lab.url)
    }
  }

  @Test func `a to-one that gets an inverse fills it, and back`() async throws {
    let lab = try await DowngradeLab(
      [
        Self.teams + "\nadd relationship Team.captain -> User",
        "add relationship User.leads -> Team inverse Team.captain", "drop relationship User.leads",
      ],
      fill: Self.rows + [
        "UPDATE Team SET captain_id = 4 WHERE id = 1", "UPDATE Team SET captain_id = 2 WHERE id = 3",
      ])
    for _ in 0..<2 {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set.upTo(2))
      #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[1, .null], [2, 3], [4, 1]])
      _ = try StoreImage(lab.url)
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
      try await Store.downgrade(at: lab.url, key: testKey, to: 2, migrations: lab.set)
      #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[1, .null], [2, 3], [4, 1]])
      _ = try StoreImage(lab.url)
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
      #expect(
        try lab.rows("SELECT id, captain_id FROM Team ORDER BY id") == [[1, 4], [2, .null], [3, 2]])
    }
    try lab.run("UPDATE Team SET captain_id = 4 WHERE id = 3")
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set.upTo(2))
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.contains("no object is led to by two")
    }
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set.upTo(2))
    #expect(plan.refusals.count == 1 && plan.refusals[0].rule == .single && plan.refusals[0].rows == [4])
    #expect(plan.refusals[0].count == 1 && plan.refusals[0].properties == ["leads"])
    // What a block behind it parts is refused by neither.
    let parting = try MigrationSet(
      lab.set.upTo(2).steps + [
        MigrationStep(
          number: 3, name: "s3",
          text:
            "format: 1\n[up]\ntransform sql { UPDATE $Team SET $Team.captain = NULL; UPDATE $User SET $User.leads = NULL }\n"
        )
      ])
    let later = try await Store.plan(at: lab.url, key: testKey, migrations: parting)
    #expect(later.refusals.isEmpty && later.steps[0].unasked.count == 1, "\(later.refusals)")
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: parting).steps == [2, 3])
  }

  @Test
  func
    `a plan asks of partners also where a later step changes something else, and the step that pairs is blamed`()
    async throws
  {
    let steps = [
      Self.teams + "\nadd relationship Team.captain -> User",
      "add relationship User.leads -> Team inverse Team.captain", "add attribute User.n int optional",
    ]
    let lab = try await DowngradeLab(
      steps, at: 1, fill: Self.rows + ["UPDATE Team SET captain_id = 4 WHERE id < 3"])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.count == 1 && plan.refusals[0].rows == [4], "\(plan.refusals)")
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation.hasPrefix("add relationship User.leads")
        && reason.contains("let one of them lead there before")
    }
    // What takes the other end away may be what parts them.
    let gone = try MigrationSet(
      lab.set.steps + [
        MigrationStep(
          number: 4, name: "s4",
          text: "format: 1\nallow: lossy:User.leads\n[up]\ndrop relationship User.leads\n")
      ])
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: gone).refusals.isEmpty)
  }

  @Test(arguments: [
    "rename relationship Team.captain -> head", "rename entity Team -> Crew",
    "transform sql { UPDATE $User SET $User.name = upper($User.name) }",
  ])
  func `a later step that only renames an end, or writes something else, is not blamed for a pair`(
    _ later: String
  ) async throws {
    let lab = try await DowngradeLab(
      [
        Self.teams + "\nadd relationship Team.captain -> User",
        "add relationship User.leads -> Team inverse Team.captain", later,
      ], at: 1, fill: Self.rows + ["UPDATE Team SET captain_id = 4 WHERE id < 3"])
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, _) = error else { return false }
      return operation.hasPrefix("add relationship User.leads")
    }
  }

  @Test func `a later block that writes an end is blamed for what it wrote`() async throws {
    let lab = try await DowngradeLab(
      [
        Self.teams + "\nadd relationship Team.captain -> User",
        "add relationship User.leads -> Team inverse Team.captain",
        "transform sql { UPDATE $Team SET $Team.captain = 2 WHERE $Team.id = 3 }",
      ], at: 1, fill: Self.rows)
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.migrationFailed(3, _, "transform sql", let reason) = error else { return false }
      return reason.contains("write both, as in")
    }
  }

  @Test func `within a step the block is blamed that writes behind the pairing, and not one before it`()
    async throws
  {
    let pairing = "add relationship User.leads -> Team inverse Team.captain"
    let writing = "transform sql { UPDATE $Team SET $Team.captain = 4 WHERE $Team.id < 3 }"
    let teams = Self.teams + "\nadd relationship Team.captain -> User"
    // Two lead to one before there is a pair: rows that the pairing does not take.
    let before = try await DowngradeLab([teams, writing + "\n" + pairing], at: 1, fill: Self.rows)
    await #expect {
      _ = try await Store.migrate(at: before.url, key: testKey, migrations: before.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation.hasPrefix("add relationship User.leads")
        && reason.contains("let one of them lead there before")
    }
    let behind = try await DowngradeLab([teams, pairing + "\n" + writing], at: 1, fill: Self.rows)
    await #expect {
      _ = try await Store.migrate(at: behind.url, key: testKey, migrations: behind.set)
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, "transform sql", let reason) = error else { return false }
      return reason.contains("write both, as in")
    }
  }

  @Test func `on the way back the step that makes the pair is blamed, and not one that ran before it`()
    async throws
  {
    let back =
      "drop relationship User.leads\n[down]\nadd relationship User.leads -> Team inverse Team.captain"
    let late =
      "add attribute User.n int optional\n[down]\ntransform sql { UPDATE $Team SET $Team.captain = 4 }\ndrop attribute User.n"
    let lab = try await DowngradeLab(
      [
        Self.teams
          + "\nadd relationship Team.captain -> User\nadd relationship User.leads -> Team inverse Team.captain",
        "\(back)", late,
      ], at: 3, fill: Self.rows)
    await #expect {
      _ = try await Store.downgrade(
        at: lab.url, key: testKey, to: 1, migrations: lab.set, allowing: ["User.n"])
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.contains("no object is led to by two")
    }
  }

  @Test func `rows below an end may go in a later step, and part those who lead to one`() async throws {
    let lab = try await DowngradeLab(
      [
        Self.teams + "\ncreate entity SubTeam : Team {\n}\nadd relationship Team.captain -> User",
        "add relationship User.leads -> Team inverse Team.captain", "drop entity SubTeam",
      ], at: 1,
      fill: [
        "INSERT INTO Team(id, _entity, name) VALUES (1, 'Team', 'a'), (2, 'SubTeam', 'b')", Self.rows[1],
        "UPDATE Team SET captain_id = 4",
      ])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.isEmpty && plan.steps[0].unasked.count == 1, "\(plan.refusals)")
    _ = try await Store.migrate(
      at: lab.url, key: testKey, migrations: lab.set, allowing: ["lossy:SubTeam", "lossy:User.leads"])
    #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[1, .null], [2, .null], [4, 1]])
  }

  @Test(arguments: [
    (isOneStep: true, filling: ""), (isOneStep: true, filling: " filling 1"), (isOneStep: false, filling: ""),
  ])
  func `what a pairing fills is not counted as missing, in the same step or a later one`(
    isOneStep: Bool, filling: String
  ) async throws {
    let paired =
      "set delete rule of Team.captain to cascade\n"
      + "add relationship User.leads -> Team inverse Team.captain"
    let required = "make User.leads required\(filling)"
    let steps =
      [Self.teams + "\nadd relationship Team.captain -> User"]
      + (isOneStep ? [paired + "\n" + required] : [paired, required])
    let lab = try await DowngradeLab(
      steps, at: 1,
      fill: Self.rows + [
        "DELETE FROM Team WHERE id = 3", "DELETE FROM User WHERE id = 4", "UPDATE Team SET captain_id = id",
      ])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.isEmpty, "\(plan.refusals)")
    #expect(plan.steps.contains { !$0.unasked.isEmpty })
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    #expect(try lab.rows("SELECT leads_id FROM User ORDER BY id") == [[1], [2]])
  }

  private static let pairs =
    teams + "\n" + pair + """

      add relationship Team.coach -> User inverse User.trains
      add relationship User.trains -> Team inverse Team.coach
      """
  /// Three teams whose captain leads nobody, which is damage; and one that is whole.
  private static let damaged =
    rows + [
      "UPDATE Team SET captain_id = 1 WHERE id < 3", "UPDATE Team SET coach_id = 4 WHERE id = 3",
      "UPDATE User SET trains_id = 3 WHERE id = 4",
    ]

  @Test
  func `damage that was there is let be under its new name, and damage that is dropped makes room for none`()
    async throws
  {
    // Of what stays the number is known by its new name.
    let kept = try await DowngradeLab(
      [Self.pairs, "rename relationship Team.captain -> head\nadd attribute Team.n int optional"], at: 1,
      fill: Self.damaged)
    #expect(try await Store.migrate(at: kept.url, key: testKey, migrations: kept.set).steps == [2])
    // What goes is no reason to let as much go wrong elsewhere.
    let said = try await refusal(
      [
        Self.pairs,
        """
        allow: lossy:Team.captain lossy:User.leads
        [up]
        drop relationship Team.captain
        drop relationship User.leads
        rename relationship Team.coach -> trainer
        transform sql { UPDATE $Team SET $Team.trainer = 2 WHERE $Team.id = 1 }
        """,
      ], at: 1, fill: Self.damaged)
    #expect(said.contains("1 of 2 values of Team.trainer is not returned by User.trains: row 1"), "\(said)")
  }

  @Test(arguments: [("", nil), (", (2, 'l', 2)", "2 of 4 values of League.head")])
  func `damage that one merge brought along is let be behind the next one, and no more than it`(
    _ more: String, _ refusal: String?
  ) async throws {
    // Two teams are led by one user: the one pair that there is says so of one of them.
    let fill =
      Self.rows + [
        "UPDATE Team SET captain_id = 1 WHERE id < 3", "UPDATE User SET leads_id = 1 WHERE id = 1",
        "INSERT INTO Club(id, name, chief_id) VALUES (1, 'k', 2)" + more,
      ]
    let steps = [
      Self.teams + "\n" + Self.pair + """

        create entity Club {
         attribute name string
         relationship chief -> User
        }
        create entity League {
         attribute name string
         relationship head -> User
        }
        """,
      "drop relationship User.leads\nmerge entity Team into Club with Team.captain -> Club.chief",
      "merge entity Club into League with Club.chief -> League.head",
      "add relationship User.leads -> League inverse League.head",
    ]
    let lab = try await DowngradeLab(steps, at: 1, fill: fill)
    do {
      let outcome = try await Store.migrate(
        at: lab.url, key: testKey, migrations: lab.set, allowing: ["lossy:User.leads", "User.leads"])
      #expect(outcome.steps == [2, 3, 4] && refusal == nil)
    } catch StoreError.rowsRefused(4, _, _, let reason) {
      #expect(reason.contains(refusal ?? "nothing"), "\(reason)")
    }
  }

  @Test(arguments: ["3.15.2", "3.46.1"])
  func `partners are looked up in an index, also in a table that the same run writes anew`(_ engine: String)
    async throws
  {
    let lab = try await DowngradeLab([
      Self.teams + "\nadd relationship Team.captain -> User\nadd relationship Team.coach -> User",
      "drop relationship Team.coach\nadd relationship User.leads -> Team inverse Team.captain",
    ])
    let sql = try lab.set.sql(ofStep: 2, on: #require(Engine(sqliteVersion: engine)))
    let pairing = try #require(sql.firstIndex { $0.contains("SET \"leads_id\" = (SELECT") }, "\(sql)")
    // Each row would else read all of the other table.
    let index = try #require(
      sql.firstIndex { $0.hasPrefix("CREATE INDEX") && $0.contains("captain_id") }, "\(sql)")
    #expect(index < pairing, "\(sql)")
  }

  @Test func `one step may write what the next one completes, also in a new store`() async throws {
    let steps = [
      Self.teams + "\n" + Self.pair
        + "\nseed { INSERT INTO $Team ($Team.id, $Team.name) VALUES (1, 'a') }",
      "seed { INSERT INTO $User ($User.id, $User.name, $User.leads) VALUES (1, 'x', 1) }",
      "transform sql { UPDATE $Team SET $Team.captain = 1 }",
    ]
    let lab = try await DowngradeLab(steps)
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set).steps == [2, 3])
    let fresh = try await DowngradeLab(steps, at: 3)
    #expect(try fresh.rows("SELECT captain_id FROM Team") == [[1]])
    await #expect(throws: StoreError.self) { try await DowngradeLab(steps, at: 2) }
    let single = try await DowngradeLab(steps)
    await #expect(throws: StoreError.self) {
      _ = try await Store.migrate(
        at: single.url, key: testKey, migrations: single.set, commitsEachStep: true)
    }
    #expect(try single.version == 1)
  }

  @Test func `what one pair is mended by is no room for damage in another one`() async throws {
    let other = """
      add relationship Team.coach -> User inverse User.coaches
      add relationship User.coaches -> Team inverse Team.coach
      """
    let damaged = Self.rows + ["UPDATE Team SET captain_id = 1 WHERE id = 1"]
    let swap =
      "transform sql { UPDATE $Team SET $Team.captain = NULL; UPDATE $Team SET $Team.coach = 2 WHERE $Team.id = 2 }"
    let said = try await refusal([Self.teams + "\n" + Self.pair + "\n" + other, swap], fill: damaged)
    #expect(said.contains("Team.coach"), "\(said)")
  }

  @Test func `damage that was there before blocks no step, but more of it does`() async throws {
    let damaged = Self.rows + ["UPDATE Team SET captain_id = 1 WHERE id = 1"]
    let steps = [
      Self.teams + "\n" + Self.pair,
      "rename relationship Team.captain -> boss\ntransform sql { UPDATE $Team SET $Team.name = 'n' }",
    ]
    let lab = try await DowngradeLab(steps, fill: damaged)
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set).steps == [2])
    let more = "transform sql { UPDATE $Team SET $Team.captain = 2 WHERE $Team.id = 2 }"
    #expect(try await refusal([steps[0], more], fill: damaged).contains("Team.captain"))
  }
}
