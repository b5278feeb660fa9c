// One-to-ones whose two ends disagree: SQL from outside can write one column and leave the other.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PartnerChecks {
  let temporary: TemporaryStore

  init() async throws {
    temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      for number in 1...8 {
        let passport = context.insert(Passport.self) { $0.number = "\(number)" }
        context.insert(Author.self) { $0.name = "author \(number)" }.passport = passport
      }
    }
  }

  private func change(_ sql: String) throws {
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    try StoreInfo.prepare(connection)
    try connection.executeScript(sql)
    connection.close()
  }

  @Test(arguments: [
    (
      "UPDATE Passport SET owner_id = NULL WHERE id = 3",
      ["1 of 8 values of Author.passport is not returned by Passport.owner: row 3"]
    ),
    (
      "UPDATE Author SET passport_id = NULL WHERE id > 1",
      [
        "7 of 8 values of Passport.owner are not returned by Author.passport: rows 2, 3, 4, 5, 6 and more"
      ]
    ),
    (
      "UPDATE Author SET passport_id = 2 WHERE id = 1",
      [
        "1 of 8 values of Author.passport is not returned by Passport.owner: row 1",
        "1 of 8 values of Passport.owner is not returned by Author.passport: row 1",
      ]
    ),
    ("UPDATE Author SET passport_id = NULL; UPDATE Passport SET owner_id = NULL", []),
  ])
  func `an end that the other does not return is told with its rows`(_ sql: String, _ expected: [String])
    async throws
  {
    #expect(try await temporary.store.verify() == [])
    try change(sql)
    #expect(try await temporary.store.verify() == expected)
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    #expect(try StoreInfo(connection).partnerFindings(connection) == expected)
  }

  @Test func `a one-to-one of an entity with itself has two ends, too`() async throws {
    let lab = try await MigrationLab(
      "create entity Page {\n relationship next -> Page inverse Page.previous\n relationship previous -> Page inverse Page.next\n}",
      fill: [
        "INSERT INTO Page(id) VALUES (1), (2), (3)",
        "UPDATE Page SET next_id = 2 WHERE id = 1", "UPDATE Page SET previous_id = 1 WHERE id > 1",
      ])
    let connection = try lab.open()
    #expect(
      try StoreInfo(connection).partnerFindings(connection) == [
        "1 of 2 values of Page.previous is not returned by Page.next: row 3"
      ])
  }

  @Test func `a filling of a one-to-one is refused, as nobody would lead back to those that get it`()
    async throws
  {
    let fill = [
      "INSERT INTO V(id) VALUES (1), (2)", "INSERT INTO U(id, r_id) VALUES (1, 2), (2, NULL), (3, NULL)",
    ]
    let base = """
      create entity U {
          relationship r -> V inverse V.us
      }
      create entity V {
          relationship us -> U many inverse U.r on delete cascade
      }
      """
    for steps in [
      ["make V.us one", "make U.r required filling 1"], ["make V.us one\nmake U.r required filling 1"],
    ] {
      let lab = try await MigrationLab(base, fill: fill)
      for step in steps.dropLast() { try await lab.migrate(step) }
      let plan = try await Store.plan(
        at: lab.url, key: testKey, migrations: try lab.set([base] + steps))
      if steps.count == 2 {
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.entity == "U" && refusal.properties == ["r"] && refusal.rule == .required)
        #expect(refusal.count == 2 && refusal.rows == [2, 3])
      }
      await #expect {
        try await Store.migrate(at: lab.url, key: testKey, migrations: try lab.set([base] + steps))
      } throws: { error in
        guard case StoreError.rowsRefused(_, _, "make U.r required filling 1", let reason) = error else {
          return false
        }
        return reason.hasPrefix("2 objects have no r; it is one to one") && reason.contains("(rows 2, 3)")
      }
    }
    let lab = try await MigrationLab(
      base, fill: Array(fill.dropLast()) + ["INSERT INTO U(id, r_id) VALUES (1, 2)"])
    try await lab.migrate("make V.us one\nmake U.r required filling 1")
    #expect(try lab.rows("SELECT r_id FROM U") == [[2]])
  }
}
