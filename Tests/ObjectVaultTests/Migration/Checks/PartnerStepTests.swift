// Steps that make a one-to-one, or write its ends: PartnerBlameTests.swift has who is named for one that would leave them saying
// different things, PartnerDamageTests.swift what was there before.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing

@Suite struct PartnerSteps {
  @Test(arguments: [
    """
    add relationship Team.captain -> User required filling 4 inverse User.leads
    add relationship User.leads -> Team inverse Team.captain on delete cascade
    """,
    """
    add relationship User.leads -> Team inverse Team.captain on delete cascade
    add relationship Team.captain -> User required filling 4 inverse User.leads
    """,
    Partners.pair + "\ntransform sql { UPDATE $Team SET $Team.captain = 1 WHERE $Team.id = 1 }",
    Partners.pair + "\ntransform sql { UPDATE $Team SET $Team.captain = 1 }",
  ])
  func `a step that writes one end is refused`(_ step: String) async throws {
    let said = try await Partners.refusal([Partners.teams, step])
    #expect(said.contains("Team.captain") && said.contains("0002"), "\(said)")
  }

  @Test func `what the refusal of one end says writes the other one`() async throws {
    let step =
      Partners.pair + "\ntransform sql { UPDATE $Team SET $Team.captain = $Team.id WHERE $Team.id < 3 }"
    let said = try await Partners.refusal([Partners.teams, step])
    let advice = try #require(said.firstMatch(of: /as in (transform sql \{.*\})\./)?.1)
    let lab = try await DowngradeLab([Partners.teams, "\(step)\n\(advice)"], fill: Partners.rows)
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
      let lab = try await DowngradeLab([Partners.teams, Partners.pair + "\n" + blocks], fill: Partners.rows)
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
        Partners.teams + "\nadd relationship Team.captain -> User",
        "add relationship User.leads -> Team inverse Team.captain", "drop relationship User.leads",
      ],
      fill: Partners.rows + [
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
    #expect(
      plan.steps[0].unasked == [
        "add relationship User.leads -> Team inverse Team.captain: not known before the run: "
          + "the step itself makes what it is about"
      ])
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

  @Test func `rows below an end may go in a later step, and part those who lead to one`() async throws {
    let lab = try await DowngradeLab(
      [
        Partners.teams + "\ncreate entity SubTeam : Team {\n}\nadd relationship Team.captain -> User",
        "add relationship User.leads -> Team inverse Team.captain", "drop entity SubTeam",
      ], at: 1,
      fill: [
        "INSERT INTO Team(id, _entity, name) VALUES (1, 'Team', 'a'), (2, 'SubTeam', 'b')", Partners.rows[1],
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
      [Partners.teams + "\nadd relationship Team.captain -> User"]
      + (isOneStep ? [paired + "\n" + required] : [paired, required])
    let lab = try await DowngradeLab(
      steps, at: 1,
      fill: Partners.rows + [
        "DELETE FROM Team WHERE id = 3", "DELETE FROM User WHERE id = 4", "UPDATE Team SET captain_id = id",
      ])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.isEmpty, "\(plan.refusals)")
    #expect(plan.steps.contains { !$0.unasked.isEmpty })
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    #expect(try lab.rows("SELECT leads_id FROM User ORDER BY id") == [[1], [2]])
  }

  @Test(arguments: ["3.15.2", "3.46.1"])
  func `partners are looked up in an index, also in a table that the same run writes anew`(_ engine: String)
    async throws
  {
    let lab = try await DowngradeLab([
      Partners.teams + "\nadd relationship Team.captain -> User\nadd relationship Team.coach -> User",
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
      Partners.teams + "\n" + Partners.pair
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
}
