// The columns of links are named after what they hold; stores of the format before are brought to this one.

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

  /// The store as it was written before its links' columns had names.
  private func makeFormer(_ url: URL, _ tables: [String: (source: String, target: String)]) throws {
    let connection = try Connection.open(url.path, key: testKey)
    try StoreInfo.prepare(connection)
    try connection.executeScript("PRAGMA foreign_keys = OFF")
    for (table, columns) in tables {
      let sql = try #require(
        try connection.value(
          sql: "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = '\(table)'")?.string)
      let former = sql.replacing("\"\(columns.source)\"", with: "\"source_id\"")
        .replacing("\"\(columns.target)\"", with: "\"target_id\"")
      try connection.execute(sql: "ALTER TABLE \(table) RENAME TO kept")
      try connection.execute(sql: "DROP INDEX \"ix_\(table)_target\"")
      try connection.execute(sql: former)
      try connection.execute(
        sql: "INSERT INTO \(table) SELECT \(columns.source), \(columns.target) FROM kept")
      try connection.execute(sql: "DROP TABLE kept")
      try connection.execute(sql: "CREATE INDEX \"ix_\(table)_target\" ON \(table)(\"target_id\")")
    }
    try connection.execute("UPDATE vault_meta SET value = 1 WHERE key = 'format'")
  }

  @Test func `links are written by the names of their ends, whichever end keeps the table`() async throws {
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

  @Test func `a name that is no end of the links is an error that lists the two`() async throws {
    await #expect {
      try await lab.migrate(
        "transform sql { DELETE FROM $Package.maintainers WHERE $Package.maintainers.Persn = 1 }")
    } throws: { "\($0)".contains("$Package.maintainers.Package and $Package.maintainers.Person") }
  }

  private static let formerStep = """
    transform sql {
      INSERT INTO $Package.maintainers (source_id, target_id) VALUES (1, 7);
      INSERT INTO $Package.conflicts (source_id, target_id) VALUES (1, 3);
      UPDATE $Person SET $Person.name = 'source_id'
    }
    """

  private func former(_ head: String) throws -> MigrationSet {
    let text = "format: 1\n\(head)[up]\n\(Self.formerStep)"
    return try MigrationSet([
      MigrationStep(number: 1, name: "step1", text: "format: 1\n[up]\n\(Self.base)"),
      MigrationStep(number: 2, name: "step2", text: text),
    ])
  }

  @Test func `steps that say to be as old as the former names mean the same links`() async throws {
    let set = try former("allow: former-link-columns\n")
    #expect(try former("").steps[1].checksum == set.steps[1].checksum)
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    #expect(try lab.rows("SELECT Package_id, Person_id FROM Package_maintainers") == [[1, 7]])
    #expect(try lab.rows("SELECT enemies_id, conflicts_id FROM Package_conflicts") == [[1, 3]])
    #expect(try lab.rows("SELECT DISTINCT name FROM Person") == [["source_id"]])
  }

  @Test func `other steps are refused with the columns to write, and no link is made`() async throws {
    let (set, url) = (try former(""), lab.url)
    let isTold = { (error: any Error) in
      guard case StoreError.migrationFailed(2, _, "transform sql", let reason) = error else { return false }
      return reason.contains("(source_id, target_id) VALUES (1, 7)")
        && reason.contains("$Package.maintainers.Package and $Package.maintainers.Person")
        && reason.contains("allow: former-link-columns")
    }
    await #expect {
      _ = try await Store.migrate(at: url, key: testKey, migrations: set)
    } throws: { isTold($0) }
    await #expect {
      _ = try await Store.plan(at: url, key: testKey, migrations: set)
    } throws: { isTold($0) }
    #expect(try lab.rows("SELECT * FROM Package_maintainers") == [])
  }

  @Test func `steps that a store of the former format lacks need to say nothing`() async throws {
    try makeFormer(
      lab.url,
      [
        "Package_maintainers": ("Package_id", "Person_id"),
        "Package_conflicts": ("enemies_id", "conflicts_id"),
        "Package_seeAlso": ("Package_id", "seeAlso_id"),
      ])
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: former("")).changesFormat)
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: former(""))
    #expect(try lab.rows("SELECT Package_id, Person_id FROM Package_maintainers") == [[1, 7]])
  }

  @Test func `columns of to-ones called source and target are their own`() async throws {
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

  @Test func `a store that the former version wrote opens, with its links as they were`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try FileManager.default.copyItem(
      at: packageRoot.appendingPathComponent("Tests/Fixtures/stores/format-1/microblog.sqlcipher"), to: url)
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    let plan = try await Store.plan(at: url, key: testKey, migrations: set)
    #expect(plan.changesFormat && !plan.isUpToDate && plan.steps.isEmpty && plan.drift.isEmpty)
    do {
      let connection = try Connection.open(url.path, key: testKey)
      #expect(try StoreInfo(connection).drift(connection).isEmpty)
    }
    for round in 1...2 {
      let store = try await openMicroblog(url)
      let links = try await store.read { context in
        try context.fetch(Status.self).sorted(by: \.id).all().map { $0.tags.map(\.name).sorted() }
      }
      #expect(links == [["x", "y"], [], ["y"]])
      #expect(try await store.read { try $0.fetch(Status.self).where("ANY tags.name = 'x'").count() } == 1)
      #expect(try await store.verify().isEmpty && store.opening.migratedSteps.isEmpty)
      store.close()
      let connection = try Connection.open(url.path, key: testKey)
      #expect(
        try connection.rows("SELECT Status_id, Tag_id FROM Status_tags ORDER BY 1, 2") == [
          [1, 1], [1, 2], [3, 2],
        ])
      let meta = try connection.rows(
        "SELECT value FROM vault_meta WHERE key IN ('format', 'generation') ORDER BY key")
      #expect(meta == [[2], [2]], "round \(round)")
    }
    #expect(try await Store.plan(at: url, key: testKey, migrations: set).isUpToDate)
  }

  @Test func `a former store changes its format and runs its steps in one go, or does neither`() async throws
  {
    try lab.open().execute("INSERT INTO Package_maintainers(Package_id, Person_id) VALUES (1, 7), (2, 1)")
    try lab.open().execute("INSERT INTO Package_conflicts(conflicts_id, enemies_id) VALUES (3, 1)")
    try makeFormer(
      lab.url,
      [
        "Package_maintainers": ("Package_id", "Person_id"),
        "Package_conflicts": ("enemies_id", "conflicts_id"),
        "Package_seeAlso": ("Package_id", "seeAlso_id"),
      ])
    await #expect(throws: StoreError.self) { try await lab.migrate("require \"never\" { SELECT 0 }") }
    #expect(
      try lab.rows("SELECT source_id, target_id FROM Package_maintainers ORDER BY 1") == [[1, 7], [2, 1]])
    #expect(try lab.isSound())
    try await lab.migrate("rename relationship Package.maintainers -> keepers")
    #expect(
      try lab.rows("SELECT Package_id, Person_id FROM Package_keepers ORDER BY 1") == [[1, 7], [2, 1]])
    #expect(try lab.rows("SELECT enemies_id, conflicts_id FROM Package_conflicts") == [[1, 3]])
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    (
      "CREATE TRIGGER spy AFTER INSERT ON Status_tags BEGIN DELETE FROM Tag; END",
      "the trigger spy on Status_tags is none"
    ),
    (
      "CREATE VIEW Linked AS SELECT source_id FROM Status_tags",
      "the view Linked is none of the store's, and names Status_tags.source_id, which the change of the file's format"
    ),
  ])
  func `what somebody hung on the links of a former store stays, and a plan says that it is in the way`(
    _ sql: String, _ words: String
  ) async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try FileManager.default.copyItem(
      at: packageRoot.appendingPathComponent("Tests/Fixtures/stores/format-1/microblog.sqlcipher"), to: url)
    func run<Result>(_ body: (Connection) throws -> Result) throws -> Result {
      let connection = try Connection.open(url.path, key: testKey)
      defer { connection.close() }
      return try body(connection)
    }
    func objects() throws -> [[SQLValue]] {
      try run { try $0.rows("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2") }
    }
    try run { try $0.executeScript(sql) }
    let before = try objects()
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    let plan = try await Store.plan(at: url, key: testKey, migrations: set)
    #expect(plan.changesFormat && plan.drift.count == 1 && plan.drift[0].contains(words), "\(plan.drift)")
    for commitsEachStep in [false, true] {
      await #expect {
        try await Store.migrate(at: url, key: testKey, migrations: set, commitsEachStep: commitsEachStep)
      } throws: { error in
        guard case StoreError.stepsObstructed(_, let obstacles) = error else { return false }
        return obstacles == plan.drift
      }
    }
    #expect(try objects() == before)
    // A table of somebody else's, and what reads other tables, are in nobody's way.
    try run {
      try $0.executeScript(
        "DROP \(sql.contains("VIEW") ? "VIEW Linked" : "TRIGGER spy"); CREATE VIEW V AS SELECT name FROM Tag; CREATE TABLE notes (a)"
      )
    }
    #expect(try await Store.plan(at: url, key: testKey, migrations: set).drift.isEmpty)
    try await Store.migrate(at: url, key: testKey, migrations: set)
    #expect(try run { try $0.rows("SELECT count(*) FROM V") } == [[2]])
  }

  @Test func `a program of a former format leaves a store of a later one alone`() async throws {
    let connection = try lab.open()
    try connection.execute("UPDATE vault_meta SET value = 3 WHERE key = 'format'")
    connection.close()
    let isTold = { (error: any Error) in
      if case StoreError.otherFormat(_, found: 3, supported: 2) = error { true } else { false }
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
  }
}
