// Copies of a live file: whole, of one moment, and never in clear.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Backup {
  let folder: TemporaryFolder
  let path: String
  let copy: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
    copy = folder.path("a.backup")
    _ = try Connection.create(path, key: .passphrase("old")) { connection in
      try connection.executeScript(
        """
        PRAGMA user_version = 7; PRAGMA application_id = 42;
        CREATE TABLE t(x TEXT); CREATE INDEX i ON t(x); CREATE VIEW v AS SELECT x FROM t;
        """)
      try connection.transaction {
        for number in 0..<3000 {
          try connection.execute("INSERT INTO t VALUES (?)", [.text("canary-\(number)-\(number)")])
        }
      }
    }
  }

  func writer() throws -> ConnectionPool { try ConnectionPool(path: path, key: .passphrase("old")) }

  func content(_ connection: Connection) throws -> [[SQLValue]] {
    try connection.rows("SELECT * FROM v ORDER BY 1") + connection.rows("PRAGMA user_version")
      + connection.rows("PRAGMA application_id") + connection.rows("SELECT sql FROM sqlite_master ORDER BY 1")
  }

  @Test func `the same passphrase opens the copy, and it holds the same`() throws {
    let pool = try writer()
    try pool.withWriter { connection in
      try connection.execute("INSERT INTO t VALUES ('only in the log yet')")
      var calls: [Int] = []
      try connection.backup(to: copy) { copied, total in calls.append(total - copied) }
      #expect(calls.last == 0)
      #expect(calls == calls.sorted(by: >))
      let other = try Connection.open(copy, key: .passphrase("old"))
      #expect(try content(other) == content(connection))
      #expect(other.auditPages().isEmpty)
    }
    let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `a copy may have a key of its own`() throws {
    try writer().withReader { try $0.backup(to: copy, key: .passphrase("another")) }
    #expect(throws: SQLError.wrongKey(file: copy)) { try Connection.open(copy, key: .passphrase("old")) }
    #expect(try Connection.open(copy, key: .passphrase("another")).value("SELECT count(*) FROM t") == 3000)
    #expect(try folder.bytes("a.backup").prefix(16) != folder.bytes("a.store").prefix(16))
  }

  @Test func `an empty key is refused before the first byte`() throws {
    #expect(throws: SQLError.emptyKey) {
      try writer().withReader { try $0.backup(to: copy, key: .passphrase("")) }
    }
    #expect(folder.names.allSatisfy { $0.hasPrefix("a.store") })
  }

  @Test func `nothing of the content is readable in the copy`() throws {
    try writer().withReader { try $0.backup(to: copy) }
    #expect(try folder.bytes("a.backup").range(of: Data("canary".utf8)) == nil)
  }

  @Test func `a file that is there already is left alone`() throws {
    try folder.write(Data("mine".utf8), to: "a.backup")
    #expect(throws: SQLError.alreadyExists(file: copy)) {
      try writer().withReader { try $0.backup(to: copy) }
    }
    #expect(try folder.bytes("a.backup") == Data("mine".utf8))
  }

  @Test func `the copy is of one moment, although another connection commits meanwhile`() throws {
    let pool = try writer()
    let other = try Connection.open(path, key: .passphrase("old"))
    try pool.withReader { reader in
      try reader.backup(to: copy) { _, _ in try other.execute("INSERT INTO t VALUES ('later')") }
    }
    let found = try Connection.open(copy, key: .passphrase("old"))
    #expect(try found.value("SELECT count(*) FROM t") == 3000)
    #expect(try other.value("SELECT count(*) > 3000 FROM t") == 1)
  }

  @Test func `changes that are not committed are an error, and no file is left`() throws {
    try writer().withWriter { connection in
      try connection.execute("BEGIN")
      try connection.execute("DELETE FROM t")
      #expect(throws: SQLError.uncommittedChanges(file: path)) { try connection.backup(to: copy) }
      connection.rollback()
    }
    #expect(folder.names.allSatisfy { $0.hasPrefix("a.store") })
  }

  @Test func `what the progress throws ends the copying, and no file is left`() throws {
    #expect(throws: CancellationError.self) {
      try writer().withReader { try $0.backup(to: copy) { _, _ in throw CancellationError() } }
    }
    #expect(folder.names.allSatisfy { $0.hasPrefix("a.store") })
  }
}
