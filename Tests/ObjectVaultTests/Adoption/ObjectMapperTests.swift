// Files of FMDB and GYDataCenter, with the tables that these make: what the import gives, and what a second
// step makes of it.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct ObjectMapperFiles {
  /// As GYDataCenter stores classes: properties by name after the primary key, objects as bare ids, dates
  /// from 1970.
  static let gyDataCenter = """
    CREATE TABLE IF NOT EXISTS Department (departmentId INTEGER PRIMARY KEY AUTOINCREMENT,name TEXT);
    CREATE TABLE IF NOT EXISTS Employee (employeeId INTEGER PRIMARY KEY AUTOINCREMENT,dateOfBirth REAL,department INTEGER,
      isManager INTEGER DEFAULT 0,name TEXT DEFAULT 'nobody',photo BLOB,salary REAL);
    CREATE TABLE IF NOT EXISTS Setting (key TEXT PRIMARY KEY,value BLOB);
    CREATE INDEX IF NOT EXISTS Employee_department_name ON Employee (department,name);
    INSERT INTO Department VALUES (3, 'Research'), (7, 'Sales');
    INSERT INTO Employee VALUES (1, 86400.5, 3, 1, 'Ann', x'00ff', 10.5), (4, NULL, 7, 0, '陳大文', NULL, NULL),
      (9, 978307200, NULL, 0, 'nobody', NULL, 1);
    INSERT INTO Setting VALUES ('theme', x'62706c697374'), ('sort', NULL);
    ANALYZE;
    CREATE VIRTUAL TABLE Letter USING fts4(body);
    INSERT INTO Letter(rowid, body) VALUES (5, 'dear');
    """

  /// The second step, as the documentation shows it.
  private static func stepOfThePage() throws -> String {
    let page = try String(
      contentsOf: packageRoot.appendingPathComponent(
        "Sources/VaultAuthoring/Documentation.docc/adopting-files.md"), encoding: .utf8)
    let block = try #require(page.firstMatch(of: #/(?s)```text\n(format: 1\n.*?)```/#))
    return String(block.1)
  }

  @Test func `GYDataCenter's tables are imported, and the documented step adds dates and a to-one`()
    async throws
  {
    let lab = try AdoptionLab(Self.gyDataCenter)
    let adoption = try await lab.adopt(allowing: ["Letter"])
    #expect(adoption.losses.map(\.name) == ["Letter"] && adoption.obstacles.isEmpty)
    #expect(
      adoption.tables.map { "\($0.source) \($0.target) \($0.rows)" } == [
        "Department Department 2", "Employee Employee 3", "Setting Setting 2",
      ])
    #expect(
      try lab.rows("SELECT id, dateOfBirth, department, isManager, name FROM Employee ORDER BY id") == [
        [1, 86400.5, 3, 1, "Ann"], [4, .null, 7, 0, "陳大文"], [9, 978_307_200.0, .null, 0, "nobody"],
      ])
    #expect(
      try lab.rows("SELECT id, \"key\", value FROM Setting") == [
        [1, "theme", .blob(Data("bplist".utf8))], [2, "sort", .null],
      ])
    let set = try MigrationSet([
      adoption.step, MigrationStep(number: 2, name: "relationships", text: try Self.stepOfThePage()),
    ])
    try await Store.migrate(at: lab.store, key: testKey, migrations: set, makesBackups: false)
    #expect(
      try lab.rows("SELECT id, dateOfBirth, department_id, isManager FROM Employee ORDER BY id") == [
        [1, .real(86400.5 - 978_307_200), 3, 1], [4, .null, 7, 0], [9, .real(0), .null, 0],
      ])
    let store = try await Store.open(at: lab.store, key: testKey)
    defer { store.close() }
    #expect(try await store.verify().isEmpty)
    let names = try await store.read { context in
      try context.fetch(entity: "Department").sorted(byPath: "id").all().map { department in
        "\((department["name"] as String?) ?? "?") \(department[toMany: "staff"].map(\.id.rowID))"
      }
    }
    #expect(names == ["Research [1]", "Sales [4]"])
  }

  @Test func `FMDB's tables are imported, and the bookkeeping table of its migrator is not`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE schema_migrations(version INTEGER UNIQUE NOT NULL);
      INSERT INTO schema_migrations VALUES (20140101000000);
      CREATE TABLE IF NOT EXISTS t_message (id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL, text TEXT,
        is_read BOOLEAN, sent_at REAL, attachment BLOB, size);
      CREATE UNIQUE INDEX IF NOT EXISTS idx_message_uid ON t_message(uid);
      INSERT INTO t_message VALUES (2, 'a-1', 'Hello', 1, 1380000000.25, x'01', 12), (5, 'a-2', NULL, 0, NULL, NULL, NULL);
      """)
    let adoption = try await lab.adopt()
    #expect(adoption.losses.isEmpty && adoption.tables.map(\.target) == ["TMessage"])
    #expect(
      adoption.notes.contains { $0.hasPrefix("schema_migrations is internal to ") && $0.contains("(1 row)") })
    #expect(
      adoption.step.canonicalText == """
        create entity TMessage {
            attribute attachment data optional
            attribute isRead bool optional
            attribute sentAt double optional
            attribute size int optional
            attribute text string optional
            attribute uid string unique
        }
        """)
    #expect(
      try lab.rows("SELECT id, uid, text, isRead, sentAt, size FROM TMessage ORDER BY id") == [
        [2, "a-1", "Hello", 1, 1_380_000_000.25, 12], [5, "a-2", .null, 0, .null, .null],
      ])
  }
}
