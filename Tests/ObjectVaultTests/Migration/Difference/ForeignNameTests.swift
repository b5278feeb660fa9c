// Objects that were made by hand under a name that a pending step needs. The steps are refused before the
// first one, with the SQL that frees the name.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ForeignNames {
  private static let base = """
    create entity Thing {
     attribute name string
     attribute size int default 0
    }
    create entity Tag {
     attribute name string
    }
    """

  struct Case: Sendable, CustomTestStringConvertible {
    /// What was made by hand.
    let sql: [String]
    let step: String
    /// How the refusal calls the object, and the SQL that frees the name.
    let title: String
    let line: String
    var testDescription: String { sql.joined(separator: "; ") }
  }

  static let cases = [
    Case(
      sql: ["CREATE TABLE Extra (a)"], step: "create entity Extra {\n attribute n int\n}",
      title: "table Extra",
      line: "ALTER TABLE \"Extra\" RENAME TO \"Extra_before\";"),
    // Names are compared without case, and an unused new name is found.
    Case(
      sql: ["CREATE TABLE \"extra\" (a)", "CREATE TABLE EXTRA_before (a)"],
      step: "create entity Extra {\n attribute n int\n}", title: "table extra",
      line: "ALTER TABLE \"extra\" RENAME TO \"extra_before1\";"),
    Case(
      sql: ["CREATE VIEW Extra AS SELECT 1"], step: "rename entity Tag -> Extra", title: "view Extra",
      line: "DROP VIEW \"Extra\";"),
    // A table of such a name is dropped: see complaint 13.
    Case(
      sql: ["CREATE VIEW _mig_Thing AS SELECT 1"],
      step: "retype Thing.name to string using (upper($Thing.name))",
      title: "view _mig_Thing", line: #"DROP VIEW "_mig_Thing";"#),
    Case(
      sql: ["CREATE TABLE Thing_tags (a)"], step: "add relationship Thing.tags -> Tag many",
      title: "table Thing_tags",
      line: "DROP TABLE \"Thing_tags\";"),
    Case(
      sql: ["CREATE TABLE ix_Thing_name (a)"], step: "add index Thing(name)", title: "table ix_Thing_name",
      line: "DROP TABLE \"ix_Thing_name\";"),
    Case(
      sql: ["CREATE TABLE notes (a)", "CREATE INDEX ix_Thing_name ON notes (a)"],
      step: "add index Thing(name)",
      title: "index ix_Thing_name on notes", line: "DROP INDEX \"ix_Thing_name\";"),
    Case(
      sql: ["CREATE TABLE Names (a)"], step: "create raw view Names { SELECT $Thing.name FROM $Thing }",
      title: "table Names", line: "DROP TABLE \"Names\";"),
    Case(
      sql: ["CREATE TABLE Upper (a)"], step: "create raw index Upper { ON $Thing (upper($Thing.name)) }",
      title: "table Upper", line: "DROP TABLE \"Upper\";"),
  ]

  private func objects(_ lab: MigrationLab) throws -> [[SQLValue]] {
    try lab.rows("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2")
  }

  @Test(arguments: cases)
  func `an object whose name a step needs is reported before the steps, with SQL to free the name`(
    _ each: Case
  ) async throws {
    let lab = try await MigrationLab(Self.base)
    for sql in each.sql { try lab.open().executeScript(sql) }
    let (before, set) = (
      try objects(lab), try lab.set([Self.base, "add attribute Thing.more int optional", each.step])
    )
    func isTold(_ lines: [String]) -> Bool {
      lines.count == 1
        && lines[0].hasPrefix("the \(each.title) is not part of the store, but step")
        && (lines[0].contains("0003 step3 creates an object with its name")
          || lines[0].contains("use temporary tables with such names"))
        && lines[0].contains(each.line)
    }
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(isTold(plan.drift), "\(plan.drift)")
    for isEach in [false, true] {
      await #expect {
        try await Store.migrate(at: lab.url, key: testKey, migrations: set, commitsEachStep: isEach)
      } throws: { error in
        guard case StoreError.stepsObstructed(_, let differences) = error else { return false }
        return isTold(differences)
      }
      // The step before it has not run either.
      #expect(try objects(lab) == before)
      #expect(try await Store.plan(at: lab.url, key: testKey, migrations: set).storeVersion == 1)
    }
    try lab.open().executeScript(each.line)
    try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    #expect(try lab.isSound())
  }

  @Test func `objects of other names stay, and so does a trigger with the name of a table`() async throws {
    let lab = try await MigrationLab(Self.base)
    for sql in [
      "CREATE TABLE notes (a)", "CREATE TRIGGER Extra AFTER INSERT ON notes BEGIN DELETE FROM notes; END",
    ] {
      try lab.open().executeScript(sql)
    }
    let step = "create entity Extra {\n attribute n int\n}\nadd relationship Extra.thing -> Thing"
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([Self.base, step]))
    #expect(plan.drift.isEmpty, "\(plan.drift)")
    try await lab.migrate(step)
    #expect(
      try lab.rows("SELECT type FROM sqlite_master WHERE name IN ('notes', 'Extra') ORDER BY 1").count == 3)
  }

  @Test func `an index that was made or dropped by hand is reported with the SQL that undoes it`()
    async throws
  {
    let base = "create entity Thing {\n attribute name string\n attribute size int indexed\n}"
    for (sql, line) in [
      (
        "CREATE INDEX mine ON Thing (name)",
        "has an unexpected index mine on name (in the sqlcipher shell: DROP INDEX \"mine\";)"
      ),
      (
        "DROP INDEX ix_Thing_size",
        "index ix_Thing_size on size is missing (in the sqlcipher shell: CREATE INDEX \"ix_Thing_size\" ON \"Thing\" (\"size\");)"
      ),
    ] {
      let lab = try await MigrationLab(base)
      try lab.open().executeScript(sql)
      await #expect("\(sql)") { try await lab.migrate("add attribute Thing.more int optional") } throws: {
        "\($0)".contains(line)
      }
      let command = try #require(line.firstMatch(of: /shell: (.*)\)$/)?.1)
      try lab.open().executeScript(String(command))
      try await lab.migrate("add attribute Thing.more int optional")
      #expect(try lab.isSound())
    }
  }
}
