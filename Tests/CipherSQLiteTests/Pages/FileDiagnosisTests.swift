// One test for each reason why a file does not open as a store.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FileDiagnosis {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  func create(pages: Int = 40) throws {
    _ = try Connection.create(path, key: .named("right")) { connection in
      try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, body BLOB)")
      for _ in 0..<pages { try connection.execute("INSERT INTO t(body) VALUES (randomblob(3500))") }
    }
  }

  func open(_ key: Key = .named("right")) throws -> Connection {
    // A rekey waits this long for a reader that never ends, and then continues.
    var configuration = Connection.Configuration()
    configuration.busyTimeout = 0.05
    return try Connection.open(path, key: key, configuration: configuration)
  }

  @Test func `the right key opens the file`() throws {
    try create()
    #expect(try open().value("SELECT count(*) FROM t") == 40)
  }

  @Test func `a wrong key is reported as such and changes no byte`() throws {
    try create()
    let before = try folder.bytes("a.store")
    #expect(throws: SQLError.wrongKey(file: path)) { try open(.named("wrong")) }
    #expect(throws: SQLError.wrongKey(file: path)) { try open(.raw([UInt8](repeating: 7, count: 32))) }
    #expect(try folder.bytes("a.store") == before)
    #expect(folder.names == ["a.store"])
  }

  /// The frames of a log: the number of the page, whether the frame ends a commit, and the bytes of the
  /// page.
  func frames(of log: Data) -> [(page: Int, isCommit: Bool, bytes: Data)] {
    let number = { (offset: Int) in log[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    return stride(from: 32, to: log.count - 4119, by: 4120).map {
      (number($0), number($0 + 4) != 0, log[$0 + 24..<$0 + 4120])
    }
  }

  @Test(arguments: [0, 1, 2, 5, 30])
  func `a rekey killed during its checkpoint leaves the new key, and the old key is wrong`(copied: Int) throws
  {
    try create()
    let writer = try open()
    try writer.setJournalMode(.wal)
    // A reader of the former state prevents a checkpoint.
    let reader = try open()
    try reader.begin(.deferred)
    #expect(try reader.value("SELECT count(*) FROM t") == 40)
    try writer.rekey(to: .named("new"))
    let log = try folder.bytes("a.store-wal")
    var file = try folder.bytes("a.store")
    let pages = Dictionary(frames(of: log).map { ($0.page, $0.bytes) }) { $1 }
    for page in 1..<copied + 1 {
      file.replaceSubrange((page - 1) * 4096..<page * 4096, with: try #require(pages[page]))
    }
    try folder.write(file, to: "b.store")
    try folder.write(log, to: "b.store-wal")
    let died = folder.path("b.store")
    // The old key opens the file itself until its first page is copied.
    let error = copied == 0 ? SQLError.logUnderOtherKey(file: died) : .wrongKey(file: died)
    #expect(throws: error) { try Connection.open(died, key: .named("right")) }
    #expect(throws: error) { try Inspection(path: died, key: .named("right")) }
    let opened = try Connection.open(died, key: .named("new"))
    #expect(try opened.value("SELECT sum(length(body)) FROM t") == 140_000)
    _ = try opened.checkpoint(.truncate)
    #expect(opened.auditPages().isEmpty)
  }

  /// A rollback journal that restores `pages`, from SQLite's description of the format.
  private func journal(_ pages: [[UInt8]]) -> Data {
    let nonce: UInt32 = 0x1234_5678
    func bytes(_ number: UInt32) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
    var data = Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7])
    for number in [UInt32(pages.count), nonce, UInt32(pages.count), 512, 4096] { data += bytes(number) }
    data += Data(count: 512 - data.count)
    for (index, page) in pages.enumerated() {
      let checksum = stride(from: 4096 - 200, to: 0, by: -200).reduce(nonce) { $0 &+ UInt32(page[$1]) }
      data += Data(bytes(UInt32(index + 1)) + page + bytes(checksum))
    }
    return data
  }

  @Test(arguments: [1, 5, 41])
  func `a rekey killed with a rollback journal leaves the old key, and the new key is wrong`(_ written: Int)
    throws
  {
    try create()
    let url = URL(fileURLWithPath: path)
    let old = try [UInt8](Data(contentsOf: url))
    try open().rekey(to: .named("new"))
    let new = try [UInt8](Data(contentsOf: url))
    #expect(old.count == new.count && old[..<16] == new[..<16])
    let pages = old.count / 4096
    // The first pages were written when the process died.
    let died = new[..<(written * 4096)] + old[(written * 4096)...]
    func die() throws {
      try Data(died).write(to: url)
      try journal((0..<pages).map { Array(old[($0 * 4096)..<(($0 + 1) * 4096)]) })
        .write(to: URL(fileURLWithPath: path + "-journal"))
    }
    try die()
    #expect(throws: SQLError.wrongKey(file: path)) { try open(.named("new")) }
    try die()
    #expect(throws: SQLError.wrongKey(file: path)) { try open(.named("wrong")) }
    // A read-only connection does not roll the journal back.
    var reading = Connection.Configuration()
    reading.access = .readOnly
    #expect(throws: SQLError.interruptedWrite(file: path)) {
      try Connection.open(path, key: .named("right"), configuration: reading)
    }
    try die()
    let opened = try open()
    #expect(try opened.value("SELECT count(*) FROM t") == 40)
    #expect(try opened.integrityErrors().isEmpty && opened.auditPages().isEmpty)
    opened.close()
    #expect(try [UInt8](Data(contentsOf: url)) == old)
  }

  @Test func `damage beside a log of the same key is reported as damage`() throws {
    try create()
    let writer = try open()
    try writer.setJournalMode(.wal)
    try writer.execute("UPDATE t SET body = randomblob(3500) WHERE id = 30")
    var file = try folder.bytes("a.store")
    for page in 1...3 { file[(page - 1) * 4096 + 2000] ^= 1 }
    try folder.write(file, to: "b.store")
    try folder.write(try folder.bytes("a.store-wal"), to: "b.store-wal")
    #expect(throws: SQLError.corrupted(file: folder.path("b.store"), pages: [1, 2, 3])) {
      try Connection.open(folder.path("b.store"), key: .named("right"))
    }
  }

  @Test func `an empty key is refused before anything is written`() throws {
    #expect(throws: SQLError.emptyKey) { try Connection.create(path, key: .passphrase("")) { _ in } }
    #expect(throws: SQLError.emptyKey) { try Connection.create(path, key: .raw([])) { _ in } }
    #expect(folder.names.isEmpty)
    try create()
    #expect(throws: SQLError.emptyKey) { try open(.passphrase(bytes: [])) }
  }

  @Test func `a raw key of the wrong length is refused with both lengths`() throws {
    #expect(throws: SQLError.keyLength(expected: 32, found: 5)) {
      try Connection.create(path, key: .raw([1, 2, 3, 4, 5])) { _ in }
    }
  }

  @Test func `a plain SQLite file is reported as not encrypted`() throws {
    var header = Data("SQLite format 3\0".utf8)
    header.append(Data(count: 8176))
    try folder.write(header, to: "a.store")
    #expect(throws: SQLError.notEncrypted(file: path)) { try open() }
  }

  @Test func `a file that is not a database is reported as such`() throws {
    try folder.write(Data("Dear diary".utf8), to: "a.store")
    #expect(throws: SQLError.notADatabase(file: path, reason: "it has only 10 bytes")) { try open() }
    try folder.write(Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31) }), to: "a.store")
    #expect(throws: SQLError.notADatabase(file: path, reason: "its 5000 bytes are not whole pages")) {
      try open()
    }
  }

  @Test func `a truncated file is reported with its first missing page`() throws {
    try create()
    let whole = try folder.bytes("a.store")
    try folder.write(whole.prefix(10 * 4096), to: "a.store")
    #expect(throws: SQLError.corrupted(file: path, pages: [11])) { try open() }
    try folder.write(whole.prefix(10 * 4096 + 100), to: "a.store")
    #expect(throws: SQLError.corrupted(file: path, pages: [11])) { try open() }
  }

  @Test func `a flipped byte in page 1 is damage, not a wrong key`() throws {
    try create()
    var bytes = try folder.bytes("a.store")
    bytes[2000] ^= 1
    try folder.write(bytes, to: "a.store")
    #expect(throws: SQLError.corrupted(file: path, pages: [1])) { try open() }
  }

  @Test func `a flipped byte in a later page is found by reading the page and by the audit`() throws {
    try create()
    var bytes = try folder.bytes("a.store")
    bytes[20 * 4096 + 77] ^= 1
    try folder.write(bytes, to: "a.store")
    let connection = try open()
    #expect(connection.auditPages() == [21])
    #expect(throws: SQLError.corrupted(file: path, pages: [21])) { try connection.rows("SELECT body FROM t") }
  }

  @Test func `an empty file, a directory and a missing folder have their own errors`() throws {
    try folder.write(Data(), to: "a.store")
    #expect(throws: SQLError.emptyFile(file: path)) { try open() }
    #expect(throws: SQLError.isDirectory(file: folder.url.path)) {
      try Connection.open(folder.url.path, key: .named("x"))
    }
    let lost = folder.path("none/a.store")
    #expect(throws: SQLError.folderMissing(folder: folder.path("none"))) {
      try Connection.create(lost, key: .named("x")) { _ in }
    }
    #expect(throws: SQLError.notFound(file: folder.path("b.store"))) {
      try Connection.open(folder.path("b.store"), key: .named("x"))
    }
  }

  @Test func `a read-only file opens for reading and refuses to open for writing`() throws {
    try create()
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
    #expect(throws: SQLError.readOnly(file: path)) { try open() }
    var configuration = Connection.Configuration()
    configuration.access = .readOnly
    let connection = try Connection.open(path, key: .named("right"), configuration: configuration)
    #expect(try connection.value("SELECT count(*) FROM t") == 40)
    #expect(throws: SQLError.readOnly(file: path)) { try connection.execute("DELETE FROM t") }
  }

  @Test(
    .enabled(
      if: Engine.current.cipherMajor >= 4
        && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlcipher"),
      "only SQLCipher 4 reads both, and the installed shell writes the file"))
  func `a file of SQLCipher 3 opens and reports its settings`() throws {
    let other = "/usr/bin/sqlcipher"
    let script = "PRAGMA key='right'; CREATE TABLE t(x); INSERT INTO t VALUES (42);"
    var environment = ["LD_LIBRARY_PATH": ""]
    environment["SQLCIPHER_SHELL"] = ""
    #expect(try runTool(other, [path], input: script, environment: environment).status == 0)
    let connection = try open(.passphrase("right"))
    #expect(connection.unlocked.profile.hash == .sha1)
    #expect(try connection.value("SELECT x FROM t") == 42)
  }
}
