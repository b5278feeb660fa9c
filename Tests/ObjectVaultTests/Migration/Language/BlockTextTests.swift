// SQL in steps is parsed as SQLite parses it: by Unicode scalars, with SQLite's quotes and comments.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct BlockTexts {
  func step(_ body: String, head: String = "") throws -> MigrationStep {
    try MigrationStep(number: 2, name: "s", text: "format: 1\n\(head)[up]\n\(body)")
  }

  @Test(arguments: ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}x", "e\u{301}"])
  func `texts in SQL may begin and end with marks that combine with the character before`(_ mark: String)
    async throws
  {
    let lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
    try await lab.migrate(
      """
      transform sql { UPDATE $User SET $User.city = '\(mark)} ; $x \(mark)' WHERE $User.id = 1; -- \(mark)'
        UPDATE $User SET $User.city = '\(mark)' || $User.city WHERE $User.id = 1 }
      add attribute User.mail string default "\(mark)a\(mark)"
      """)
    #expect(
      try lab.rows("SELECT city, mail FROM User WHERE id = 1") == [
        [.text("\(mark)\(mark)} ; $x \(mark)"), .text("\(mark)a\(mark)")]
      ])
  }

  @Test(arguments: [
    ("DELETE/**/FROM x", "DELETE FROM x"), ("DELETE/*\n*/FROM x", "DELETE\nFROM x"),
    ("SELECT 1 -/* a */- 1", "SELECT 1 - - 1"),
    ("SELECT 'a'/* b */'c'", "SELECT 'a' 'c'"), ("SELECT $/**/$", "SELECT $$"),
    ("SELECT x/* a */'00'", "SELECT x '00'"),
    // A number ends where the comment begins; a name that ends in a digit continues with its point.
    ("SELECT 1./**/e5", "SELECT 1. e5"), ("SELECT 1/**/.5", "SELECT 1 .5"),
    ("SELECT 1e/**/+5", "SELECT 1e +5"), ("SELECT ./**/5", "SELECT . 5"),
    ("SELECT CASE 1 WHEN 1./**/THEN 2 END", "SELECT CASE 1 WHEN 1. THEN 2 END"),
    ("SELECT t1/**/.c, t1./**/c, e/**/+1", "SELECT t1.c, t1.c, e+1"),
    // Separate tokens stay as they are, because checksums cover the text.
    ("SELECT a /* b */ , c", "SELECT a  , c"), ("SELECT(/* a */1/* b */)", "SELECT(1)"),
    ("SELECT 1 -- }\n, 2", "SELECT 1\n, 2"),
    // White space of Unicode is removed at the ends of lines, and kept in texts. Letters of Unicode are
    // separated as others are.
    ("SELECT 1\u{A0}\n\u{3000}, 2\u{2003}\t\u{A0}", "SELECT 1\n, 2"),
    ("SELECT 1\n\u{A0} \u{2028}\n, 2", "SELECT 1\n, 2"),
    ("SELECT 'a\u{A0}\n\u{3000}b\u{2003}\n'", "SELECT 'a\u{A0}\n\u{3000}b\u{2003}\n'"),
    ("SELECT é/* x */è, 1\u{A0}/* x */", "SELECT é è, 1"), ("SELECT é /* x */ è", "SELECT é  è"),
    ("SELECT '陳\n'/* x */'大'", "SELECT '陳\n' '大'"), ("SELECT 1,\u{FEFF}2", "SELECT 1,\u{FEFF}2"),
    ("SELECT \"a -- b\", [it's }], `/*`", "SELECT \"a -- b\", [it's }], `/*`"),
  ])
  func `a comment in SQL is removed, and separates the tokens beside it`(_ sql: String, _ kept: String) throws
  {
    let step = try step("transform sql { \(sql) }")
    #expect(step.operations == [.transform(SQLTransform(kept))])
    #expect(try MigrationStep(number: 2, name: "s", text: step.text).operations == step.operations)
  }

  @Test(arguments: [
    ("transform sql { SELECT 'é🏳️', \u{301}", "'x }", "the text that begins here is not closed"),
    ("transform sql { SELECT 'é', ", "/* x }", "this comment is not closed"),
    ("retype User.name to string using ('é🏳️' || ", "-- x)", "this comment includes the rest of the line"),
    ("retype User.name to string using ('é\u{301}') ", "x", "there is text after )"),
    ("retype User.name to string using \u{A0} ", "'é'", "( … ) is missing after using"),
  ])
  func `the column of a syntax error counts Unicode scalars`(
    _ before: String, _ rest: String, _ reason: String
  ) throws {
    #expect {
      try step(before + rest)
    } throws: { error in
      guard case StoreError.migrationSyntax(let error) = error else { return false }
      return error.reason.hasPrefix(reason) && error.line == 3
        && error.column == before.unicodeScalars.count + 1
    }
  }

  @Test(arguments: [
    ("'#'", "'#'"), ("'\"' || $User.name || ')'", "'\"' || $User.name || ')'"),
    ("length(/* ) $Nobody # */ $User.name)", "length(/* ) $Nobody # */ $User.name)"),
    ("'it''s ($)'", "'it''s ($)'"),
  ])
  func `an expression keeps its number signs, quotes and comments`(_ sql: String, _ kept: String) async throws
  {
    let lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
    let line = "retype User.name to string using ( \(sql) )  # why \" not )"
    #expect(try step(line).canonicalText == "retype User.name to string using (\(kept))")
    let type = sql.contains("length") ? "int" : "string"
    try await lab.migrate(
      "drop index User(name)\ndrop index User(name, age)\nretype User.name to \(type) using (\(sql)) # \"")
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    ("add attribute U.a string default \"abc", 33, "not closed"),
    ("add attribute U.a string default \"abc\\\"", 33, "not closed"),
    ("require \"it is so { SELECT 1 }", 8, "not closed"),
    ("retype U.a to int using (1) optional", 28, "after )"),
    ("retype U.a to int using (1 -- x)", 27, "includes the rest of the line"),
    ("retype U.a to int using ('a)", 24, "not closed"),
    ("retype U.a to int using 1 + (2)", 24, "( … )"),
    ("transform sql SELECT 1 }", 14, "{ is missing"), ("seed SELECT", 5, "{ is missing"),
    ("transform sql { SELECT 1 /* }", 25, "this comment is not closed"),
    ("transform sql { SELECT 1", 0, "not closed"),
    ("transform sql { SELECT [a }", 23, "not closed; close it with ]"),
    ("transform sql { SELECT '\u{301} }", 23, "not closed; close it with '"),
    ("transform sql { SELECT 1\n} drop entity A", 0, "after }"),
  ])
  func `a text, comment or block that is incomplete is reported with its place`(
    _ line: String, _ column: Int, _ words: String
  ) {
    #expect {
      _ = try step(line)
    } throws: { error in
      guard case StoreError.migrationSyntax(let error) = error else { return false }
      return error.line == (line.contains("\n") ? 4 : 3) && error.column == column + 1
        && "\(error)".contains(words)
    }
  }

  @Test func `line ends of every kind are equal, and two of them are an empty line`() throws {
    let text = "format: 1\r\n[up]\r\ntransform sql {\rSELECT 'a\r\n\r\nb'\r}\r\ndrop entity A\r"
    let step = try MigrationStep(number: 1, name: "a", text: text)
    #expect(step.operations == [.transform(SQLTransform("SELECT 'a\n\nb'")), .dropEntity("A")])
  }

  @Test(arguments: [
    "rename attribute User.city -> town\ntransform sql { UPDATE $User SET $User.town = upper(\"city\") }",
    "transform sql { UPDATE $User SET $User.city = \"nosuch\" }",
    "seed { INSERT INTO $User ($User.name) VALUES (\"nosuch\") }",
    "retype User.city to string using (coalesce(\"nosuch\", 'x'))",
    "require \"all\" { SELECT count(*) FROM $User WHERE \"nosuch\" = 'x' }",
  ])
  func `a name in double quotes that does not exist is an error, and no text`(_ step: String) async throws {
    let lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
    let name = step.contains("nosuch") ? "nosuch" : "city"
    func isTold(_ error: any Error) -> Bool {
      guard case StoreError.migrationFailed(2, _, _, let reason) = error else { return false }
      return reason.contains("no such column: \(name); write a string in single quotes: '\(name)'")
    }
    await #expect {
      _ = try await Store.plan(
        at: lab.url, key: testKey, migrations: lab.set([MigrationOperations.base, step]))
    } throws: { isTold($0) }
    await #expect { try await lab.migrate(step) } throws: { isTold($0) }
    #expect(try lab.isSound())
  }

  @Test func `names in double quotes may have quotes and spaces in them`() async throws {
    let lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
    try await lab.migrate(
      """
      transform sql {
        WITH "a""b`c" AS (SELECT "id" AS "x y" FROM "User")
        UPDATE "User" SET "city" = '"' || (SELECT max("x y") FROM "a""b`c") || '"' WHERE "User"."id" = 1
      }
      """)
    let highest = try lab.rows("SELECT max(id) FROM User")[0][0].int64 ?? 0
    #expect(try lab.rows("SELECT city FROM User WHERE id = 1") == [[.text("\"\(highest)\"")]])
  }

  // A combining mark after a quote forms one character with it, but belongs to the name.
  @Test(arguments: [
    ("SELECT \"\u{301}n\" FROM (SELECT 'a' AS \"n\", 'b' AS \"\u{301}n\")", "b"),
    ("SELECT \"x`\u{301}y\" FROM (SELECT 'c' AS \"x`\u{301}y\")", "c"),
    ("SELECT \"q\"\"\u{301}\" FROM (SELECT 'd' AS \"q\"\"\u{301}\", 'e' AS \"q\")", "d"),
    ("SELECT \"🏳️‍🌈\" FROM (SELECT 'f' AS \"🏳️‍🌈\", 'g' AS \"🏳️\")", "f"),
  ])
  func `names in double quotes are compared by their Unicode scalars`(_ query: String, _ value: String)
    async throws
  {
    let lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
    try await lab.migrate("transform sql { UPDATE $User SET $User.city = (\(query)) WHERE \"id\" = 1 }")
    #expect(try lab.rows("SELECT city FROM User WHERE id = 1") == [[.text(value)]])
  }

  @Test(arguments: [
    ("transform sql { UPDATE $User SET $User.city = 'a' WHERE \"id\" \"nick\" 3 }", "near \"\"nick\"\""),
    ("transform sql { UPDATE $User SET $User.city = 'a' WHERE \"id\" `nick` 3 }", "near \"`nick`\""),
    ("retype User.city to string using ($User.city + 1 \"nick\" \"x\")", "near \"\"x\"\""),
  ])
  func `an error shows the SQL that the engine quotes as it was written`(_ step: String, _ words: String)
    async throws
  {
    let lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
    await #expect { try await lab.migrate(step) } throws: { error in
      "\(error)".contains(words) && "\(error)".contains("`") == step.contains("`")
    }
  }
}
