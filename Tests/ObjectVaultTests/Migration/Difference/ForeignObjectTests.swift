// Objects that a user with the key has added to a file: verify names each of them. A bookkeeping table with
// other columns is an error that names the table.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ForeignObjects {
  static let steps = [
    "create entity Thing {\n attribute name string indexed\n}\ncreate raw view Names { SELECT $Thing.name FROM $Thing }",
    "add attribute Thing.more string optional",
  ]

  private func findings(_ lab: DowngradeLab) async throws -> [String] {
    let store = try await Store.open(at: lab.url, key: testKey)
    defer { store.close() }
    return try await store.verify()
  }

  @Test(arguments: [
    ("CREATE TRIGGER spy AFTER INSERT ON Thing BEGIN DELETE FROM Thing; END", "trigger spy on Thing"),
    ("CREATE TRIGGER spy AFTER UPDATE ON vault_ids BEGIN DELETE FROM Thing; END", "trigger spy on vault_ids"),
    (
      "CREATE TRIGGER vault_spy AFTER INSERT ON vault_meta BEGIN DELETE FROM Thing; END",
      "trigger vault_spy on vault_meta"
    ),
    ("CREATE VIEW Other AS SELECT 1", "view Other"),
    ("CREATE TABLE notes (a)", "table notes"),
    ("CREATE TABLE vault_notes (a PRIMARY KEY)", "table vault_notes"),
    ("CREATE INDEX i ON vault_migrations (name)", "index i on vault_migrations"),
  ])
  func `verify names objects that no step has made`(_ sql: String, _ name: String) async throws {
    let lab = try await DowngradeLab(Self.steps, at: 2)
    #expect(try await findings(lab) == [])
    try lab.run(sql)
    let found = try await findings(lab)
    #expect(
      found.count == 1 && found.first?.hasPrefix("the \(name) is not part of the store") == true, "\(found)")
  }

  @Test(arguments: [
    ("vault_undone (id INTEGER PRIMARY KEY)", "vault_undone lacks the column app"),
    ("vault_repaired (id INTEGER PRIMARY KEY)", "vault_repaired lacks the column app"),
  ])
  func `a bookkeeping table with other columns is reported by its name`(_ table: String, _ words: String)
    async throws
  {
    let lab = try await DowngradeLab(Self.steps, at: 2)
    try lab.run("CREATE TABLE \(table)")
    let calls: [() async throws -> Void] = [
      { try await lab.down(1) }, { _ = try await Store.history(at: lab.url, key: testKey) },
      { _ = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set) },
      { try await Store.repair(at: lab.url, key: testKey, steps: [1], migrations: lab.set) },
    ]
    for (index, call) in calls.enumerated() {
      await #expect("call \(index)") { try await call() } throws: { error in
        guard case StoreError.bookkeepingDamaged = error else { return false }
        return "\(error)".contains(words) && "\(error)".contains("restore the file from a backup")
      }
    }
  }

  @Test func `a step that rebuilds a table does not drop a foreign trigger, and a plan reports it`()
    async throws
  {
    let sql = "CREATE TRIGGER spy AFTER INSERT ON Thing BEGIN DELETE FROM Other; END"
    let words = "the trigger spy on Thing is not part of"
    let base =
      "create entity Thing {\n attribute name string\n}\ncreate entity Other {\n attribute n int optional\n}"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO Thing(id, name) VALUES (1, 'a')"])
    try lab.open().executeScript(sql)
    let objects = try lab.rows("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2")
    let step = "retype Thing.name to string using (upper($Thing.name))"
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([base, step]))
    #expect(plan.drift.count == 1 && plan.drift[0].contains(words), "\(plan.drift)")
    await #expect { try await lab.migrate(step) } throws: { error in
      guard case StoreError.stepsObstructed(_, let differences) = error else { return false }
      return differences.count == 1 && differences[0].contains(words)
    }
    #expect(try lab.rows("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2") == objects)
    // A step without a rebuild keeps the trigger.
    try await lab.migrate("add attribute Thing.more string optional")
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name = 'spy'") == [[1]])
  }

  @Test(arguments: [false, true])
  func `a step's own trigger replaces a foreign one of its name, before or after a rebuild`(_ isBehind: Bool)
    async throws
  {
    let base =
      "create entity Thing {\n attribute name string\n}\ncreate entity Other {\n attribute n int optional\n}"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO Thing(id, name) VALUES (1, 'a')"])
    try lab.open().executeScript("CREATE TRIGGER Spy AFTER INSERT ON Thing BEGIN DELETE FROM Other; END")
    let made = "create raw trigger spy { AFTER DELETE ON $Thing BEGIN UPDATE $Other SET $Other.n = 1; END }"
    let written = "retype Thing.name to string using (upper($Thing.name))"
    let step = isBehind ? "\(written)\n\(made)" : "\(made)\n\(written)"
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([base, step]))
    #expect(plan.drift.isEmpty && plan.steps.count == 1)
    try await lab.migrate(step)
    #expect(try lab.rows("SELECT name FROM Thing") == [["A"]])
    let sql = try lab.rows("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    #expect(sql.count == 1 && sql[0][0].string?.contains("AFTER DELETE") == true, "\(sql)")
    #expect(try lab.isSound())
  }

  @Test func `a view of the store does not replace a foreign trigger of its name`() async throws {
    let base =
      "create entity Thing {\n attribute name string\n}\ncreate raw view spy { SELECT $Thing.name FROM $Thing }"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO Thing(id, name) VALUES (1, 'a')"])
    try lab.open().executeScript(
      "CREATE TRIGGER spy AFTER INSERT ON Thing BEGIN UPDATE Thing SET name = 'b'; END")
    let step = "retype Thing.name to string using (upper($Thing.name))"
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([base, step]))
    #expect(plan.drift.count == 1 && plan.drift[0].contains("the trigger spy on Thing"), "\(plan.drift)")
    await #expect { try await lab.migrate(step) } throws: {
      if case StoreError.stepsObstructed = $0 { true } else { false }
    }
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name = 'spy'") == [[2]])
  }

  @Test func `a foreign trigger does not prevent the check of rows`() async throws {
    let base = "create entity Thing {\n attribute name string optional\n}"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO Thing(id, name) VALUES (1, NULL), (2, 'b')"])
    try lab.open().executeScript("CREATE TRIGGER spy AFTER INSERT ON Thing BEGIN DELETE FROM Thing; END")
    let plan = try await Store.plan(
      at: lab.url, key: testKey, migrations: lab.set([base, "make Thing.name required"]))
    #expect(plan.refusals.count == 1 && plan.refusals[0].rows == [1], "\(plan.refusals)")
  }

  @Test func `a view in the place of a bookkeeping table, or an extra column in one, is reported`()
    async throws
  {
    for (sql, words) in [
      ("CREATE VIEW vault_undone AS SELECT 1 AS id", "vault_undone is of the kind view, not a table"),
      ("ALTER TABLE vault_ids ADD COLUMN extra", "vault_ids has an unknown column extra"),
    ] {
      let lab = try await DowngradeLab(Self.steps, at: 2)
      try lab.run(sql)
      await #expect("\(sql)") { try await lab.down(1) } throws: { "\($0)".contains(words) }
    }
  }
}
