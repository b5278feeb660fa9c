// Files that are deleted, moved or replaced while a connection has them open: a commit fails if no later
// reader would find it.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct MovedFiles {
  let database: TemporaryDatabase
  var folder: TemporaryFolder { database.folder }
  var connection: Connection { database.connection }
  var path: String { database.path }

  init() throws {
    database = try TemporaryDatabase("CREATE TABLE t(x)")
    // With a rollback journal SQLite itself detects a moved file. In WAL mode it does not.
    try database.connection.setJournalMode(.wal)
    try database.connection.executeScript("INSERT INTO t VALUES (1)")
  }

  enum Loss: CaseIterable {
    case deleted, deletedWithItsLog, moved, replaced
  }

  private func lose(_ loss: Loss) throws {
    let files = FileManager.default
    switch loss {
    case .deleted: try files.removeItem(atPath: path)
    case .deletedWithItsLog:
      for suffix in ["", "-wal", "-shm"] { try files.removeItem(atPath: path + suffix) }
    case .moved: try files.moveItem(atPath: path, toPath: folder.path("b.store"))
    case .replaced:
      let other = folder.path("other.store")
      _ = try Connection.create(other, key: testKey) { try $0.executeScript("CREATE TABLE t(x)") }
      #expect(rename(other, path) == 0)
    }
  }

  @Test(arguments: Loss.allCases)
  func `a write transaction is not committed into a file that was deleted, moved or replaced`(_ loss: Loss)
    throws
  {
    try lose(loss)
    #expect(throws: SQLError.fileReplaced(file: path)) {
      _ = try connection.transaction { try connection.execute("INSERT INTO t VALUES (2)") }
    }
    #expect(!connection.isInTransaction)
    // The insert is rolled back.
    #expect(try connection.value("SELECT count(*) FROM t", as: Int.self) == 1)
  }

  @Test func `a transaction begun by hand stays open if its file has moved, and can be rolled back`() throws {
    try connection.begin()
    try connection.execute("INSERT INTO t VALUES (2)")
    try lose(.moved)
    #expect(throws: SQLError.fileReplaced(file: path)) { try connection.commit() }
    #expect(connection.isInTransaction)
    connection.rollback()
    try FileManager.default.moveItem(atPath: folder.path("b.store"), toPath: path)
    // Once the file is back, transactions are committed again.
    _ = try connection.transaction { try connection.execute("INSERT INTO t VALUES (3)") }
    #expect(try connection.value("SELECT sum(x) FROM t", as: Int.self) == 4)
  }

  @Test func `removing the link that a file was opened by does not count as moving the file`() throws {
    let link = folder.path("link.store")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    connection.close()
    let linked = try Connection.open(link, key: testKey)
    _ = try linked.transaction { try linked.execute("INSERT INTO t VALUES (2)") }
    try FileManager.default.removeItem(atPath: link)
    _ = try linked.transaction { try linked.execute("INSERT INTO t VALUES (3)") }
    #expect(try linked.value("SELECT count(*) FROM t", as: Int.self) == 3)
  }
}
