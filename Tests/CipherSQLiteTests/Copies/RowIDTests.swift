// Row ids in copies, also of tables without a column for them.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct RowIDs {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  static let content = """
    CREATE TABLE plain(x); INSERT INTO plain VALUES ('a'), ('b'), ('c'), ('d'); DELETE FROM plain WHERE x IN ('a', 'c');
    INSERT INTO plain(rowid, x) VALUES (9000000000, 'far'), (-5, 'below');
    CREATE TABLE shadowed(rowid TEXT, oid TEXT); INSERT INTO shadowed(_rowid_, rowid, oid) VALUES (77, 'r', 'o');
    CREATE TABLE hidden(rowid, _rowid_, oid); INSERT INTO hidden VALUES (1, 2, 3);
    CREATE TABLE keyed(k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO keyed VALUES ('z', 1), ('a', 2);
    CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT, x); INSERT INTO counted VALUES (41, 'last'); DELETE FROM counted;
    CREATE TABLE docs(title, body); INSERT INTO docs VALUES ('gone', 'fox'), ('stays', 'quick fox'), ('too', 'slow dog');
    DELETE FROM docs WHERE title = 'gone';
    CREATE VIRTUAL TABLE search USING fts4(content="docs", title, body);
    INSERT INTO search(search) VALUES ('rebuild');
    CREATE INDEX by_body ON docs(body, title); ANALYZE;
    """

  func fingerprint(_ connection: Connection) throws -> [[SQLValue]] {
    try ["plain", "keyed", "counted", "docs", "shadowed"].flatMap { table -> [[SQLValue]] in
      let id = table == "shadowed" ? "_rowid_" : table == "keyed" ? "k" : "rowid"
      return try connection.rows(sql: "SELECT \(id), * FROM \(table) ORDER BY 1")
    } + connection.rows("SELECT * FROM hidden") + connection.rows("SELECT * FROM sqlite_sequence")
      + connection.rows("SELECT title FROM search WHERE search MATCH 'quick'")
      + connection.rows("SELECT * FROM sqlite_stat1 ORDER BY 1, 2, 3")
  }

  @Test func `every way to copy a file keeps the row ids`() throws {
    _ = try Connection.create(path, key: testKey) { try $0.executeScript(Self.content) }
    let source = try Connection.open(path, key: testKey)
    let expected = try fingerprint(source)
    #expect(expected.contains([.integer(9_000_000_000), "far"]) && expected.contains(["stays"]))
    let names = ["backup", "copy", "encrypted", "upgraded", "restored"].map(folder.path)
    try source.backup(to: names[0])
    var profile = CipherProfile.engineDefault
    profile.pageBytes = 1024
    try source.copy(to: names[1], key: testKey, profile: profile)
    let plain = folder.path("plain")
    try source.exportPlaintext(to: plain)
    try Connection.encrypt(plaintext: plain, to: names[2], key: testKey)
    try source.backup(to: names[3])
    _ = try Connection.upgradeCipher(names[3], key: testKey, to: profile)
    try Connection.restore(names[0], to: names[4], key: testKey)
    for name in names {
      let copy = try Connection.open(name, key: testKey)
      #expect(try fingerprint(copy) == expected, "\(name)")
      #expect(try copy.integrityErrors().isEmpty, "\(name)")
    }
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `a plaintext export has the row ids that the shell shows in the original`() throws {
    let shell = try #require(cipherShell)
    let original = folder.path("original")
    let made = try runTool(shell, [original], input: Self.content)
    #expect(made.errors.isEmpty, "\(made.errors)")
    let question = "SELECT rowid, * FROM plain ORDER BY 1; SELECT rowid, * FROM docs ORDER BY 1;"
    let before = try runTool(shell, [original], input: question).output
    try Connection.encrypt(plaintext: original, to: path, key: testKey)
    try Connection.open(path, key: testKey).exportPlaintext(to: folder.path("back"))
    #expect(try runTool(shell, [folder.path("back")], input: question).output == before)
    #expect(before.contains("9000000000|far"))
  }

  @Test func `a UTF-16 file with a generated column and a violated check is copied unchanged`() throws {
    let hasGenerated = Engine.current.sqliteNumber >= 3_031_000
    _ = try Connection.create(path, key: testKey) { connection in
      try connection.executeScript(
        """
        PRAGMA encoding = 'UTF-16le';
        CREATE TABLE t(a TEXT\(hasGenerated ? ", b TEXT GENERATED ALWAYS AS (a || '!') STORED, c AS (length(a))" : ""));
        INSERT INTO t(a) VALUES ('日本'), ('e\u{301}'), (NULL);
        CREATE TABLE u(x CHECK (x > 0)); PRAGMA ignore_check_constraints = ON; INSERT INTO u VALUES (-1);
        """)
    }
    let source = try Connection.open(path, key: testKey)
    try source.copy(to: folder.path("b"), key: testKey)
    let copy = try Connection.open(folder.path("b"), key: testKey)
    #expect(try copy.rows("SELECT * FROM t") == source.rows("SELECT * FROM t"))
    #expect(try copy.value("PRAGMA encoding") == "UTF-16le")
    #expect(try copy.value("SELECT x FROM u") == -1)
  }

  @Test func `a copy can use the functions and collations that its schema needs`() throws {
    let registerBackwards = { (connection: Connection) in
      try connection.register(collation: "backwards") { left, right in
        left.elementsEqual(right) ? 0 : left.lexicographicallyPrecedes(right) ? 1 : -1
      }
    }
    _ = try Connection.create(path, key: testKey) { connection in
      try registerBackwards(connection)
      try connection.register(function: "doubled", argumentCount: 1) { .integer(($0[0].int64 ?? 0) * 2) }
      try connection.executeScript(
        """
        CREATE TABLE t(name TEXT COLLATE backwards PRIMARY KEY, n) WITHOUT ROWID;
        INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3);
        CREATE INDEX by_double ON t(doubled(n));
        """)
      try connection.copy(to: folder.path("b"), key: testKey)
    }
    let copy = try Connection.open(folder.path("b"), key: testKey)
    try registerBackwards(copy)
    let names = try copy.rows("SELECT name FROM t ORDER BY name")
    #expect(names == [["c"], ["b"], ["a"]])
  }
}
