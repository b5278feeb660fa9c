// Backups of a file in use: complete, of one moment, and never in clear.

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

  @Test func `a backup opens with the same passphrase and has the same content`() throws {
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

  @Test func `a backup may have a key of its own`() throws {
    try writer().withReader { try $0.backup(to: copy, key: .passphrase("another")) }
    #expect(throws: SQLError.wrongKey(file: copy)) { try Connection.open(copy, key: .passphrase("old")) }
    #expect(try Connection.open(copy, key: .passphrase("another")).value("SELECT count(*) FROM t") == 3000)
    #expect(try folder.bytes("a.backup").prefix(16) != folder.bytes("a.store").prefix(16))
  }

  @Test func `a backup with an empty key is refused before a file is created`() throws {
    #expect(throws: SQLError.emptyKey) {
      try writer().withReader { try $0.backup(to: copy, key: .passphrase("")) }
    }
    #expect(folder.names.allSatisfy { $0.hasPrefix("a.store") })
  }

  @Test func `no content is readable in a backup`() throws {
    try writer().withReader { try $0.backup(to: copy) }
    #expect(try folder.bytes("a.backup").range(of: Data("canary".utf8)) == nil)
  }

  @Test func `a backup does not overwrite an existing file`() throws {
    try folder.write(Data("mine".utf8), to: "a.backup")
    #expect(throws: SQLError.alreadyExists(file: copy)) {
      try writer().withReader { try $0.backup(to: copy) }
    }
    #expect(try folder.bytes("a.backup") == Data("mine".utf8))
  }

  @Test func `a backup is of one moment, although another connection commits meanwhile`() throws {
    let pool = try writer()
    let other = try Connection.open(path, key: .passphrase("old"))
    try pool.withReader { reader in
      try reader.backup(to: copy) { _, _ in try other.execute("INSERT INTO t VALUES ('later')") }
    }
    let found = try Connection.open(copy, key: .passphrase("old"))
    #expect(try found.value("SELECT count(*) FROM t") == 3000)
    #expect(try other.value("SELECT count(*) > 3000 FROM t") == 1)
  }

  @Test func `a backup with uncommitted changes fails and leaves no file`() throws {
    try writer().withWriter { connection in
      try connection.execute("BEGIN")
      try connection.execute("DELETE FROM t")
      #expect(throws: SQLError.uncommittedChanges(file: path)) { try connection.backup(to: copy) }
      connection.rollback()
    }
    #expect(folder.names.allSatisfy { $0.hasPrefix("a.store") })
  }

  @Test func `an error of the progress closure ends the backup and leaves no file`() throws {
    #expect(throws: CancellationError.self) {
      try writer().withReader { try $0.backup(to: copy) { _, _ in throw CancellationError() } }
    }
    #expect(folder.names.allSatisfy { $0.hasPrefix("a.store") })
  }

  @Test func `an error of the progress closure ends the backup while it compares the copy`() throws {
    var ends = 0
    #expect(throws: CancellationError.self) {
      try writer().withReader { reader in
        try reader.backup(to: copy) { copied, total in
          if copied == total { ends += 1 }
          // All pages were copied at the first call.
          if ends == 2 { throw CancellationError() }
        }
      }
    }
    #expect(ends == 2 && folder.names.allSatisfy { $0.hasPrefix("a.store") })
  }
}
