// Copies of a whole database: encrypted, in clear, with other settings. The sqlcipher shell is the witness.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Exports {
  let folder: TemporaryFolder
  let path: String
  let out: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
    out = folder.path("out.store")
  }

  static let content = """
    PRAGMA auto_vacuum = FULL; PRAGMA user_version = 7; PRAGMA application_id = 4242;
    CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT UNIQUE, boss INTEGER REFERENCES person(id) ON DELETE CASCADE);
    CREATE TABLE odd("a ""b"" c" BLOB, c REAL DEFAULT 1.5);
    CREATE TABLE pairs(x, y, PRIMARY KEY (x, y)) WITHOUT ROWID;
    CREATE INDEX by_boss ON person(boss) WHERE boss IS NOT NULL;
    CREATE VIEW bosses AS SELECT DISTINCT boss FROM person;
    CREATE TABLE log(t TEXT);
    CREATE TRIGGER remember AFTER INSERT ON person BEGIN INSERT INTO log VALUES (new.name); END;
    INSERT INTO person VALUES (1, 'canary Ann', NULL), (5, 'Bo', 1), (9, '北京', 5);
    INSERT INTO odd VALUES (x'00ff', 0.1), (NULL, 1e300), ('text', -0.0);
    INSERT INTO pairs VALUES (2, 'b'), (1, 'a');
    CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO counted VALUES (41); DELETE FROM counted;
    CREATE VIRTUAL TABLE texts USING fts4(body); INSERT INTO texts VALUES ('the quick fox');
    """

  func fingerprint(_ connection: Connection) throws -> [[SQLValue]] {
    var all = try connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
    for pragma in ["user_version", "application_id", "auto_vacuum", "journal_mode"] {
      all += try connection.rows(sql: "PRAGMA \(pragma)")
    }
    for table in ["person", "odd", "pairs", "bosses", "log", "texts", "sqlite_sequence"] {
      all += try connection.rows(sql: "SELECT * FROM \(table)")
    }
    return all + (try connection.rows("SELECT body FROM texts WHERE body MATCH 'quick'"))
  }

  func create(_ path: String? = nil, key: Key = .named("horse")) throws {
    _ = try Connection.create(path ?? self.path, key: key) { try $0.executeScript(Self.content) }
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `encrypting a plain file of the shell copies all of it and leaves the file unchanged`() throws {
    let shell = try #require(cipherShell)
    let made = try runTool(shell, [path], input: Self.content)
    #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
    let before = try folder.bytes("a.store")
    try Connection.encrypt(plaintext: path, to: out, key: .named("horse"))
    #expect(try folder.bytes("a.store") == before)
    let connection = try Connection.open(out, key: .named("horse"))
    #expect(connection.unlocked.profile == Engine.current.newFileProfile)
    #expect(connection.auditPages().isEmpty)
    try create(folder.path("same.store"))
    #expect(
      try fingerprint(connection)
        == fingerprint(Connection.open(folder.path("same.store"), key: .named("horse"))))
    #expect(try folder.bytes("out.store").range(of: Data("canary".utf8)) == nil)
    #expect(folder.names == ["a.store", "out.store", "same.store"])
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `a plaintext export has mode 0600, and the shell reads it`() throws {
    let shell = try #require(cipherShell)
    try create()
    try Connection.open(path, key: .named("horse")).exportPlaintext(to: out)
    let read = try runTool(
      shell, [out],
      input: "SELECT name FROM person ORDER BY id; PRAGMA user_version; PRAGMA integrity_check;\n")
    #expect(read.output == "canary Ann\nBo\n北京\n7\nok\n", "\(read.output)\(read.errors)")
    let mode = try FileManager.default.attributesOfItem(atPath: out)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    // Encrypting the export again preserves everything.
    try Connection.encrypt(plaintext: out, to: folder.path("back.store"), key: .named("pony"))
    #expect(
      try fingerprint(Connection.open(folder.path("back.store"), key: .named("pony")))
        == fingerprint(Connection.open(path, key: .named("horse"))))
  }

  @Test func `a copy has a key, a salt and settings of its own`() throws {
    try create()
    let connection = try Connection.open(path, key: .named("horse"))
    try connection.setJournalMode(.wal)
    var profile = Engine.current.newFileProfile
    profile.pageBytes = 8192
    try connection.copy(to: out, key: .named("pony"), profile: profile)
    let copy = try Connection.open(out, key: .named("pony"))
    #expect(copy.unlocked.profile == profile)
    #expect(try fingerprint(copy) == fingerprint(connection))
    #expect(throws: SQLError.wrongKey(file: out)) { try Connection.open(out, key: .named("horse")) }
    #expect(try folder.bytes("a.store").prefix(16) != folder.bytes("out.store").prefix(16))
  }

  @Test func `invalid copies, exports and encryptions fail before a file is created`() throws {
    try create()
    let connection = try Connection.open(path, key: .named("horse"))
    #expect(throws: SQLError.emptyKey) { try connection.copy(to: out, key: .passphrase("")) }
    #expect(throws: SQLError.alreadyExists(file: path)) { try connection.exportPlaintext(to: path) }
    #expect(throws: SQLError.notADatabase(file: path, reason: "it is not an unencrypted SQLite file")) {
      try Connection.encrypt(plaintext: path, to: out, key: .named("x"))
    }
    #expect(throws: SQLError.notFound(file: folder.path("none"))) {
      try Connection.encrypt(plaintext: folder.path("none"), to: out, key: .named("x"))
    }
    var odd = Engine.current.newFileProfile
    odd.pageBytes = 1000
    #expect(throws: SQLError.cipherSettingsMismatch(file: out, profile: odd)) {
      try connection.copy(to: out, key: .named("x"), profile: odd)
    }
    try connection.execute("BEGIN")
    #expect(throws: SQLError.uncommittedChanges(file: path)) {
      try connection.copy(to: out, key: .named("x"))
    }
    connection.rollback()
    #expect(folder.names == ["a.store"])
  }

  @Test func `upgradeCipher converts a file of older settings to the engine's own in place`() throws {
    let old = CipherProfile.sqlcipher3
    _ = try Connection.create(folder.path("first.store"), key: .named("horse")) {
      try $0.executeScript(Self.content)
    }
    try Connection.open(folder.path("first.store"), key: .named("horse")).copy(
      to: path, key: .named("horse"), profile: old)
    let before = try fingerprint(Connection.open(path, key: .named("horse")))
    let moved = try Connection.upgradeCipher(path, key: .named("horse"))
    #expect(moved.from == old && moved.to == Engine.current.newFileProfile)
    let connection = try Connection.open(path, key: .named("horse"))
    #expect(connection.unlocked.profile == Engine.current.newFileProfile)
    #expect(try fingerprint(connection) == before)
    connection.close()
    let again = try Connection.upgradeCipher(path, key: .named("horse"))
    #expect(again.from == again.to)
    #expect(folder.names == ["a.store", "first.store"])
  }

  @Test func `an upgrade is refused while another connection has the file open in WAL mode`() throws {
    try create()
    let first = try Connection.open(path, key: .named("horse"))
    try first.copy(to: out, key: .named("horse"), profile: .sqlcipher3)
    first.close()
    let other = try Connection.open(out, key: .named("horse"))
    try other.setJournalMode(.wal)
    try other.execute("INSERT INTO log VALUES ('in the log')")
    var configuration = Connection.Configuration()
    configuration.busyTimeout = 0.2
    #expect(throws: SQLError.self) {
      try Connection.upgradeCipher(out, key: .named("horse"), configuration: configuration)
    }
    #expect(try other.value("SELECT count(*) FROM log") == 4)
    other.close()
    _ = try Connection.upgradeCipher(out, key: .named("horse"))
    let found = try Connection.open(out, key: .named("horse"))
    #expect(try found.value("SELECT count(*) FROM log") == 4)
  }

  @Test func `a pool stays usable after a rekey to another key and page size`() async throws {
    try create()
    let pool = try ConnectionPool(path: path, key: .named("horse"))
    _ = try await pool.read { try $0.value("SELECT count(*) FROM person") }
    var profile = pool.profile
    profile.pageBytes = 2048
    try pool.rekey(to: .named("pony"), profile: profile)
    #expect(pool.profile == profile)
    try await pool.write { _ = try $0.execute("INSERT INTO person(name) VALUES ('Cy')") }
    #expect(try await pool.read { try $0.value("SELECT count(*) FROM person") } == 4)
    pool.close()
    #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: .named("horse")) }
    // Opening finds the profile by authenticating pages: it is the actual profile of the file.
    let fresh = try Connection.open(path, key: .named("pony"))
    #expect(try fresh.integrityErrors().isEmpty && fresh.unlocked.profile == profile)
  }

  @Test func `attaching fails if the key cannot be bound, and attaches nothing in clear`() throws {
    let short = "/tmp/v\(UInt32.random(in: 0...UInt32.max)).store"
    let database = try TemporaryDatabase()
    let main = database.connection
    defer { unlink(short) }
    _ = try Connection.create(short, key: testKey) { try $0.execute("CREATE TABLE t(x)") }
    let before = try Data(contentsOf: URL(fileURLWithPath: short))
    // The limit admits the path. The key with its salt is longer.
    main.setLimit(.length, to: 60)
    #expect {
      try main.attach(short, as: "other", key: testKey)
    } throws: { error in
      guard case SQLError.engine(code: 18, _, _, _) = error else { return false }
      return true
    }
    // The path of the main database may be longer than the limit.
    main.setLimit(.length, to: 1000)
    #expect(try main.rows("PRAGMA database_list").count == 1)
    #expect(try Data(contentsOf: URL(fileURLWithPath: short)) == before)
  }

  @Test func `a second file with its own key and settings can be attached, used and detached`() throws {
    try create()
    let main = try Connection.open(path, key: .named("horse"))
    try main.copy(to: out, key: .named("pony"), profile: .sqlcipher3)
    #expect(throws: SQLError.wrongKey(file: out)) {
      try main.attach(out, as: "other", key: .named("horse"))
    }
    try main.attach(out, as: "other", key: .named("pony"))
    _ = try main.transaction {
      try main.execute("INSERT INTO other.person(name) SELECT 'from main ' || name FROM main.person")
    }
    #expect(try main.value("SELECT count(*) FROM other.person") == 6)
    try main.detach("other")
    #expect(throws: SQLError.self) { try main.value("SELECT 1 FROM other.person") }
    let alone = try Connection.open(out, key: .named("pony"))
    #expect(try alone.value("SELECT count(*) FROM person") == 6)
    #expect(try Connection.open(path, key: .named("horse")).value("SELECT count(*) FROM person") == 3)
  }
}
