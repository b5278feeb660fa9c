// Which columns of an INSERT are ids, which statements are refused, and what the errors quote.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct InsertedStatements {
  static let base = InsertedIDs.base
  static let fill = InsertedIDs.fill

  // MARK: Ids

  @Test(arguments: [
    ("INSERT INTO $Part (oid, t) VALUES (70, 'x')", "10 70 x", 10),
    ("INSERT INTO $Part (t, OID) SELECT 'x', 70", "10 70 x", 10),
    ("INSERT INTO $Part (\"oid\", rowid, t) VALUES (70, 12, 'x')", "12 70 x", 12),
    ("INSERT INTO $Part (_rowid_, [oid], t) VALUES (12, 70, 'x')", "12 70 x", 12),
  ])
  func `an attribute with one of SQLite's names for ids is an ordinary attribute`(
    _ sql: String, _ row: String, _ mark: Int64
  ) async throws {
    for type in ["int", "string"] {
      let lab = try await MigrationLab(
        "create entity Part {\n attribute oid \(type)\n attribute t string\n}",
        fill: ["INSERT OR REPLACE INTO vault_ids VALUES ('Part', 9)"])
      try await lab.migrate("seed { \(sql) }")
      #expect(
        try lab.rows("SELECT id || ' ' || oid || ' ' || t FROM Part") == [[.text(row)]], "\(type): \(sql)")
      #expect(
        try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Part'") == [[.integer(mark)]], "\(type)")
    }
  }

  @Test(arguments: ["'10'", "10.0", "'10.0'", "' 1e1 '", "'010'", "x.v"])
  func `an id that the column converts to a number counts as issued`(_ id: String) async throws {
    for verb in ["INSERT", "INSERT OR REPLACE"] {
      let found = try await InsertedIDs.notes(
        "seed { \(verb) INTO $Note (id, text) SELECT \(id), 'x' FROM (SELECT '10' AS v) AS x; "
          + "\(verb) INTO $Note (text) VALUES ('y') }")
      #expect(found == ["10x", "11y", "11"], "\(verb)")
    }
    // Within one statement, too.
    let found = try await InsertedIDs.notes(
      "seed { INSERT INTO $Note (id, text) SELECT \(id), 'x' FROM (SELECT '10' AS v) AS x UNION ALL SELECT NULL, 'y' }"
    )
    #expect(found == ["10x", "11y", "11"])
  }

  @Test(arguments: ["'a'", "'10a'", "10.5", "''", "x'3130'", "'0x10'"])
  func `an invalid id is refused, and the error quotes the statement as it was written`(_ id: String)
    async throws
  {
    let statement = "INSERT INTO \"Note\" (id, text) VALUES (\(id), 'x')"
    try await refuses("seed { \(statement) }", ["datatype mismatch", statement])
  }

  // MARK: Refused statements

  /// Expects that a step fails, with all of these words in its reason, and with no part of the statement
  /// that issues ids.
  private func refuses(_ block: String, _ words: [String]) async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    await #expect("\(block)") { try await lab.migrate(block) } throws: { error in
      let reason = StoppedStep(error)?.reason ?? ""
      return words.allSatisfy(reason.contains) && !reason.contains("vault_rows")
        && (words.contains("vault_given_id") || !reason.contains("vault_given_id"))
    }
    #expect(try lab.rows("SELECT id, text FROM Note") == [[1, "a"], [2, "b"]])
    #expect(try lab.rows("SELECT entity, last FROM vault_ids WHERE entity = 'Note'") == [["Note", 9]])
  }

  @Test(arguments: [
    "seed { SELECT vault_given_id('Note', NULL) }",
    "seed { INSERT INTO $Note (text) VALUES ('x' || vault_given_id('anything', 7)) }",
    "seed { INSERT INTO $Note (text) SELECT \"Vault_Given_ID\"('Note', 70) }",
    "transform sql { UPDATE $Note SET $Note.rank = vault_given_id('Note', 70) }",
  ])
  func `a data block cannot call the function that issues ids`(_ block: String) async throws {
    try await refuses(block, ["vault_given_id"])
  }

  @Test func `a require cannot call the function that issues ids`() async throws {
    try await refuses(
      "require \"ids\" { SELECT vault_given_id('Note', NULL) }", ["not authorized", "vault_given_id"])
  }

  @Test func `errors quote the INSERT as it was written`() async throws {
    for (statement, word) in [
      ("INSERT INTO \"Note\" (text) DEFAULT VALUES", "0 values for 1 columns"),
      ("INSERT INTO \"Note\" (text) VALUES ('a')", "UNIQUE"),
      ("INSERT INTO \"Note\" (nothing) VALUES ('x')", "nothing"),
      ("INSERT INTO \"Note\" (text, rank) VALUES ('x')", "1 values for 2 columns"),
      // Syntax that SQLite refuses in a list of values.
      ("INSERT INTO \"Note\" (text, rank) VALUES ('it' 's', 5)", "syntax error"),
      ("INSERT INTO \"Note\" (text) VALUES ('a' x)", "syntax error"),
      ("INSERT INTO \"Note\" (text) VALUES ('a' || 'b' 'c')", "syntax error"),
      ("INSERT INTO \"Note\" (text) VALUES (DISTINCT 'a')", "syntax error"),
      ("INSERT INTO \"Note\" (id, text) VALUES (NULL, text FROM Note)", "syntax error"),
      ("INSERT INTO \"Note\" (text) VALUES ('a'\u{301})", "syntax error"),
    ] {
      try await refuses("seed { \(statement) }", [word, statement])
    }
  }

  // MARK: Consecutive insertions

  /// An insertion of one of many kinds, mostly of literals.
  private func insertion(_ number: Int, _ dice: inout Dice) -> String {
    let rank = ["0", "7", "-0.5e1", "+3", "4 - 1", "(SELECT max(rank) FROM Note)"][dice.next(6)]
    let text = ["'\(number)'", "'it''s; \(number)'", "'(,) \(number)' || 'x'", " 'é\(number)' "][dice.next(4)]
    return switch dice.next(12) {
    case 0: "INSERT INTO Note (id, text, rank) VALUES (\(100 + 3 * number), \(text), \(rank))"
    case 1: "INSERT INTO Note (rank, text) VALUES (\(rank), \(text)), (\(rank), 'b' || \(text))"
    case 2: "INSERT OR IGNORE INTO Note (text) VALUES ('\(number / 2)')"
    case 3: "UPDATE Note SET rank = rank + 1 WHERE length(text) % 3 = 0"
    case 4: "/* none */ INSERT  INTO Note(text,rank) -- ;\n VALUES (\(text), \(rank))"
    case 5: "DELETE FROM Note WHERE id = (SELECT max(id) FROM Note)"
    default: "INSERT INTO Note (text, rank) VALUES (\(text), \(rank))"
    }
  }

  @Test(arguments: 0..<12)
  func `insertions that run in groups leave the rows of single ones`(_ seed: UInt64) async throws {
    var dice = Dice(seed)
    let statements = (10..<(seed == 0 ? 700 : 80)).map { insertion($0, &dice) }
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    try await lab.migrate("seed {\n\(statements.joined(separator: ";\n"));\n}")
    let plain = try Connection.inMemory()
    try plain.executeScript(
      "CREATE TABLE Note (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT UNIQUE, rank INTEGER DEFAULT 7);"
        + "INSERT INTO Note(id, text) VALUES (9, 'gone'); DELETE FROM Note; \(Self.fill[0]);"
        + statements.joined(separator: ";"))
    let query = "SELECT text, rank, typeof(rank) FROM Note ORDER BY id"
    #expect(try lab.rows(query) == plain.rows(sql: query), "seed \(seed)")
  }

  @Test(arguments: [
    "INSERT INTO Note (text) VALUES ('bb') UNION ALL SELECT 'c'", "INSERT INTO Note (text) VALUES/**/('d')",
    "INSERT INTO Note (text)VALUES('e')", "INSERT INTO Note (text) VALUES ('f') -- ;\n",
    "INSERT INTO Note (text) VALUES ('g'), ('h' || 'i')", "INSERT INTO Note (text) SELECT 'j'",
    "INSERT INTO Note (text) VALUES ((SELECT 'k' || max(id) FROM Note))",
    "INSERT INTO Note (text, rank) VALUES ('l', 1)", "INSERT INTO Note(text) VALUES (CAST(x'6D' AS TEXT))",
    "/* VALUES */ INSERT INTO Note (text) VALUES ('n')", "INSERT INTO Note (text) VALUES\n\t('o')\n",
    "INSERT INTO Note (\"text\") VALUES ('p)')", "INSERT INTO \"Note\" (text) VALUES ('q''(')",
    "INSERT INTO Note (text) WITH VALUES_(v) AS (SELECT 'r') SELECT v FROM VALUES_",
  ])
  func `a statement that begins like the one before may continue differently`(_ other: String) async throws {
    let sound = (0..<5).map { "INSERT INTO Note (text) VALUES ('\($0)')" }
    let statements = sound + [other] + sound.map { $0.replacing("('", with: "('x") }
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    try await lab.migrate("seed {\n\(statements.joined(separator: ";\n"));\n}")
    let single = try await MigrationLab(Self.base, fill: Self.fill)
    try await single.migrate(statements.map { "seed {\n\($0)\n}" }.joined(separator: "\n"))
    let query = "SELECT id, text, rank, typeof(text) FROM Note ORDER BY id"
    #expect(try lab.rows(query) == single.rows(query))
    #expect(try lab.rows("SELECT count(*) FROM Note")[0][0].int64 ?? 0 >= 13)
  }

  @Test(arguments: [
    ("INSERT INTO \"Note\" (text) VALUES ('70')", "UNIQUE"),
    ("INSERT INTO \"Note\" (text) VALUES ('x', 2)", "2 values for 1 columns"),
    ("INSERT INTO \"Note\" (text) VALUES (x'6')", "unrecognized token"),
  ])
  func `the error of a group quotes the insertion that fails`(_ statement: String, _ word: String)
    async throws
  {
    let sound = (3..<90).map { "INSERT INTO \"Note\" (text) VALUES ('\($0)')" }
    try await refuses(
      "seed { \((sound + [statement] + sound).joined(separator: ";\n")) }", [word, statement])
  }

  @Test(arguments: [
    "SELECT 'x' FROM $Tag JOIN $Conflict ON Conflict.a = Tag.id",
    "SELECT 'x' FROM $Tag JOIN $Conflict ON conflict WHERE a = 1",
    "SELECT 'x' FROM $Tag JOIN $Conflict ON /* : */ conflict /* : */ . a = Tag.id ORDER BY 1",
  ])
  func `a join with a table called Conflict is no upsert`(_ query: String) async throws {
    let lab = try await MigrationLab(
      Self.base + "\ncreate entity Conflict {\n attribute a int\n attribute conflict int\n}",
      fill: Self.fill + [
        "INSERT INTO Tag(id, t) VALUES (1, 't')", "INSERT INTO Conflict(id, a, conflict) VALUES (1, 1, 1)",
      ])
    try await lab.migrate("seed { INSERT INTO $Note (text) \(query) }")
    #expect(try lab.rows("SELECT id FROM Note WHERE text = 'x'") == [[10]])
  }

  @Test func `a trigger made by hand that inserts rows without ids is named in the error`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let connection = try Connection.open(lab.url.path, key: testKey)
    try connection.execute(
      "CREATE TRIGGER mine AFTER INSERT ON Note BEGIN INSERT INTO Tag(t) VALUES (NEW.text); END")
    connection.close()
    await #expect {
      try await lab.migrate("seed { INSERT INTO $Note (text) VALUES ('x') }")
    } throws: {
      "\($0)".contains("the trigger mine inserts rows into Tag, which get no ids that way; drop the trigger")
    }
  }

  // MARK: Statements that depend on others

  @Test(arguments: ["changes()", "(SELECT n FROM Last)"])
  func `a statement that reads the number of changes gets that of the statement before`(_ count: String)
    async throws
  {
    let some = (1...7).map { "INSERT INTO $Note (text) VALUES ('\($0)');" }.joined(separator: " ")
    let found = try await InsertedIDs.notes(
      """
      \(count == "changes()" ? "" : "create raw view Last { SELECT changes() AS n }")
      seed { \(some) UPDATE $Note SET text = 'last ' || \(count) WHERE text = '7' }
      """)
    #expect(found.filter { $0.contains("last") }.map { $0.drop { $0 != "l" } } == ["last 1"])
  }

  @Test func `the error of a trigger that ends the transaction names the statement that fired it`()
    async throws
  {
    let some = (1...7).map { "INSERT INTO $Note (text) VALUES ('n\($0)');" }.joined(separator: " ")
    let made =
      "create raw trigger guardian { BEFORE INSERT ON $Note WHEN NEW.text = 'n3' BEGIN SELECT RAISE(ROLLBACK, 'no three'); END }"
    try await refuses("\(made)\nseed { \(some) }", ["no three", "VALUES ('n3')"])
  }
}
