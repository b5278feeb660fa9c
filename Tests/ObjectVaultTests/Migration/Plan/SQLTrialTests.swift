// The engine parses the SQL of steps before it runs on a store: in `check`, and in a plan.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct SQLTrials {
  static let base = """
    create entity User {
        attribute name string
        attribute age int optional
        relationship posts -> Post many inverse Post.user
    }
    create entity Post {
        attribute text string
        relationship user -> User inverse User.posts
    }
    """

  private func set(_ steps: [String]) throws -> MigrationSet {
    try MigrationSet(
      ([Self.base] + steps).enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)\n")
      })
  }

  private func faults(_ steps: String...) throws -> [String] {
    let set = try set(steps)
    let review = try set.review(set.models())
    return review.faults + review.rollbackFaults
  }

  @Test(arguments: [
    ("transform sql { DROP TABLE User }", "not authorized"),
    ("transform sql { UPDATE $User SETT $User.name = 'x' }", "SETT"),
    ("transform sql { UPDATE $User SET $User.name = 'x'; DELETE FROM vault_meta }", "not authorized"),
    ("require \"so\" { SELECT SELECT }", "syntax error"),
    ("require \"so\" { DELETE FROM $User }", "not authorized"),
    ("require \"so\" { SELECT 1, 0 }", "2 columns"),
    ("require \"so\" { SELECT 1; SELECT 0 }", "its query must be one SELECT"),
    ("transform sql { UPDATE $User SET $User.name = ?1 }", "?1 is a parameter"),
    ("transform sql { UPDATE $User SET $User.name = ? }", "? is a parameter"),
    ("transform sql { UPDATE $User SET $User.name = ':a' || :name }", ":name is a parameter"),
    ("seed { INSERT INTO $User ($User.name) VALUES (@name) }", "@name is a parameter"),
    ("transform sql { UPDATE $User SET $User.name = #name }", "#name is a parameter"),
    ("retype User.age to int8 using (#age)", "#age is a parameter"),
    ("retype User.age to int8 using ($$age)", "$$age is a parameter"),
    ("require \"so\" { SELECT :a }", ":a is a parameter"),
    ("transform sql { DELETE FROM vault_meta }", "A data block may read and write rows of entities"),
    ("retype User.age to int8 using (SELEC 1)", "syntax error"),
    ("retype User.age to int8 using (nosuch($User.age))", "no such function"),
    ("seed { INSERT INTO $User ($User.nam) VALUES ('x') }", "nam"),
    ("seed { INSERT INTO $User ($User.name) VALUES ('x', 'y') }", "values"),
    ("make User.posts one picking (nosuch)", "no such column"),
    ("create raw view Old { SELECT nosuch FROM $User }", "no such column"),
    (
      "add attribute User.a int default 1\ntransform sql { UPDATE $User SET $User.a = 2, b = 3 }",
      "no such column"
    ),
  ])
  func `SQL that cannot run is a fault of its step, in check and in a plan`(_ step: String, _ words: String)
    async throws
  {
    // The step stands between two steps that change tables.
    let steps = ["add attribute Post.n int optional", step, "add attribute Post.m int optional"]
    let found = try faults(steps[0], steps[1], steps[2])
    #expect(
      found.count == 1 && found[0].hasPrefix("0003_s3.migration") && found[0].contains(words), "\(found)")
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(at: url, key: testKey, migrations: set([]))
    let before = try folder.bytes("a.store")
    await #expect {
      try await Store.plan(at: url, key: testKey, migrations: set(steps))
    } throws: { error in
      guard case StoreError.migrationFailed(3, _, _, let reason) = error else { return false }
      return reason.contains(words)
    }
    #expect(try folder.bytes("a.store") == before && folder.names == ["a.store"])
  }

  @Test func `SQL that can run is no fault, whatever rows it would meet`() async throws {
    let steps = [
      "seed { INSERT INTO $User ($User.name, $User.age) VALUES ('x', 300); }",
      "require \"nobody is there\" { SELECT count(*) = 0 FROM $User }",
      "retype User.age to string using ('a' || $User.age)",
      """
      create raw view Names { SELECT $User.name FROM $User }
      create raw trigger Kept { BEFORE DELETE ON $User BEGIN SELECT RAISE(ABORT, 'kept'); END; }
      create raw index Long { ON $User (length($User.name)) }
      """,
      "rename attribute User.name -> title\nadd attribute User.b int filling 3",
      "transform sql {\n-- all of them\nUPDATE $User SET $User.b = 4 WHERE $User.title <> '';\n;\n}",
      "make User.posts one picking ($Post.text DESC)\nmake User.posts many",
      "transform swift rename on User",
    ]
    let set = try set(steps)
    let review = try set.review(set.models())
    #expect(review.faults == [] && review.rollbackFaults == [])
  }

  @Test func `a fault in one step hides no fault of the next, unless that depends on the first`() throws {
    let view = "create raw view Names { SELECT $User.name FROM $User }"
    let wrong = "transform sql { UPDATE $User SET nope = 1 }"
    let several = try set([view, wrong, "seed { INSERT INTO $User (nope) VALUES (1); }"])
    #expect(try several.review(several.models()).faults.count == 2)
    let building = try set([
      "create raw view Names { SELECT nope FROM $User }", "add attribute User.c int optional",
    ])
    #expect(try building.review(building.models()).faults.count == 1)
  }

  @Test func `the SQL of a [down] section is checked, too`() throws {
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "s1", text: "format: 1\n[up]\n\(Self.base)"),
      MigrationStep(
        number: 2, name: "s2",
        text:
          "format: 1\n[up]\nadd attribute User.b int optional\n[down]\ntransform sql { UPDATE $User SET a = b }\ndrop attribute User.b"
      ),
    ])
    let faults = try set.review(set.models()).rollbackFaults
    #expect(
      faults.count == 1 && faults[0].hasPrefix("0002_s2.migration:5, [down], ")
        && faults[0].contains("no such column"), "\(faults)")
  }
}
