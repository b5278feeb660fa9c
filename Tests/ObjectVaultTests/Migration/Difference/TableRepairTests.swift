// Tables of a store that were changed by hand. The printed SQL undoes the change in the sqlcipher shell and
// keeps all rows, and then the next step runs.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct TableRepairs {
  static let base = """
    create entity Event {
        attribute name string default "e" indexed
        attribute rank int default 7
        attribute note string optional
        relationship place -> Place inverse Place.events
        relationship tags -> Tag many inverse Tag.events
    }
    create entity Place {
        attribute p string
        relationship events -> Event many inverse Event.place on delete cascade
    }
    create entity Tag {
        attribute t string
        relationship events -> Event many inverse Event.tags
    }
    create raw view Named { SELECT $Event.name FROM $Event }
    create raw trigger ranked { AFTER UPDATE OF $Event.name ON $Event BEGIN UPDATE $Event SET rank = 9 WHERE id = NEW.id; END }
    """
  static let fill = [
    "INSERT INTO Place(id, p) VALUES (1, 'here')", "INSERT INTO Tag(id, t) VALUES (1, 'x')",
    "INSERT INTO Event(id, name, rank, note, place_id) VALUES (1, 'a', 1, 'n', 1), (5, 'b', 2, NULL, NULL)",
    "INSERT INTO Event_tags(Event_id, Tag_id) VALUES (1, 1), (5, 1)",
  ]
  private static let all = "SELECT id, name, rank, note, place_id FROM Event ORDER BY id"

  /// Replaces a table by one of another definition, as a user who knows SQLite would.
  private static func remade(_ table: String, _ change: (String) -> String, columns: String) -> (Connection)
    throws -> Void
  {
    let text = change(TableRepairs.texts[table] ?? "")
    return { connection in
      try connection.executeScript(
        """
        PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; BEGIN; CREATE TABLE other (\(text));
        INSERT INTO other (\(columns)) SELECT \(columns) FROM \(table); DROP TABLE \(table);
        ALTER TABLE other RENAME TO \(table); COMMIT;
        """)
    }
  }

  private static let texts = [
    "Event": """
    id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, name TEXT NOT NULL DEFAULT 'e', note TEXT,
    rank INTEGER NOT NULL DEFAULT 7,
    place_id INTEGER REFERENCES Place(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
    """
  ]
  private static let columns = "id, _version, name, note, rank, place_id"

  static let changes: [(name: String, change: @Sendable (Connection) throws -> Void)] = [
    ("a column more", { try $0.execute("ALTER TABLE Event ADD COLUMN shoes TEXT") }),
    (
      "a column more with an index",
      {
        try $0.executeScript(
          "ALTER TABLE Event ADD COLUMN shoes TEXT; CREATE INDEX by_shoes ON Event(shoes, name)")
      }
    ),
    ("a reference more", { try $0.execute("ALTER TABLE Event ADD COLUMN other INTEGER REFERENCES Tag(id)") }),
    (
      "a column less",
      {
        try remade(
          "Event", { $0.replacing("note TEXT,", with: "") }, columns: "id, _version, name, rank, place_id")(
            $0)
      }
    ),
    (
      "another type",
      { try remade("Event", { $0.replacing("note TEXT", with: "note BLOB") }, columns: columns)($0) }
    ),
    (
      "another default",
      { try remade("Event", { $0.replacing("DEFAULT 7", with: "DEFAULT 8") }, columns: columns)($0) }
    ),
    (
      "no NOT NULL",
      {
        try remade(
          "Event", { $0.replacing("rank INTEGER NOT NULL", with: "rank INTEGER") }, columns: columns)($0)
      }
    ),
    (
      "another reference",
      {
        try remade(
          "Event", { $0.replacing("ON DELETE CASCADE", with: "ON DELETE SET NULL") }, columns: columns)($0)
      }
    ),
    ("no index", { try $0.execute("DROP INDEX ix_Event_name") }),
    ("an index more", { try $0.execute("CREATE INDEX by_rank ON Event(rank)") }),
    ("no trigger", { try $0.execute("DROP TRIGGER ranked") }),
    (
      "another view",
      { try $0.executeScript("DROP VIEW Named; CREATE VIEW Named AS SELECT id FROM Event") }
    ),
    ("no links", { try $0.executeScript("PRAGMA foreign_keys = OFF; DROP TABLE Event_tags") }),
  ]

  /// The SQL in brackets at the end of each line.
  private static func remedies(_ lines: [String]) -> [String] {
    lines.compactMap { line in
      line.firstMatch(of: #/in the sqlcipher shell: (.*?;)\)/#).map { String($0.1) }
    }
  }

  /// Runs lines in the shell, as a user pastes them.
  private static func paste(_ lines: [String], _ path: String) throws -> ToolResult {
    let key = "x'" + String(repeating: "5A", count: 32) + "'"
    let pragmas = CipherProfile.engineDefault.shellPragmas(major: Engine.current.cipherMajor)
    return try runTool(
      #require(cipherShell), [path],
      input: "PRAGMA key = \"\(key)\";\n\(pragmas.joined(separator: "\n"))\n"
        + lines.map { "\($0)\n" }.joined())
  }

  @Test(
    .enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"), arguments: changes.map(\.name))
  func `the printed SQL for a change by hand undoes the change in the shell`(_ name: String) async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let change = try #require(Self.changes.first { $0.name == name })
    let rows = try lab.rows(Self.all)
    let raw = try Connection.open(lab.url.path, key: testKey)
    try change.change(raw)
    raw.close()
    let connection = try lab.open()
    let drift = try StoreInfo(connection).drift(connection)
    connection.close()
    #expect(!drift.isEmpty)
    await #expect(throws: StoreError.schemaDrift(file: lab.url.path, differences: drift)) {
      try await lab.migrate("add attribute Event.late int optional")
    }
    let remedies = Self.remedies(drift)
    #expect(!remedies.isEmpty, "\(drift)")
    let pasted = try Self.paste(remedies, lab.url.path)
    #expect(pasted.status == 0 && pasted.errors == "", "\(drift)\n\(pasted)")
    #expect(try lab.isSound(), "\(drift)")
    let kept = try lab.rows(Self.all)
    if name == "a column less" {
      #expect(kept.map { Array($0.prefix(3)) } == rows.map { Array($0.prefix(3)) })
    } else {
      #expect(kept == rows)
    }
    #expect(try lab.rows("SELECT count(*) FROM Event_tags") == [[name == "no links" ? 0 : 2]])
    try await lab.migrate("add attribute Event.late int optional")
    #expect(try lab.isSound())
    try lab.open().execute("UPDATE Event SET name = 'c' WHERE id = 5")
    #expect(try lab.rows("SELECT rank FROM Event WHERE id = 5") == [[9]])
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `values of a column that a pending step adds are kept by the printed advice`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let raw = try Connection.open(lab.url.path, key: testKey)
    try raw.executeScript(
      "ALTER TABLE Event ADD COLUMN expiry REAL; UPDATE Event SET expiry = id * 1.5 WHERE id = 5")
    raw.close()
    let step = "add attribute Event.expiry date optional"
    var lines: [String] = []
    do { try await lab.migrate(step) } catch StoreError.schemaDrift(_, let differences) {
      lines = differences
    }
    let line = try #require(lines.first)
    let parts = try #require(
      line.firstMatch(
        of: #/; step 0002 step2 adds .* can be kept: before the step, run (.*?); and after the step (.*)$/#),
      "\(line)"
    )
    #expect(try Self.paste(["\(parts.1);"] + Self.remedies(lines), lab.url.path).errors == "")
    try await lab.migrate(step)
    #expect(try Self.paste([String(parts.2)], lab.url.path).errors == "")
    #expect(try lab.rows("SELECT id, expiry FROM Event ORDER BY id") == [[1, .null], [5, 7.5]])
    #expect(try lab.isSound())
    // A column of another type cannot be kept.
    let other = try await MigrationLab(Self.base, fill: Self.fill)
    try other.open().execute("ALTER TABLE Event ADD COLUMN expiry TEXT")
    await #expect {
      try await other.migrate(step)
    } throws: {
      if case StoreError.schemaDrift(_, let lines) = $0 {
        !lines.joined().contains("can be kept")
      } else {
        false
      }
    }
  }

  @Test func `a repair whose copy fails drops no table`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let raw = try Connection.open(lab.url.path, key: testKey)
    try Self.changes.first { $0.name == "no NOT NULL" }?.change(raw)
    try raw.execute("UPDATE Event SET rank = NULL WHERE id = 5")
    raw.close()
    let connection = try lab.open()
    let drift = try StoreInfo(connection).drift(connection)
    connection.close()
    if cipherShell != nil {
      let pasted = try Self.paste(Self.remedies(drift), lab.url.path)
      #expect(pasted.errors.contains("NOT NULL"), "\(pasted)")
    }
    #expect(try lab.rows("SELECT id, rank FROM Event ORDER BY id") == [[1, 1], [5, .null]])
  }

  @Test func `a change that the shell cannot undo is reported without SQL`() async throws {
    let lab = try await MigrationLab("create entity Price {\n attribute sum decimal\n attribute n int\n}")
    let raw = try Connection.open(lab.url.path, key: testKey)
    try StoreInfo.prepare(raw)
    try raw.executeScript(
      """
      DROP TABLE Price; CREATE TABLE Price (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, n INTEGER NOT NULL,
      sum BLOB NOT NULL)
      """)
    let decimals = try StoreInfo(raw).drift(raw)
    #expect(
      decimals.joined().contains("has no collation for decimals") && Self.remedies(decimals).isEmpty,
      "\(decimals)")
    try raw.executeScript(
      """
      DROP TABLE Price; CREATE TABLE Price (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1,
      sum TEXT COLLATE vault_decimal NOT NULL)
      """)
    let lost = try StoreInfo(raw).drift(raw)
    #expect(
      lost.joined().contains("its data is lost: restore a backup") && Self.remedies(lost).isEmpty, "\(lost)")
    raw.close()
  }
}
