// One step of several operations on entities that share a table does to the rows what a step for each of them does.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FamilyStepOrder {
  static let operations = [
    "add attribute Employee.z int default 3", "add attribute Boss.z int optional",
    "add attribute Person.z int default 1",
    "make Employee.z optional", "make Boss.z required filling 5", "set default of Employee.z to 9",
    "drop attribute Employee.z", "rename attribute Employee.z -> w",
    "retype Employee.salary to string using ('n' || $Employee.salary || $Employee.name)",
    "make Employee.badge required filling \"x\"", "make Boss.level required filling 2",
    "make Guest.host required filling \"h\"",
    "retype Guest.host to int using ((SELECT count(*) FROM $Boss WHERE _entity = 'Boss'))",
    "retype Boss.level to int using ((SELECT count(*) FROM $Guest))",
    "rename attribute Employee.salary -> z", "rename attribute Person.name -> z",
    "drop attribute Employee.badge",
    "rename entity Employee -> Worker", "rename entity Person -> Human", "rename entity Guest -> Employee",
    "drop entity Guest", "drop relationship Employee.boss", "drop relationship Boss.reports",
    "drop entity Boss",
    "create entity Guest : Person {\n attribute host string optional\n}",
    "create entity Intern : Employee {\n attribute z int default 4\n}",
    "create entity Long : Note {\n attribute z int\n}",
    "make Employee.boss many", "make Note.by many", "make Note.about many",
    "make Person.friends one picking ($Person.name)",
    "make Boss.reports ordered", "set parent of Employee to none", "set parent of Boss to none",
    "set parent of Boss to Guest",
    "set parent of Boss to Person", "set parent of Guest to Employee", "set parent of Guest to none",
    "set parent of Guest to Person", "set parent of Employee to Person", "set parent of Note to Person",
    "set parent of Person to Note", "add index Employee(name, salary)",
    "add index Boss(salary, level) unique",
    "transform sql { UPDATE $Person SET $Person.name = $Person.name || _entity }",
    "transform sql { INSERT INTO $Employee ($Employee.name, $Employee.salary, _entity) VALUES ('New', 1, 'Employee') }",
    "create raw view Rich { SELECT $Boss.id FROM $Boss WHERE $Boss.level > 0 }", "drop raw view Rich",
  ]

  let lab: MigrationLab
  init() async throws { lab = try await FamilyStore.lab() }

  @Test(arguments: operations)
  func `two operations do the same in one step and in two`(_ first: String) async throws {
    var compared = 0
    for second in Self.operations {
      let apart = try lab.set([FamilyStore.base, first, second])
      guard (try? apart.model(at: 3)) != nil else { continue }
      let together = try lab.set([FamilyStore.base, "\(first)\n\(second)"])
      let (one, two) = (try await rows(after: together), try await rows(after: apart))
      #expect(one == two, "\(first); \(second)")
      compared += 1
    }
    #expect(compared > 0 || (try? lab.set([FamilyStore.base, first]).model(at: 2)) == nil)
  }

  @Test(arguments: 1...(isTorture ? 64 : 4))
  func `operations in any order do the same in one step and in steps of their own`(_ seed: UInt64)
    async throws
  {
    var random = SeededGenerator(seed: seed)
    var compared = 0
    for _ in 0..<40 where compared < 8 {
      var steps = [FamilyStore.base]
      for _ in 0..<80 where steps.count < 7 {
        let longer = steps + [Self.operations.randomElement(using: &random) ?? ""]
        if (try? lab.set(longer).model(at: longer.count)) != nil { steps = longer }
      }
      let apart = try await rows(after: lab.set(steps))
      let together = try await rows(
        after: lab.set([FamilyStore.base, steps.dropFirst().joined(separator: "\n")]))
      // What fails on the way may be well at the end.
      #expect(apart == nil || apart == together, "\(steps.dropFirst().joined(separator: "; "))")
      compared += apart == nil ? 0 : 1
    }
    #expect(compared > 3)
  }

  /// The rows of all tables, each as a line, in a store that is sound; nil when a step failed.
  private func rows(after set: MigrationSet) async throws -> [String]? {
    let url = lab.folder.url.appendingPathComponent(UUID().uuidString)
    try FileManager.default.copyItem(at: lab.url, to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    var losses: Set<String> = []
    do {
      for step in set.steps { losses.formUnion(try set.losses(ofStep: step.number)) }
      _ = try await Store.migrate(
        at: url, key: testKey, migrations: set, makesBackups: false, allowing: losses)
    } catch let error as StoreError {
      guard StoppedStep(error) != nil else { throw error }
      // The engine's own words would be a statement of ours that nobody has thought of.
      #expect(
        !"\(error)".contains("SQLite error") || "\(error)".contains("failed at \"transform")
          || "\(error)".contains("failed at \"retype"), "\(error)")
      return nil
    }
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let info = try StoreInfo(connection)
    let findings =
      try connection.findings() + info.drift(connection) + info.valueFindings(connection)
      + info.partnerFindings(connection)
    #expect(findings == [], "\(set.steps.dropFirst().map(\.canonicalText))")
    let tables = try connection.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'vault~_%' ESCAPE '~' ORDER BY name"
    ).compactMap { $0[0].string }
    return try tables.flatMap { table in
      let columns = try connection.tableInfo(table).columns.map(\.name).sorted()
      let list = SQL.names(columns.map { SQLName($0) })
      return try connection.rows("SELECT \(list) FROM \(identifier: table)").map { row in
        "\(table): \(zip(columns, row).map { "\($0) \($1)" }.joined(separator: ", "))"
      }.sorted()
    }
  }
}
