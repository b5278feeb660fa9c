// `add … filling`: a new required property with a backfill value for existing rows.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Fillings {
  static let base = """
    create entity Team {
        attribute title string
    }
    create entity User {
        attribute name string
    }
    """
  static let fill = [
    "INSERT INTO Team(id, title) VALUES (1, 'red'), (7, 'blue')",
    "INSERT INTO User(id, name) VALUES (1, 'Ada'), (2, 'Bob')",
  ]
  let lab: MigrationLab
  init() async throws { lab = try await MigrationLab(Self.base, fill: Self.fill) }

  @Test(arguments: [
    ("add attribute User.town string filling \"Bonn\"", "town", "'Bonn'", "TEXT NOT NULL"),
    ("add attribute User.age int filling 7 default 0", "age", "7", "INTEGER NOT NULL DEFAULT 0"),
    ("add attribute User.isOld bool indexed filling true", "isOld", "1", "INTEGER NOT NULL"),
    ("add attribute User.score double filling 2", "score", "2.0", "REAL NOT NULL"),
    (
      "add relationship User.team -> Team required filling 7", "team_id", "7",
      "INTEGER NOT NULL REFERENCES"
    ),
  ])
  func `existing rows get the backfill value, and the column does not keep it as default`(
    _ step: String, _ column: String, _ value: String, _ declared: String
  ) async throws {
    let set = try lab.set([Self.base, step])
    #expect(try set.findings().filter { !$0.rule.isNote }.isEmpty)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.refusals.isEmpty && plan.losses.isEmpty && plan.steps[0].rebuiltTables == ["User"])
    try await lab.migrate(step)
    #expect(
      try lab.rows("SELECT CAST(quote(\(column)) AS TEXT) FROM User ORDER BY id") == [
        [.text(value)], [.text(value)],
      ])
    let sql = try lab.rows("SELECT sql FROM sqlite_master WHERE name = 'User'")[0][0].string ?? ""
    #expect(sql.contains("\"\(column)\" \(declared)"), "\(sql)")
    #expect(try lab.isSound())
    // It is short for several operations, and a rollback removes the property.
    let again = try MigrationStep(number: 2, name: "step2", text: set.steps[1].text)
    #expect(again.checksum == set.steps[1].checksum && again.operations == set.steps[1].operations)
    _ = try await Store.downgrade(
      at: lab.url, key: testKey, to: 1, migrations: set,
      allowing: ["User.\(column.replacing("_id", with: ""))"])
    #expect(try lab.rows("SELECT * FROM User ORDER BY id").count == 2 && lab.isSound())
  }

  @Test(arguments: [
    ("add attribute User.town string optional filling \"x\"", "filling needs a required property"),
    ("add attribute User.age int8 filling 1000", "is not a valid int8"),
    ("add relationship User.team -> Team filling 7", "filling needs a required property"),
    ("add relationship User.teams -> Team many filling 7", "a to-many is never required"),
    ("create entity A {\n attribute a int filling 3\n}", "a new entity has no rows"),
    ("create entity A {\n relationship t -> Team required filling 3\n}", "a new entity has no rows"),
  ])
  func `a backfill value where none is needed is refused with its line`(_ step: String, _ words: String) {
    #expect {
      try lab.set([Self.base, step])
    } throws: { "\($0)".contains(words) }
  }

  @Test func `a backfill value that references no row, or that makes duplicates, is refused`() async throws {
    let steps = [
      "add relationship User.team -> Team required filling 5",
      "add attribute User.mail string unique filling \"x\"",
    ]
    for step in steps {
      let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([Self.base, step]))
      let isKnown = step.contains("Team")
      #expect(
        plan.refusals.isEmpty != isKnown && plan.steps[0].unasked.isEmpty == isKnown, "\(step): \(plan)")
      await #expect { try await lab.migrate(step) } throws: { error in
        StoppedStep(error)?.operation.contains("required filling") == true
      }
      #expect(try lab.rows("SELECT count(*) FROM User") == [[.integer(2)]] && lab.isSound())
    }
  }
}
