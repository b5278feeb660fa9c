// One test for each thing that a file can be instead of a store that opens.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct FileDiagnosis {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  func create(pages: Int = 40) throws {
    _ = try Connection.create(path, key: .passphrase("right")) { connection in
      try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, body BLOB)")
      for _ in 0..<pages { try connection.execute("INSERT INTO t(body) VALUES (randomblob(3500))") }
    }
  }

  func open(_ key: Key = .passphrase("right")) throws -> Connection { try Connection.open(path, key: key) }

  @Test func `the right key opens the file`() throws {
    try create()
    #expect(try open().value("SELECT count(*) FROM t") == 40)
  }

  @Test func `a wrong key is told as such and changes no byte`() throws {
    try create()
    let before = try folder.bytes("a.store")
    #expect(throws: SQLError.wrongKey(file: path)) { try open(.passphrase("wrong")) }
    #expect(throws: SQLError.wrongKey(file: path)) { try open(.raw([UInt8](repeating: 7, count: 32))) }
    #expect(try folder.bytes("a.store") == before)
    #expect(folder.names == ["a.store"])
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

  @Test func `a plain SQLite file is told as such`() throws {
    var header = Data("SQLite format 3\0".utf8)
    header.append(Data(count: 8176))
    try folder.write(header, to: "a.store")
    #expect(throws: SQLError.notEncrypted(file: path)) { try open() }
  }

  @Test func `a file that is no database is told as such`() throws {
    try folder.write(Data("Dear diary".utf8), to: "a.store")
    #expect(throws: SQLError.notADatabase(file: path, reason: "it has only 10 bytes")) { try open() }
    try folder.write(Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31) }), to: "a.store")
    #expect(throws: SQLError.notADatabase(file: path, reason: "its 5000 bytes are not whole pages")) {
      try open()
    }
  }

  @Test func `a truncated file names the first missing page`() throws {
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

  @Test func `a flipped byte in a later page is found when the page is read, and by the audit`() throws {
    try create()
    var bytes = try folder.bytes("a.store")
    bytes[20 * 4096 + 77] ^= 1
    try folder.write(bytes, to: "a.store")
    let connection = try open()
    #expect(connection.auditPages() == [21])
    #expect(throws: SQLError.corrupted(file: path, pages: [21])) { try connection.rows("SELECT body FROM t") }
  }

  @Test func `an empty file, a directory and a missing folder each have their error`() throws {
    try folder.write(Data(), to: "a.store")
    #expect(throws: SQLError.emptyFile(file: path)) { try open() }
    #expect(throws: SQLError.isDirectory(file: folder.url.path)) {
      try Connection.open(folder.url.path, key: .passphrase("x"))
    }
    let lost = folder.path("none/a.store")
    #expect(throws: SQLError.folderMissing(folder: folder.path("none"))) {
      try Connection.create(lost, key: .passphrase("x")) { _ in }
    }
    #expect(throws: SQLError.notFound(file: folder.path("b.store"))) {
      try Connection.open(folder.path("b.store"), key: .passphrase("x"))
    }
  }

  @Test func `a read-only file opens for reading and refuses to open for writing`() throws {
    try create()
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
    #expect(throws: SQLError.readOnly(file: path)) { try open() }
    var configuration = Connection.Configuration()
    configuration.access = .readOnly
    let connection = try Connection.open(path, key: .passphrase("right"), configuration: configuration)
    #expect(try connection.value("SELECT count(*) FROM t") == 40)
    #expect(throws: SQLError.readOnly(file: path)) { try connection.execute("DELETE FROM t") }
  }

  @Test func `a file of the other SQLCipher version opens, or says which settings it has`() throws {
    let other = Engine.current.cipherMajor >= 4 ? "/usr/bin/sqlcipher" : nil
    guard let other, FileManager.default.isExecutableFile(atPath: other) else { return }
    // Only the 4.x engine reads both: the installed 3.x shell writes the file.
    let script = "PRAGMA key='right'; CREATE TABLE t(x); INSERT INTO t VALUES (42);"
    var environment = ["LD_LIBRARY_PATH": ""]
    environment["SQLCIPHER_SHELL"] = ""
    guard try runTool(other, [path], input: script, environment: environment).status == 0 else { return }
    let connection = try open()
    #expect(connection.unlocked.profile.hash == .sha1)
    #expect(try connection.value("SELECT x FROM t") == 42)
  }
}
