// Inspecting and copying a file while others use it, and leaving no trace if it is not in use.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Inspections {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  /// Creates a store of about 4 MB whose first and last rows belong together: their sum is always 0.
  func create(rows: Int = 1000) throws {
    _ = try Connection.create(path, key: testKey) { connection in
      try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x INTEGER, body BLOB)")
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT INTO t SELECT i, 0, zeroblob(4000) FROM n
        """)
    }
  }

  /// An application that has the store open, and has nothing in its log.
  func application() throws -> Connection {
    let connection = try Connection.open(path, key: testKey)
    try connection.setJournalMode(.wal)
    try connection.checkpoint(.truncate)
    return connection
  }

  func change(_ application: Connection, by amount: Int) throws {
    try application.transaction {
      try application.execute("UPDATE t SET x = x - \(amount) WHERE id = 1")
      try application.execute("UPDATE t SET x = x + \(amount) WHERE id = (SELECT max(id) FROM t)")
    }
    try application.checkpoint(.passive)
  }

  @Test func `a backup is of one moment, although an idle application writes while it is made`() throws {
    try create()
    let application = try application()
    // The log is missing or empty: the engines differ.
    #expect((try? folder.bytes("a.store-wal"))?.isEmpty ?? true)
    let inspection = try Inspection(path: path, key: testKey)
    var steps = 0
    try inspection.connection.backup(to: folder.path("b")) { _, _ in
      steps += 1
      try change(application, by: steps)
    }
    #expect(steps > 3)
    let copy = try Connection.open(folder.path("b"), key: testKey)
    #expect(try copy.rows("SELECT DISTINCT x FROM t") == [[0]])
    #expect(try application.value("SELECT sum(x) FROM t") == 0)
    let later = try Inspection(path: path, key: testKey)
    #expect(try later.connection.value("SELECT max(x) FROM t") == .integer(Int64(steps * (steps + 1) / 2)))
  }

  @Test func `a copy is of one moment, although another connection writes meanwhile`() throws {
    try create()
    let application = try application()
    var settings = Connection.Configuration()
    settings.access = .readOnly
    for access in [Connection.Access.readOnly, .readWrite] {
      settings.access = access
      let source = try Connection.open(path, key: testKey, configuration: settings)
      var count = 0
      let out = folder.path("\(access)")
      let before = try application.rows("SELECT DISTINCT x FROM t")
      try source.copy(to: out, key: .passphrase("pony")) { _, _ in
        count += 1
        try change(application, by: 1)
      }
      #expect(count > 1)
      #expect(try Connection.open(out, key: .passphrase("pony")).rows("SELECT DISTINCT x FROM t") == before)
    }
  }

  @Test func `an application that starts during an inspection works, and the inspection keeps its state`()
    throws
  {
    try create()
    _ = try application()
    let inspection = try Inspection(path: path, key: testKey)
    try inspection.connection.begin(.deferred)
    #expect(try inspection.connection.value("SELECT sum(x) FROM t") == 0)
    let application = try application()
    try change(application, by: 5)
    #expect(try inspection.connection.rows("SELECT DISTINCT x FROM t") == [[0]])
    inspection.connection.rollback()
    #expect(try inspection.connection.value("SELECT max(x) FROM t") == 5)
  }

  // MARK: Traces

  func content() throws -> [String: Data] {
    try Dictionary(folder.names.map { ($0, try folder.bytes($0)) }) { $1 }
  }

  @Test(arguments: ["wal", "delete"])
  func `inspecting a store that is not in use changes no byte and leaves no file`(_ mode: String) throws {
    try create(rows: 20)
    let application = try Connection.open(path, key: testKey)
    try application.setJournalMode(mode == "wal" ? .wal : .delete)
    application.close()
    #expect(folder.names == ["a.store"])
    let before = try content()
    do {
      let inspection = try Inspection(path: path, key: testKey)
      #expect(try inspection.journalMode() == mode)
      #expect(try inspection.connection.value("SELECT count(*) FROM t") == 20)
      #expect(throws: SQLError.self) { try inspection.connection.execute("DELETE FROM t") }
    }
    #expect(try content() == before)
    #expect(throws: SQLError.wrongKey(file: path)) { try Inspection(path: path, key: .passphrase("wrong")) }
    #expect(try content() == before)
  }

  @Test func `inspecting a store in use reads its log and changes no byte`() throws {
    try create(rows: 20)
    let application = try application()
    try application.execute("INSERT INTO t VALUES (100, 0, NULL)")
    let before = try content().filter { !$0.key.hasSuffix("-shm") }
    do {
      let inspection = try Inspection(path: path, key: testKey)
      #expect(try inspection.connection.value("SELECT count(*) FROM t") == 21)
    }
    #expect(try content().filter { !$0.key.hasSuffix("-shm") } == before)
    #expect(folder.names == ["a.store", "a.store-shm", "a.store-wal"])
    try application.execute("INSERT INTO t VALUES (101, 0, NULL)")
    #expect(try Connection.open(path, key: testKey).value("SELECT count(*) FROM t") == 22)
  }

  @Test(arguments: [true, false])
  func `an inspection reads the log of a killed process and leaves it unchanged`(hasIndex: Bool) throws {
    try create(rows: 20)
    let application = try application()
    try application.execute("INSERT INTO t VALUES (100, 0, NULL)")
    let died = folder.path("died.store")
    for suffix in ["", "-wal"] + (hasIndex ? ["-shm"] : []) {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: died + suffix)
    }
    application.close()
    let before = try content().filter { !$0.key.hasSuffix("-shm") }
    let names = folder.names
    do {
      let inspection = try Inspection(path: died, key: testKey)
      #expect(try inspection.connection.value("SELECT count(*) FROM t") == 21)
    }
    #expect(try content().filter { !$0.key.hasSuffix("-shm") } == before)
    #expect(folder.names == names)
  }

  @Test func `an immutable inspection creates no file and reads the journal mode from the header`() throws {
    try create(rows: 20)
    try application().close()
    let before = folder.names
    let inspection = try Inspection(path: path, key: testKey, immutable: true)
    #expect(try inspection.connection.value("SELECT count(*) FROM t") == 20)
    #expect(try inspection.journalMode() == "wal")
    #expect(folder.names == before)
  }

  @Test(.enabled(if: geteuid() != 0, "the superuser may write everywhere"))
  func `a user who may read a file but not create its index gets the error logUnreadable`() throws {
    try create(rows: 20)
    try application().close()
    chmod(folder.path(""), 0o500)
    defer { chmod(folder.path(""), 0o700) }
    #expect(throws: SQLError.logUnreadable(file: path)) { try Inspection(path: path, key: testKey) }
    let vouched = try Inspection(path: path, key: testKey, immutable: true)
    #expect(try vouched.connection.value("SELECT count(*) FROM t") == 20)
  }

  // MARK: Journals

  /// Creates a store whose last process died within a large transaction, with the engine's own journal of
  /// it.
  func interrupt() throws {
    try create(rows: 50)
    var small = Connection.Configuration()
    small.cacheBytes = 64 << 10
    let writer = try Connection.open(path, key: testKey, configuration: small)
    try writer.begin()
    // More than fits into the cache: the engine writes to the file itself, and syncs the journal.
    try writer.execute("UPDATE t SET x = 1, body = zeroblob(4001)")
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.path("died.store" + suffix))
    }
    writer.rollback()
  }

  @Test func `an inspection rolls back a hot journal on a copy, and deletes the copy`() throws {
    try interrupt()
    let died = folder.path("died.store")
    let before = try content()
    do {
      let inspection = try Inspection(path: died, key: testKey)
      #expect(try inspection.connection.rows("SELECT DISTINCT x FROM t") == [[0]])
      #expect(inspection.path == died && inspection.connection.path == died)
      let copy = inspection.connection.file.folder
      #expect(copy.contains("vault-inspect-"))
      try inspection.connection.backup(to: folder.path("b"))
      unlink(folder.path("b"))
      withExtendedLifetime(inspection) {}
    }
    #expect(try content() == before)
    #expect(try Connection.open(died, key: testKey).rows("SELECT DISTINCT x FROM t") == [[0]])
  }

  @Test func `an inspection deletes the copy of a killed process, and no folder with other files`() throws {
    try interrupt()
    /// Gets its name when it is complete: other tests inspect files meanwhile, and each inspection deletes
    /// leftovers.
    func leave(_ names: [String]) throws -> URL {
      let letters = (0..<6).compactMap { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement() }
      let url = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent(
        "vault-inspect-" + String(letters))
      let built = folder.url.appendingPathComponent("built")
      try FileManager.default.createDirectory(at: built, withIntermediateDirectories: false)
      for name in names { try Data([1]).write(to: built.appendingPathComponent(name)) }
      try FileManager.default.moveItem(at: built, to: url)
      return url
    }
    let copy = ["copy.store", "copy.store-journal", "lock"]
    let (left, users) = (try leave(copy), try leave(copy + ["my notes.txt"]))
    defer { try? FileManager.default.removeItem(at: users) }
    _ = try Inspection(path: folder.path("died.store"), key: testKey)
    #expect(!FileManager.default.fileExists(atPath: left.path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: users.path).count == 4)
  }

  @Test func `inspections at the same time do not delete each other's copies`() throws {
    try interrupt()
    try FileManager.default.createDirectory(atPath: folder.path("tmp"), withIntermediateDirectories: false)
    let result = try runTool(
      builtExecutable("test-child"), ["inspect", folder.path("died.store")],
      environment: ["TMPDIR": folder.path("tmp")])
    #expect(result.output == "800\n", "\(result)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("tmp")).isEmpty)
  }

  @Test func `a planted journal of many gigabytes is refused before anything is copied`() throws {
    try interrupt()
    let journal = folder.path("died.store-journal")
    #expect(truncate(journal, 40 << 30) == 0)
    #expect(throws: SQLError.journalTooLarge(file: journal, byteCount: 40 << 30)) {
      try Inspection(path: folder.path("died.store"), key: testKey)
    }
  }

  @Test func `a journal that names another user's file is refused, and that file stays`() throws {
    try interrupt()
    let (died, victim) = (folder.path("died.store"), folder.path("victim"))
    try folder.write(Data("secret".utf8), to: "victim")
    var journal = try folder.bytes("died.store-journal")
    func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    let name = Array(victim.utf8)
    journal += number(0x4000_0000 / 4096 + 1) + name + number(name.count)
    journal += number(name.reduce(0) { $0 + Int($1) }) + [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
    try folder.write(journal, to: "died.store-journal")
    let error = SQLError.journalNamesAnother(file: died + "-journal")
    #expect(throws: error) { try Inspection(path: died, key: testKey) }
    #expect(throws: error) { try Connection.open(died, key: testKey) }
    #expect(try folder.bytes("victim") == Data("secret".utf8))
  }

  @Test func `an immutable inspection includes what a killed process left in log or journal`() throws {
    try interrupt()
    let inspection = try Inspection(path: folder.path("died.store"), key: testKey, immutable: true)
    #expect(try inspection.connection.rows("SELECT DISTINCT x FROM t") == [[0]])
    let application = try application()
    try application.execute("INSERT INTO t VALUES (1000, 7, NULL)")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.path("logged" + suffix))
    }
    let logged = try Inspection(path: folder.path("logged"), key: testKey, immutable: true)
    #expect(try logged.connection.value("SELECT x FROM t WHERE id = 1000") == 7)
  }

  @Test func `a planted journal that states billions of pages costs no time`() throws {
    try interrupt()
    let journal = folder.path("died.store-journal")
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: journal))
    try file.seek(toOffset: 8)
    try file.write(contentsOf: Data([0xff, 0xff, 0xff, 0xff]))
    try file.truncate(atOffset: 1 << 10)
    try file.close()
    #expect(truncate(journal, 40 << 30) == 0)
    let seconds = threadTime {
      #expect(throws: (any Error).self) { try Inspection(path: folder.path("died.store"), key: testKey) }
    }
    #expect(seconds < 30)
  }

  @Test func `pages that are only in the log are not reported as damage`() throws {
    try create(rows: 300)
    let application = try application()
    let reader = try Connection.open(path, key: testKey)
    try reader.begin(.deferred)
    #expect(try reader.value("SELECT count(*) FROM t") == 300)
    // The reader of the former state keeps the new pages in the log.
    try application.rekey(to: .raw([UInt8](repeating: 3, count: 32)))
    let inspection = try Inspection(path: path, key: .raw([UInt8](repeating: 3, count: 32)))
    #expect(inspection.connection.auditPages().isEmpty)
    try Connection.restore(path, to: folder.path("r"), key: .raw([UInt8](repeating: 3, count: 32)))
    #expect(try inspection.connection.value("SELECT count(*) FROM t") == 300)
  }

  @Test func `a planted log of many gigabytes neither fills the disk nor takes long`() throws {
    try create(rows: 20)
    try application().close()
    try folder.write(Data(count: 32), to: "a.store-wal")
    #expect(truncate(path + "-wal", 40 << 30) == 0)
    let seconds = try threadTime {
      let inspection = try Inspection(path: path, key: testKey)
      #expect(try inspection.connection.value("SELECT count(*) FROM t") == 20)
    }
    #expect(seconds < 30)
  }
}
