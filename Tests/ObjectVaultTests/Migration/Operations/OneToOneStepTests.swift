// Steps on one-to-ones: which end has the column, and where the links are when that changes.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct OneToOneSteps {
  static let teams = """
    create entity Team {
     attribute name string
    }
    create entity User {
     attribute name string
    }
    """
  static let captain = "add relationship Team.captain -> User"
  static let leads = "add relationship User.leads -> Team inverse Team.captain"
  static let rows = [
    "INSERT INTO Team(id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO User(id, name) VALUES (1, 'x'), (2, 'y'), (4, 'z')",
  ]
  static let led =
    rows + [
      "UPDATE Team SET captain_id = 4 WHERE id = 1", "UPDATE Team SET captain_id = 2 WHERE id = 3",
    ]

  func lab(_ steps: String..., at version: Int = 1, fill: [String] = rows) async throws
    -> DowngradeLab
  {
    try await DowngradeLab(steps, at: version, fill: fill)
  }

  func columns(_ lab: DowngradeLab, _ table: String) throws -> [String] {
    let connection = try Connection.open(lab.url.path, key: testKey)
    defer { connection.close() }
    return try connection.tableInfo(table).columns.map(\.name).filter { $0.hasSuffix("_id") }
  }

  @Test func `the second end of a one-to-one has no column, and the first gets a unique index`() async throws
  {
    let lab = try await lab("\(Self.teams)\n\(Self.captain)", Self.leads, fill: Self.led)
    let sql = try lab.set.sql(ofStep: 2, on: #require(Engine(sqliteVersion: "3.46.1")))
    #expect(sql.contains { $0.hasPrefix("CREATE UNIQUE INDEX \"ux_Team_captain\"") }, "\(sql)")
    #expect(sql.contains { $0.hasPrefix("DROP INDEX \"ix_Team_captain\"") }, "\(sql)")
    let before = try StoreImage(lab.url)
    for _ in 0..<2 {
      #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set).steps == [2])
      #expect(try columns(lab, "User") == [] && columns(lab, "Team") == ["captain_id"])
      #expect(try lab.rows("SELECT id, captain_id FROM Team ORDER BY id") == [[1, 4], [2, .null], [3, 2]])
      _ = try StoreImage(lab.url)
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
      #expect(try StoreImage(lab.url) == before)
    }
  }

  @Test func `rows that share a partner are counted by the plan, and refused by the step`() async throws {
    let lab = try await lab(
      "\(Self.teams)\n\(Self.captain)", Self.leads,
      fill: Self.rows + ["UPDATE Team SET captain_id = 4 WHERE id < 3"])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.map(\.rule) == [.unique] && plan.refusals.map(\.properties) == [["captain"]])
    let bytes = try Data(contentsOf: lab.url)
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, Self.leads, let reason) = error else { return false }
      return reason.contains(
        "1 object is referenced more than once by Team.captain, but User.leads allows one")
    }
    #expect(try Data(contentsOf: lab.url) == bytes)
  }

  @Test func `dropping the end with the column gives the other end the column and links; and back`()
    async throws
  {
    let lab = try await lab(
      "\(Self.teams)\n\(Self.captain)\n\(Self.leads) on delete cascade", "drop relationship Team.captain",
      fill: Self.led)
    let before = try StoreImage(lab.url)
    for _ in 0..<2 {
      #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set).steps == [2])
      #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[1, .null], [2, 3], [4, 1]])
      #expect(try columns(lab, "Team") == [])
      _ = try StoreImage(lab.url)
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
      #expect(try StoreImage(lab.url) == before)
    }
  }

  @Test func `a rollback restores a required end with the column and its links`() async throws {
    let pair =
      "\(Self.teams)\nadd relationship Team.captain -> User required filling 4\n\(Self.leads) on delete cascade"
    let lab = try await lab(
      pair, "drop relationship Team.captain",
      fill: [
        "INSERT INTO User(id, name) VALUES (2, 'y'), (4, 'z')",
        "INSERT INTO Team VALUES (1, 1, 'a', 4), (3, 1, 'c', 2)",
      ])
    let before = try StoreImage(lab.url)
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[2, 3], [4, 1]])
    try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    #expect(try StoreImage(lab.url) == before)
  }

  @Test(arguments: [
    (
      "rename relationship Team.captain -> head\nadd relationship User.leads -> Team inverse Team.head",
      "UPDATE Team SET captain_id = 4", "add relationship User.leads", "clears all but one of the references"
    ),
    (
      "\(OneToOneSteps.leads) on delete cascade\nmake Team.captain required",
      "UPDATE Team SET captain_id = 4 WHERE id = 1", "make Team.captain required",
      "first give each its own object"
    ),
    (
      "\(OneToOneSteps.leads) on delete cascade\nmake Team.captain required filling 4",
      "UPDATE Team SET captain_id = 4 WHERE id = 1", "make Team.captain required filling 4",
      "filling makes all rows refer to the same object"
    ),
  ])
  func `the refusal of a one-to-one names the line that causes it, and what helps`(
    _ step: String, _ row: String, _ operation: String, _ advice: String
  ) async throws {
    let lab = try await lab("\(Self.teams)\n\(Self.captain)", step, fill: Self.rows + [row])
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let blamed, let reason) = error else { return false }
      return blamed.hasPrefix(operation) && reason.contains(advice)
    }
  }

  @Test func `dropping the end without the column loses nothing; and back`() async throws {
    let lab = try await lab(
      "\(Self.teams)\n\(Self.captain)\n\(Self.leads)", "drop relationship User.leads", fill: Self.led)
    let before = try StoreImage(lab.url)
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set).steps == [2])
    #expect(try lab.rows("SELECT id, captain_id FROM Team ORDER BY id") == [[1, 4], [2, .null], [3, 2]])
    try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    #expect(try StoreImage(lab.url) == before)
  }

  @Test func `if both ends name each other, the end whose entity is first in the alphabet has the column`()
    async throws
  {
    let pair = [
      "\(Self.captain) inverse User.leads", "add relationship User.leads -> Team inverse Team.captain",
    ]
    for step in [pair, pair.reversed()] {
      let lab = try await lab(Self.teams, step.joined(separator: "\n"))
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
      #expect(try columns(lab, "User") == [] && columns(lab, "Team") == ["captain_id"])
    }
    let page = try await lab(
      "create entity Page {\n relationship previous -> Page inverse Page.next\n relationship next -> Page inverse Page.previous\n}",
      fill: ["INSERT INTO Page(id) VALUES (1), (2)", "UPDATE Page SET next_id = 2 WHERE id = 1"])
    #expect(try columns(page, "Page") == ["next_id"])
  }

  @Test(arguments: [
    ("make User.leads many", "make User.leads one"), ("make Team.captain many", "make User.leads many"),
  ])
  func `links are kept when an end of a one-to-one becomes many, and one again`(
    _ step: String, _ next: String
  ) async throws {
    let lab = try await lab("\(Self.teams)\n\(Self.captain)\n\(Self.leads)", step, next, fill: Self.led)
    let pairs = { () throws -> [[SQLValue]] in
      if try lab.rows("SELECT 1 FROM sqlite_master WHERE name = 'Team_captain'").count == 1 {
        return try lab.rows("SELECT Team_id, User_id FROM Team_captain ORDER BY 1")
      }
      return try columns(lab, "Team").isEmpty
        ? lab.rows("SELECT leads_id, id FROM User WHERE leads_id NOT NULL ORDER BY 1")
        : lab.rows("SELECT id, captain_id FROM Team WHERE captain_id NOT NULL ORDER BY 1")
    }
    var images = [try StoreImage(lab.url)]
    for version in 2...3 {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set.upTo(version))
      #expect(try pairs() == [[1, 4], [3, 2]])
      images.append(try StoreImage(lab.url))
    }
    for version in [2, 1] {
      try await Store.downgrade(at: lab.url, key: testKey, to: version, migrations: lab.set)
      #expect(try StoreImage(lab.url) == images[version - 1])
    }
  }

  @Test func `make one picks one of several links, and makes the column's index unique`() async throws {
    let many = "\(Self.teams)\n\(Self.captain)\nadd relationship User.leads -> Team many inverse Team.captain"
    let fill = Self.rows + ["UPDATE Team SET captain_id = 4 WHERE id < 3"]
    let refused = try await lab(many, "make User.leads one", fill: fill)
    await #expect {
      _ = try await Store.migrate(at: refused.url, key: testKey, migrations: refused.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, "make User.leads one", let reason) = error else { return false }
      return reason.contains("picking (ORDER)")
    }
    let picked = try await lab(
      many, "allow: lossy:User.leads\n[up]\nmake User.leads one picking ($Team.name DESC)", fill: fill)
    let plan = try await Store.plan(at: picked.url, key: testKey, migrations: picked.set)
    #expect(plan.refusals.isEmpty && plan.steps[0].unasked.isEmpty, "\(plan)")
    _ = try await Store.migrate(
      at: picked.url, key: testKey, migrations: picked.set, allowing: ["lossy:User.leads", "User.leads"])
    #expect(
      try picked.rows("SELECT id, captain_id FROM Team ORDER BY id") == [[1, .null], [2, 4], [3, .null]])
    #expect(throws: SQLError.self) { try picked.run("UPDATE Team SET captain_id = 4 WHERE id = 1") }
    _ = try StoreImage(picked.url)
  }

  @Test(arguments: [
    (
      "make User.leads required",
      "cannot be required: it has no column; the column of this one-to-one belongs to Team.captain"
    ),
    (
      "transform sql { UPDATE $User SET $User.leads = 1 }",
      "the column of this one-to-one belongs to $Team.captain"
    ),
    ("add index User(leads)", "leads"),
    ("drop index User(leads)", "there is no index User(leads)"),
  ])
  func `an operation on the end without the column is refused with the reason`(
    _ step: String, _ reason: String
  ) async throws {
    let lab = try await lab("\(Self.teams)\n\(Self.captain)\n\(Self.leads)", step)
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { "\($0)".contains(reason) }
  }

  @Test func `one backfill value for several rows of a one-to-one is refused, and accepted for one row`()
    async throws
  {
    let step =
      "add relationship Team.captain -> User required filling 2\nadd relationship User.leads -> Team inverse Team.captain on delete cascade"
    let refused = try await lab(Self.teams, step)
    await #expect {
      _ = try await Store.migrate(at: refused.url, key: testKey, migrations: refused.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.contains("referenced more than once by Team.captain")
        && reason.contains("filling makes all rows refer to the same object")
    }
    let single = try await lab(Self.teams, step, fill: Self.rows + ["DELETE FROM Team WHERE id > 1"])
    _ = try await Store.migrate(at: single.url, key: testKey, migrations: single.set)
    #expect(try single.rows("SELECT id, captain_id FROM Team") == [[1, 2]])
  }

  @Test func `a data block that gives two rows the same partner is refused by the index`() async throws {
    let lab = try await lab(
      "\(Self.teams)\n\(Self.captain)\n\(Self.leads)", "transform sql { UPDATE $Team SET $Team.captain = 1 }")
    let bytes = try Data(contentsOf: lab.url)
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, "transform sql", let reason) = error else { return false }
      return reason.contains("UNIQUE")
    }
    #expect(try Data(contentsOf: lab.url) == bytes)
  }

  @Test(arguments: [
    ("", Self.led, "1 object has no leads"), (" filling 3", Self.led, nil),
    ("", Self.led + ["DELETE FROM User WHERE id = 1"], nil),
  ])
  func `an end that gets the column in a step can be made required in the same step`(
    _ filling: String, _ fill: [String], _ refusal: String?
  ) async throws {
    let lab = try await lab(
      "\(Self.teams)\n\(Self.captain)\n\(Self.leads)",
      "drop relationship Team.captain\nmake User.leads required\(filling)", fill: fill)
    let before = try StoreImage(lab.url)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.isEmpty)
    let error: (any Error)?
    do {
      try await lab.up()
      error = nil
    } catch let thrown { error = thrown }
    if let refusal {
      guard case .rowsRefused(2, _, _, let reason)? = error as? StoreError else { throw try #require(error) }
      #expect(reason.contains(refusal))
      #expect(try StoreImage(lab.url) == before)
      return
    }
    #expect(error == nil)
    #expect(
      try lab.rows("SELECT id, leads_id FROM User ORDER BY id")
        == (filling.isEmpty ? [[2, 3], [4, 1]] : [[1, 3], [2, 3], [4, 1]]))
    guard filling.isEmpty else { return }
    try await lab.down(1)
    #expect(try StoreImage(lab.url) == before)
  }

  @Test func `a rollback to a required end is refused with the number of rows without a partner`()
    async throws
  {
    let lab = try await lab(
      "\(Self.teams)\nadd relationship Team.captain -> User required filling 4\n\(Self.leads) on delete cascade",
      "drop relationship Team.captain",
      fill: [
        "INSERT INTO User(id, name) VALUES (2, 'y'), (4, 'z')",
        "INSERT INTO Team VALUES (1, 1, 'a', 4), (3, 1, 'c', 2)",
      ])
    try await lab.up()
    try lab.run("UPDATE User SET leads_id = NULL WHERE id = 4")
    let before = try StoreImage(lab.url)
    await #expect {
      try await lab.down(1)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.contains("1 object has no captain") && reason.contains("during the rollback")
    }
    #expect(try StoreImage(lab.url) == before)
  }

  @Test func `a plan checks no duplicates of links that an end without a column had`() async throws {
    let lab = try await lab(
      "\(Self.teams)\n\(Self.captain)\n\(Self.leads)",
      "drop relationship Team.captain\nadd relationship Team.captain -> User inverse User.leads",
      fill: Self.led)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.isEmpty && plan.steps.flatMap(\.unasked).isEmpty, "\(plan)")
    let sql = try lab.set.sql(ofStep: 2, on: .current)
    #expect(!sql.contains { $0.contains("GROUP BY") }, "\(sql)")
  }

  @Test func `no backfill value is advised for the end without a column`() async throws {
    let model = try DowngradeLab.set(["\(Self.teams)\n\(Self.captain)"]).model(at: 1)
    let wanted = Schema(entities: [
      EntityDescription(
        name: "Team", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [RelationshipDescription(name: "captain", destination: "User")]),
      EntityDescription(
        name: "User", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [
          RelationshipDescription(name: "leads", destination: "Team", isRequired: true, inverse: "captain")
        ]),
    ])
    let proposal = try DowngradeLab.set(["\(Self.teams)\n\(Self.captain)"]).proposal(for: wanted)
    #expect(!proposal.remarks.contains { $0.contains("filling") }, "\(proposal.remarks)")
    #expect(
      proposal.remarks.contains { $0.contains("only the end with the column, Team.captain") }, "\(model)")
  }

  @Test func `an index over the end without a column is a fault`() {
    let schema = Schema(entities: [
      EntityDescription(
        name: "Team", relationships: [RelationshipDescription(name: "captain", destination: "User")]),
      EntityDescription(
        name: "User",
        relationships: [RelationshipDescription(name: "leads", destination: "Team", inverse: "captain")],
        indexes: [IndexDescription(properties: ["leads"])]),
    ])
    #expect(
      "\(schema.modelFaults)".contains("it has no column to index"), "\(schema.modelFaults)")
  }
}
