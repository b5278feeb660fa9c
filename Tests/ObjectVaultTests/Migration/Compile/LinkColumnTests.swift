// The columns of join tables are named after the objects in them.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite struct LinkColumns {
  static let base = """
    create entity Package {
        attribute name string
        relationship maintainers -> Person many inverse Person.packages
        relationship conflicts -> Package many inverse Package.enemies
        relationship enemies -> Package many inverse Package.conflicts
        relationship seeAlso -> Package many
    }
    create entity Person {
        attribute name string
        relationship packages -> Package many inverse Package.maintainers
    }
    """
  static let fill = [
    "INSERT INTO Package(id, name) VALUES (1, 'p'), (2, 'q'), (3, 'r')",
    "INSERT INTO Person(id, name) VALUES (1, 'Ann'), (7, 'Bob')",
  ]

  let lab: MigrationLab
  init() async throws { lab = try await MigrationLab(Self.base, fill: Self.fill) }

  @Test func `links are written by the names of their ends, whichever end has the join table`() async throws {
    try await lab.migrate(
      """
      transform sql {
        INSERT INTO $Package.maintainers ($Package.maintainers.Package, $Package.maintainers.Person) VALUES (1, 7);
        INSERT INTO $Person.packages ($Person.packages.Person, $Person.packages.Package) VALUES (1, 2);
        INSERT INTO $Package.conflicts ($Package.conflicts.conflicts, $Package.conflicts.enemies) VALUES (3, 1);
        INSERT INTO $Package.seeAlso ($Package.seeAlso.Package, $Package.seeAlso.seeAlso) VALUES (1, 2);
      }
      """)
    #expect(
      try lab.rows("SELECT Package_id, Person_id FROM Package_maintainers ORDER BY 1") == [[1, 7], [2, 1]])
    // Package 1 conflicts with 3, and 3 has the enemy 1.
    #expect(try lab.rows("SELECT enemies_id, conflicts_id FROM Package_conflicts") == [[1, 3]])
    #expect(try lab.rows("SELECT Package_id, seeAlso_id FROM Package_seeAlso") == [[1, 2]])
    #expect(try lab.isSound())
  }

  @Test func `an unknown end of a join table is an error that lists both ends`() async throws {
    await #expect {
      try await lab.migrate(
        "transform sql { DELETE FROM $Package.maintainers WHERE $Package.maintainers.Persn = 1 }")
    } throws: { "\($0)".contains("$Package.maintainers.Package and $Package.maintainers.Person") }
  }

  @Test func `to-ones called source and target have columns of their own`() async throws {
    let base = """
      create entity Edge {
          relationship source -> Edge
          relationship target -> Edge
          relationship sees -> Edge many
      }
      """
    let lab = try await MigrationLab(base, fill: ["INSERT INTO Edge(id) VALUES (1), (2)"])
    try await lab.migrate(
      "transform sql { UPDATE $Edge SET source_id = 2, target_id = 1 WHERE NOT EXISTS (SELECT 1 FROM $Edge.sees) }"
    )
    #expect(try lab.rows("SELECT source_id, target_id FROM Edge") == [[2, 1], [2, 1]])
  }

  @Test func `renaming an entity or an end renames the columns, and keeps the links`() async throws {
    try lab.open().execute("INSERT INTO Package_maintainers(Package_id, Person_id) VALUES (1, 7), (2, 1)")
    try lab.open().execute("INSERT INTO Package_conflicts(conflicts_id, enemies_id) VALUES (3, 1)")
    try await lab.migrate(
      """
      rename entity Person -> Anyone
      rename relationship Anyone.packages -> bundles
      rename relationship Package.enemies -> adversaries
      """)
    #expect(
      try lab.rows("SELECT Package_id, Anyone_id FROM Anyone_bundles ORDER BY 1") == [[1, 7], [2, 1]])
    #expect(
      try lab.rows("SELECT adversaries_id, conflicts_id FROM Package_adversaries") == [[1, 3]])
    #expect(try lab.isSound())
  }

  @Test(arguments: [(2, "Export the rows"), (5, "Update the program")])
  func `a store of another format is refused with advice, and stays unchanged`(
    _ format: Int, _ remedy: String
  ) async throws {
    let connection = try lab.open()
    try connection.execute("UPDATE vault_meta SET value = \(format) WHERE key = 'format'")
    connection.close()
    let before = try Data(contentsOf: lab.url)
    let isTold = { (error: any Error) in
      guard case StoreError.otherFormat(_, found: format, supported: 4) = error else { return false }
      return "\(error)".contains(remedy)
    }
    let step = "add attribute Person.x int optional"
    await #expect { try await lab.migrate(step) } throws: { isTold($0) }
    let set = try lab.set([Self.base, step])
    await #expect { try await Store.plan(at: lab.url, key: testKey, migrations: set) } throws: { isTold($0) }
    await #expect { try await Store.downgrade(at: lab.url, key: testKey, to: 0, migrations: set) } throws: {
      isTold($0)
    }
    await #expect {
      try await Store.open(at: lab.url, key: testKey, schema: Schema(entities: []), migrations: .automatic)
    } throws: { isTold($0) }
    await #expect { try await Store.open(at: lab.url, key: testKey) } throws: { isTold($0) }
    #expect(try Data(contentsOf: lab.url) == before)
  }
}
