// A plan evaluates the conditions of `require`, unless an operation before changes the rows. The free space
// that a plan requires follows from what the steps write.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PlanRequirements {
  static let base = """
    create entity Team {
        attribute title string
    }
    create entity Person {
        attribute team string optional
        attribute name string
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

  private func plan(_ steps: String...) async throws -> MigrationPlan {
    try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([Self.base] + steps))
  }

  @Test(arguments: [
    ("require \"nobody\" { SELECT count(*) = 0 FROM $Person }", false),
    ("require \"somebody\" { SELECT count(*) FROM $Person; }", true),
    ("require \"none\" { SELECT team FROM $Person WHERE $Person.team IS NULL }", false),
    (
      "add attribute Person.more int optional\nrequire \"Ada\" { SELECT min($Person.name) = 'Ada' FROM $Person }",
      true
    ),
    (
      "add index Person(name)\nrequire \"Cid\" { WITH x(y) AS (SELECT 'Cid') SELECT max($Person.name = y) FROM $Person, x }",
      false
    ),
    ("create entity A {\n attribute a int\n}\nrequire \"two\" { SELECT count(*) = 2 FROM $Person }", true),
  ])
  func `a plan evaluates a require condition with the result of the step`(_ step: String, _ holds: Bool)
    async throws
  {
    let plan = try await plan(step)
    #expect(plan.steps[0].unasked.isEmpty && plan.refusals.isEmpty == holds, "\(plan.refusals)")
    if holds {
      try await lab.migrate(step)
    } else {
      let refusal = try #require(plan.refusals.first)
      #expect(
        refusal.operation.hasPrefix("require \"") && refusal.rule == .requirement && refusal.rows.isEmpty)
      #expect("\(refusal)".contains("is not met"))
      await #expect { try await lab.migrate(step) } throws: { "\($0)".contains(refusal.operation) }
    }
  }

  @Test func `a require query with several rows or columns is refused`() async throws {
    let query = "require \"so\" { SELECT $Person.name <> '' FROM $Person }"
    for before in ["", "add attribute Person.more int optional\n"] {
      let reason = try #require(await lab.refusal(before + query)).reason
      #expect(reason.contains("more than one row"))
      let plan = try await plan(before + query)
      #expect(plan.steps[0].unasked.isEmpty && plan.refusals.count == 1, "\(plan.steps[0].unasked)")
      // The plan has the same words, as a sentence.
      #expect("\(plan.refusals)".contains(reason.dropFirst()), "\(plan.refusals)")
    }
    // This does not depend on the rows.
    await #expect { try await plan("require \"so\" { SELECT 1, 0 }") } throws: {
      "\($0)".contains("2 columns")
    }
  }

  @Test func `a plan names what a step changes before a require, and does not evaluate the require`()
    async throws
  {
    for (step, reason) in [
      (
        "transform sql { DELETE FROM $Person }\nrequire \"nobody\" { SELECT count(*) = 0 FROM $Person }",
        "changes Person first"
      ),
      (
        "add attribute Person.more int optional\nrequire \"none\" { SELECT count($Person.more) = 0 FROM $Person }",
        "adds Person.more first"
      ),
      (
        "retype Person.name to data using (CAST($Person.name AS BLOB))\nrequire \"so\" { SELECT min($Person.name) > x'00' FROM $Person }",
        "changes Person first"
      ),
    ] {
      let plan = try await plan(step)
      let unasked = plan.steps[0].unasked.filter { $0.hasPrefix("require") }
      #expect(plan.refusals.isEmpty && unasked.count == 1)
      #expect(unasked.first?.contains(reason) == true, "\(plan.steps[0].unasked)")
    }
  }

  @Test func `a column with the name of a written table does not prevent a check`() async throws {
    let step = "transform sql { UPDATE $Team SET $Team.title = 'blue' }\nmake Person.team required"
    let plan = try await plan(step)
    #expect(plan.steps[0].unasked.count == 1 && plan.refusals.map(\.rows) == [[2]])
    await #expect(throws: StoreError.self) { try await lab.migrate(step) }
  }

  @Test func `SQLTemplate.sources returns the names of tables, and no names of columns`() {
    for (sql, names) in [
      (
        "SELECT Team FROM main.\"User\", Post AS p JOIN [Tag] ON Team.a = 1 WHERE 'Team' = x",
        "main post tag user"
      ),
      ("SELECT count(*) FROM (SELECT 1 FROM a GROUP BY team, b) WHERE x IN (team, c) AND y IN d", "a d"),
      ("UPDATE a SET team = (SELECT max(b) FROM c), d = 2 FROM e", "a c e"),
      ("INSERT INTO a (team, b) SELECT team, b FROM (c CROSS JOIN d), e", "a c d e"),
      ("WITH x AS (SELECT 1 FROM a) SELECT /* FROM team */ * FROM x -- FROM team", "a x"),
      ("SELECT 1 FROM a JOIN b ON b.x = a.y AND team = 1 OR d IS NULL, c", "a b c"),
      ("SELECT 1 FROM a JOIN b USING (x, y), c WHERE team, d", "a b c"),
      ("SELECT 1 FROM a JOIN b ON b.x IN (1, team), c JOIN d ON d.x IN e, f", "a b c d e f"),
      ("SELECT CASE WHEN team IN (SELECT 1 FROM a) THEN b END, team FROM c ORDER BY team, d", "a c"),
    ] {
      #expect(SQLTemplate.sources(sql).sorted().joined(separator: " ") == names, "\(sql)")
    }
  }

  // MARK: Free space

  @Test func `rebuilding a small table needs little free space, however large the store is`() async throws {
    try lab.open().execute(
      "INSERT INTO Team(title) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT hex(randomblob(500)) FROM n"
    )
    let small = try await plan(
      "retype Person.name to data using (CAST($Person.name AS BLOB))", "add attribute Team.a int optional")
    let large = try await plan("add index Team(title)")
    #expect(small.bytes > 2_000_000)
    // A step with SQL of its author also needs room for a copy of the store.
    #expect(small.neededBytes > small.bytes && small.neededBytes < small.bytes + 10_000)
    #expect(large.neededBytes > 2_000_000 && large.neededBytes <= 2 * large.bytes)
  }

  @Test func `a lack of disk space is reported before anything is written`() async throws {
    // A sparse file, larger than any disk's free space. A copy of the store would need as much.
    let size = Int64(1) << 42
    let file = try FileHandle(forUpdating: lab.url)
    let before = try lab.folder.bytes("lab.store")
    try file.truncate(atOffset: UInt64(size))
    try file.close()
    await #expect {
      try await lab.migrate("retype Person.name to data using (CAST($Person.name AS BLOB))")
    } throws: { error in
      guard case StoreError.notEnoughSpace(let path, let needed, let free) = error else {
        Issue.record(error)
        return false
      }
      return path == lab.url.path && needed >= size && free < needed
    }
    #expect(lab.folder.names == ["lab.store"])
    let again = try FileHandle(forUpdating: lab.url)
    #expect(try again.read(upToCount: before.count) == before)
    try again.close()
  }
}
