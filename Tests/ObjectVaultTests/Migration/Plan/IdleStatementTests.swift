// Statements of data blocks that change nothing are refused by check, plan and run. A plan distinguishes
// the tables that a block writes from those that it only reads.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct IdleStatements {
  static let base = """
    create entity Team {
        attribute title string
    }
    create entity Person {
        attribute team string optional
        attribute name string
        relationship friends -> Person many
    }
    """
  let lab: MigrationLab
  init() async throws {
    lab = try await MigrationLab(
      Self.base,
      fill: [
        "INSERT INTO Team(id, title) VALUES (1, 'red')",
        "INSERT INTO Person(id, team, name) VALUES (1, 'red', 'Ada'), (2, NULL, 'Bob')",
      ])
  }

  @Test(arguments: [
    ("transform sql { EXPLAIN UPDATE $Person SET $Person.name = 'x' }", "EXPLAIN"),
    ("transform sql { /* see */ explain QUERY PLAN DELETE FROM $Person; }", "EXPLAIN"),
    ("seed { EXPLAIN INSERT INTO $Team ($Team.title) VALUES ('x') }", "EXPLAIN"),
    ("transform sql { SELECT 1 }", "SELECT"),
    ("transform sql { UPDATE $Team SET $Team.title = 'blue'; SELECT count(*) FROM $Person }", "SELECT"),
    ("seed { WITH x AS (SELECT 1) SELECT * FROM x }", "WITH"),
    ("transform sql { VALUES (1) }", "VALUES"),
  ])
  func `check, plan and run refuse a statement that changes nothing`(_ step: String, _ word: String)
    async throws
  {
    let set = try lab.set([Self.base, step])
    let faults = try set.review(set.models()).faults
    #expect(faults.count == 1 && faults[0].contains("\(word) changes no row"), "\(faults)")
    await #expect {
      try await Store.plan(at: lab.url, key: testKey, migrations: set)
    } throws: { StoppedStep($0)?.reason.contains("\(word) changes no row") == true }
    let reason = try await lab.refusal(step)?.reason
    #expect(reason?.contains("\(word) changes no row") == true, "\(String(describing: reason))")
    #expect(try lab.rows("SELECT title FROM Team") == [["red"]])
  }

  @Test func `a statement that matches no row is accepted, and so is a comment alone`() async throws {
    let step = """
      transform sql { UPDATE $Person SET $Person.name = 'x' WHERE 0; -- SELECT
      }
      transform sql { DELETE FROM $Team WHERE $Team.title = 'explain'; /* EXPLAIN */ }
      """
    let set = try lab.set([Self.base, step])
    #expect(try set.review(set.models()).faults == [])
    try await lab.migrate(step)
    #expect(try lab.rows("SELECT count(*) FROM Person") == [[2]])
  }

  @Test func `a plan checks rows of a table that a block only reads, and none of a table it writes`()
    async throws
  {
    let read = "transform sql { UPDATE $Team SET $Team.title = (SELECT max($Person.name) FROM $Person) }"
    let asked = try await Store.plan(
      at: lab.url, key: testKey, migrations: lab.set([Self.base, read + "\nmake Person.team required"]))
    #expect(
      asked.steps[0].unasked.count == 1 && asked.refusals.map(\.rows) == [[2]], "\(asked.steps[0].unasked)")
    for (write, name) in [
      (read, "Team"), ("transform sql { DELETE FROM $Team }", "Team"),
      ("transform sql { INSERT INTO $Team ($Team.title) SELECT $Person.name FROM $Person }", "Team"),
      (
        "create raw trigger t { AFTER UPDATE ON $Person BEGIN DELETE FROM $Team; END }\n"
          + "transform sql { UPDATE $Person SET $Person.name = 'x' }", "Team"
      ),
    ] {
      let plan = try await Store.plan(
        at: lab.url, key: testKey,
        migrations: lab.set([Self.base, write + "\nrequire \"no team\" { SELECT count(*) = 0 FROM $Team }"]))
      #expect(
        plan.steps[0].unasked.count == 2
          && plan.steps[0].unasked[0].contains("changes \(name) first"),
        "\(write): \(plan.steps[0].unasked)")
    }
  }

  @Test func `the name of the library's own function may occur in a text, and not as a function`()
    async throws
  {
    try await lab.migrate(
      "transform sql { UPDATE $Person SET $Person.name = 'vault_given_id'; UPDATE $Team SET $Team.title = \"title\" || ' vault_given_id' }"
    )
    #expect(try lab.rows("SELECT DISTINCT name FROM Person") == [["vault_given_id"]])
    let set = try lab.set([
      Self.base,
      "seed { INSERT INTO $Team ($Team.title) SELECT 1 AS vault_given_id, vault_given_id('Team', 7) }",
    ])
    #expect(try set.review(set.models()).faults.contains { $0.contains("an internal function") })
  }
}
