// Files that need parts that this engine lacks: modules of virtual tables, and collations that their
// program registered.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3"))
struct MissingParts {
  /// A file made by Python's engine, which knows the collation `unicase`.
  private func made(_ sql: String) throws -> AdoptionLab {
    let lab = try AdoptionLab("CREATE TABLE unused (a)")
    try FileManager.default.removeItem(at: lab.file)
    let script = """
      import sqlite3, sys
      db = sqlite3.connect(sys.argv[1])
      db.create_collation("unicase", lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))
      db.executescript(sys.argv[2])
      db.commit()
      """
    let made = try runTool("/usr/bin/python3", ["-c", script, lab.file.path, sql])
    #expect(made.status == 0, "\(made)")
    return lab
  }

  @Test func `a virtual table of an unknown module is a loss, and other tables are imported`() async throws {
    let lab = try made(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (4, 'x');
      CREATE VIRTUAL TABLE found USING fts5(a); INSERT INTO found VALUES ('x');
      PRAGMA writable_schema = ON;
      INSERT INTO sqlite_master VALUES ('table', 'odd', 'odd', 0, 'CREATE VIRTUAL TABLE odd USING nobodys(a)');
      """)
    let adoption = try await lab.plan()
    #expect(adoption.losses.map(\.name) == ["found", "odd"])
    try await lab.adopt(allowing: ["found", "odd"])
    #expect(try lab.rows("SELECT id, a FROM T") == [[4, "x"]])
  }

  @Test func `texts of an unknown collation are imported, and references to them are found`() async throws {
    let lab = try made(
      """
      CREATE TABLE word (w TEXT NOT NULL PRIMARY KEY COLLATE unicase, n INT);
      CREATE TABLE kept (w TEXT NOT NULL PRIMARY KEY COLLATE unicase) WITHOUT ROWID;
      CREATE TABLE used (id INTEGER PRIMARY KEY, w TEXT REFERENCES word(w));
      CREATE INDEX used_w ON used(w COLLATE unicase);
      INSERT INTO word VALUES ('apple', 1), ('Banana', 2), ('cherry', 3), ('Date', 4), ('elder', 5), ('Fig', 6);
      INSERT INTO kept SELECT w FROM word;
      INSERT INTO used SELECT n * 10, w FROM word;
      """)
    let adoption = try await lab.plan()
    #expect(adoption.losses.map(\.name) == ["kept"], "\(adoption.losses)")
    #expect(adoption.notes.contains { $0.hasPrefix("word has columns with a COLLATE") })
    try await lab.adopt(allowing: ["kept"])
    #expect(
      try lab.rows("SELECT id, w_id FROM Used ORDER BY id")
        == (1...6).map { [.integer($0 * 10), .integer($0)] })
  }
}
