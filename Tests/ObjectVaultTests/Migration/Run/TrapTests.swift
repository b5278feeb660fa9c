// Traps of changing tables by hand on one engine or the other, with their numbers in the table of
// measurements that the design of migrations is based on. Each test shows that a step avoids the trap. A1
// and A2 lose rows silently, so their tests also provoke the trap by hand. For the others the measurements
// show it.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Traps {
  private static let base = """
    create entity Parent {
      attribute name string
      relationship children -> Child many inverse Child.parent on delete cascade
      relationship elder -> Parent inverse Parent.younger
      relationship younger -> Parent many inverse Parent.elder
    }
    create entity Child {
      attribute text string
      relationship parent -> Parent inverse Parent.children
    }
    """
  private static let fill = [
    "INSERT INTO Parent(id, name, elder_id) VALUES (1, 'a', NULL), (2, 'b', 1)",
    "INSERT INTO Child(id, text, parent_id) VALUES (1, 'x', 1), (2, 'y', 2)",
    "INSERT OR REPLACE INTO vault_ids VALUES ('Parent', 2), ('Child', 2)",
  ]
  /// Rebuilds the parents' table, on both engines.
  private static let rebuild = "retype Parent.name to string using (upper($Parent.name))"

  private let lab: MigrationLab
  init() async throws { lab = try await MigrationLab(Self.base, fill: Self.fill) }

  private func count(_ table: String) throws -> SQLValue? {
    try lab.rows("SELECT count(*) FROM \(table)").first?.first
  }

  /// Rebuilds the parents' table by hand, in a database that is no store, to show what the engine does.
  /// - Returns: The number of children afterwards.
  private func byHand(_ pragma: String) throws -> SQLValue? {
    let connection = try Connection.create(lab.folder.path("hand.db"), key: testKey) { connection in
      try connection.executeScript(
        """
        CREATE TABLE p(id INTEGER PRIMARY KEY);
        CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id) ON DELETE CASCADE);
        INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (1, 1), (2, 2);
        """)
    }
    let hand = try Connection.open(lab.folder.path("hand.db"), unlocked: connection)
    defer { hand.close() }
    try hand.executeScript(
      """
      PRAGMA foreign_keys = ON; BEGIN; \(pragma);
      CREATE TABLE n(id INTEGER PRIMARY KEY); INSERT INTO n SELECT id FROM p; DROP TABLE p;
      ALTER TABLE n RENAME TO p; COMMIT;
      """)
    return try hand.value("SELECT count(*) FROM c")
  }

  @Test func `A1: rebuilding the parents' table keeps the children; keys switched off too late lose them`()
    async throws
  {
    #expect(try byHand("PRAGMA foreign_keys = OFF") == 0)
    try await lab.migrate(Self.rebuild)
    #expect(try lab.rows("SELECT text, parent_id FROM Child ORDER BY id") == [["x", 1], ["y", 2]])
    // The cascade still works.
    try lab.open().execute("DELETE FROM Parent WHERE id = 2")
    #expect(try count("Child") == 1)
    #expect(try lab.isSound())
  }

  @Test func `A2: deferred keys lose children of a rebuilt table; several rebuilds by steps keep them`()
    async throws
  {
    #expect(try byHand("PRAGMA defer_foreign_keys = ON") == 0)
    let set = try lab.set([
      Self.base, Self.rebuild,
      "make Parent.name optional\nretype Child.text to string using (lower($Child.text))", Self.rebuild,
    ])
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: set).steps == [2, 3, 4])
    #expect(try count("Child") == 2 && lab.isSound())
  }

  @Test func `A3: a run whose foreign keys cannot be switched off fails before its first statement`() throws {
    let set = try lab.set([Self.base, Self.rebuild])
    #expect {
      try Store.migrateWatched(at: lab.url, key: testKey, migrations: set) { try $0.execute("BEGIN") }
    } throws: { error in
      if case SQLError.verificationFailed = error {
        "\(error)".contains("could not be switched off")
      } else {
        false
      }
    }
    #expect(try lab.rows("SELECT name FROM Parent ORDER BY id") == [["a"], ["b"]])
  }

  @Test func `A4: references name the rebuilt table, and no table that no longer exists`() async throws {
    try await lab.migrate(
      Self.rebuild + "\nrename entity Parent -> Person\nrename relationship Child.parent -> person")
    let sql = try lab.rows("SELECT sql FROM sqlite_master WHERE sql NOT NULL").compactMap { $0.first?.string }
    #expect(sql.contains { $0.contains("REFERENCES \"Person\"") })
    for text in sql {
      #expect(!text.contains("_mig_") && !text.contains("\"Parent\"") && !text.contains("_old"))
    }
    #expect(try lab.isSound())
  }

  @Test func `A5: a view of a table does not prevent its rebuild`() async throws {
    try lab.open().execute("CREATE VIEW names AS SELECT name FROM Parent")
    try await lab.migrate(Self.rebuild)
    #expect(try lab.rows("SELECT name FROM names ORDER BY name") == [["A"], ["B"]])
  }

  @Test func `A6: the id of a deleted row is not issued again after its table is rebuilt and renamed`()
    async throws
  {
    let store = try await Store.open(at: lab.url, key: testKey)
    let id = try await store.write { context in
      let child = try context.insert(entity: "Child") { $0["text"] = "late" }
      try context.save()
      let id = child.id
      context.delete(child)
      return id
    }
    store.close()
    try await lab.migrate(
      "retype Child.text to string using (upper($Child.text))\nrename entity Child -> Kid")
    let after = try await Store.open(at: lab.url, key: testKey)
    defer { after.close() }
    try await after.write { _ = try $0.insert(entity: "Kid") { $0["text"] = "new" } }
    #expect(id.rowID == 3)
    #expect(try lab.rows("SELECT max(id) FROM Kid") == [[4]])
  }

  @Test func `A6b: an invalid default is refused on both engines, before the column is added`() async throws {
    for line in [
      "add attribute Parent.rank int8 default 1000", "add attribute Parent.price decimal default \"cheap\"",
    ] {
      await #expect(throws: StoreError.self) { try await lab.migrate(line) }
    }
    #expect(try lab.isSound() && lab.open().userVersion() == 1)
  }

  @Test func `A6c: a table with a self-reference refers to its own name after a rebuild`() async throws {
    try await lab.migrate(Self.rebuild)
    let sql = try #require(
      lab.rows("SELECT sql FROM sqlite_master WHERE name = 'Parent'").first?.first?.string)
    #expect(sql.contains("REFERENCES \"Parent\"(\"id\")") && !sql.contains("_mig_"))
    let connection = try lab.open()
    try connection.execute("INSERT INTO Parent(id, name, elder_id) VALUES (3, 'c', 2)")
    #expect(throws: SQLError.self) {
      try connection.execute("INSERT INTO Parent(id, name, elder_id) VALUES (4, 'd', 99)")
    }
    #expect(try connection.foreignKeyViolations().isEmpty)
  }

  @Test(arguments: [
    "COMMIT", "ROLLBACK", "SAVEPOINT s", "DROP TABLE Parent", "CREATE TABLE x(y)", "CREATE TEMP TABLE x(y)",
    "ALTER TABLE Parent RENAME TO x", "PRAGMA user_version = 9", "ATTACH 'x' AS x", "VACUUM", "REINDEX",
    "ANALYZE",
    "DELETE FROM vault_migrations", "UPDATE vault_meta SET value = 9", "DELETE FROM sqlite_master",
  ])
  func `A7: a data block can write only rows of entities, and cannot end the transaction`(_ sql: String)
    async throws
  {
    await #expect {
      try await lab.migrate("add attribute Parent.age int default 1\ntransform sql { \(sql) }")
    } throws: {
      StoppedStep($0)?.operation == "transform sql"
    }
    #expect(try lab.isSound() && lab.open().userVersion() == 1 && count("Parent") == 2)
    try await lab.migrate(
      """
      transform sql {
        WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
        INSERT INTO $Parent(id, $Parent.name) SELECT i, 'p' || i FROM n
      }
      """)
    #expect(try count("Parent") == 9)
  }

  @Test func `A8: a last step that fails rolls back tables, version and history of all steps`() async throws {
    let before = try lab.rows("SELECT name, sql FROM sqlite_master ORDER BY name")
    let history = try lab.rows("SELECT * FROM vault_migrations")
    let set = try lab.set([
      Self.base, Self.rebuild, "create entity More {\n attribute x int\n}", "require \"never\" { SELECT 0 }",
    ])
    await #expect(throws: StoreError.self) {
      try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    }
    #expect(try lab.rows("SELECT name, sql FROM sqlite_master ORDER BY name") == before)
    #expect(try lab.rows("SELECT * FROM vault_migrations") == history && lab.open().userVersion() == 1)
    #expect(try lab.rows("SELECT name FROM Parent ORDER BY id") == [["a"], ["b"]])
  }

  /// Runs a step, and returns the copy that is made before it.
  private func copied() async throws -> URL {
    let set = try lab.set([Self.base, Self.rebuild])
    return try #require(try await Store.migrate(at: lab.url, key: testKey, migrations: set).backup)
  }

  @Test func `A9: the copy before a step has the store's key, version and rows`() async throws {
    let copy = try Connection.open(try await copied().path, key: testKey)
    defer { copy.close() }
    #expect(try copy.userVersion() == 1)
    #expect(try copy.rows("SELECT name FROM Parent ORDER BY id") == [["a"], ["b"]])
  }

  @Test func `A9b: the copy before a step is encrypted`() async throws {
    let bytes = try Data(contentsOf: try await copied())
    #expect(!bytes.starts(with: Data("SQLite format 3".utf8)))
    for word in ["Parent", "vault_meta"] { #expect(bytes.range(of: Data(word.utf8)) == nil) }
  }

  @Test func `A10: a version that a tool reset in the file's header is still known, and is restored`()
    async throws
  {
    try await lab.migrate(Self.rebuild)
    try lab.open().executeScript("PRAGMA user_version = 0; PRAGMA application_id = 0")
    let steps = [Self.base, Self.rebuild, "add attribute Parent.age int optional"]
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set(steps))
    #expect(plan.storeVersion == 2 && plan.steps.map(\.number) == [3])
    try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set(steps))
    #expect(try lab.open().userVersion() == 3)
  }

  @Test(arguments: ["delete", "wal"])
  func `A11: reading the store's file keeps a lock that the same process has`(_ mode: String) async throws {
    let connection = try lab.open()
    defer { connection.close() }
    try connection.executeScript("PRAGMA journal_mode = \(mode)")
    try connection.execute("BEGIN IMMEDIATE")
    let (url, set) = (lab.url, try lab.set([Self.base]))
    #expect(try runChild("lock", url.path) == ["busy"])
    // Everything that opens, reads or copies the file while the lock is held.
    _ = try await Store.plan(at: url, key: testKey, migrations: set)
    _ = try await Store.history(at: url, key: testKey)
    _ = try? await Store.open(at: url, key: .passphrase("wrong"))
    // In another journal mode a pool changes the mode first, and waits for the lock.
    if mode == "wal" { try await Store.open(at: url, key: testKey).close() }
    #expect(try runChild("lock", url.path) == ["busy"])
    connection.rollback()
    #expect(try runChild("lock", url.path) == ["free"])
  }

  @Test func `A12: the copy includes rows that are only in the write-ahead log`() async throws {
    let store = try await Store.open(at: lab.url, key: testKey)
    try await store.write { _ = try $0.insert(entity: "Child") { $0["text"] = "in the log" } }
    let log = try FileManager.default.attributesOfItem(atPath: lab.url.path + "-wal")[.size] as? Int ?? 0
    #expect(log > 0)
    let copy = try Connection.open(try await copied().path, key: testKey)
    #expect(try copy.value("SELECT count(*) FROM Child WHERE text = 'in the log'") == 1)
    copy.close()
    store.close()
  }

  @Test func `A13: a wrong key, a plain file, a file without a store and no file give different errors`()
    async throws
  {
    let set = try lab.set([Self.base])
    let plain = lab.folder.path("plain.db")
    try lab.open().exportPlaintext(to: plain)
    _ = try Connection.create(lab.folder.path("none.db"), key: testKey) {
      try $0.execute("CREATE TABLE t(x)")
    }
    func error(_ file: String, _ key: Key) async -> String {
      do {
        _ = try await Store.plan(at: lab.folder.url.appendingPathComponent(file), key: key, migrations: set)
        return "none"
      } catch { return "\(error)" }
    }
    let errors = [
      await error("lab.store", .passphrase("wrong")), await error("plain.db", testKey),
      await error("none.db", testKey), await error("absent.db", testKey),
    ]
    #expect(Set(errors).count == 4, "\(errors)")
    #expect(
      errors[1].contains("unencrypted") && errors[2].contains("not a store of ObjectVault"), "\(errors)")
  }

  @Test func `A14: a program that is moved without other files still has its steps`() throws {
    let program = lab.folder.path("moved")
    try FileManager.default.copyItem(atPath: builtExecutable("test-child"), toPath: program)
    let result = try runTool(
      program, ["use-new", lab.folder.path("made.store")], directory: lab.folder.url.path)
    #expect(result.output == "steps []\nusers 1\n", "\(result)")
  }

  @Test func `A15: the free space that a plan requires is enough for a rebuild`() async throws {
    try lab.open().execute(
      "INSERT INTO Parent(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT 'parent ' || i FROM n"
    )
    let set = try lab.set([Self.base, Self.rebuild])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    let before = try Data(contentsOf: lab.url).count
    #expect(plan.neededBytes >= 2 * before && plan.cost.rows == 20002 && plan.cost.seconds > 0.1)
    try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    let after = try lab.folder.names.reduce(0) { try $0 + lab.folder.bytes($1).count }
    #expect(after > before && after <= before + plan.neededBytes)
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `A16: rebuilt rows are visible to the next process, and no temporary table is used`() async throws {
    let set = try lab.set([Self.base, Self.rebuild])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.steps.flatMap(\.sql).allSatisfy { !$0.uppercased().contains("TEMP") })
    try await lab.migrate(Self.rebuild)
    let shell = try #require(cipherShell)
    let key = String(repeating: "5A", count: 32)
    let result = try runTool(
      shell, [lab.url.path],
      input:
        "PRAGMA key = \"x'\(key)'\";\nPRAGMA cipher_page_size = \(CipherProfile.engineDefault.pageBytes);\nSELECT name FROM Parent ORDER BY id;\n"
    )
    #expect(result.output.hasSuffix("A\nB\n"), "\(result)")
  }
}
