// A file that is deleted, moved or replaced under a connection: nothing is said to be committed that nobody will find.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct MovedFiles {
  let folder: TemporaryFolder
  let connection: Connection
  var path: String { folder.path("a.store") }

  init() throws {
    folder = try TemporaryFolder()
    connection = try Connection.open(folder.path("a.store"), key: testKey)
    try connection.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
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
      try Connection.open(other, key: testKey).executeScript("CREATE TABLE t(x)")
      #expect(rename(other, path) == 0)
    }
  }

  @Test(arguments: Loss.allCases)
  func `a transaction for writing is not committed into a file that lies there no more`(_ loss: Loss) throws {
    try lose(loss)
    #expect(throws: SQLError.fileReplaced(file: path)) {
      try connection.transaction { try connection.execute("INSERT INTO t VALUES (2)") }
    }
    #expect(!connection.isInTransaction)
    // What was written is taken back.
    #expect(try connection.value("SELECT count(*) FROM t", as: Int.self) == 1)
  }

  @Test func `one that was begun by hand stays open, and can be rolled back`() throws {
    try connection.begin()
    try connection.execute("INSERT INTO t VALUES (2)")
    try lose(.moved)
    #expect(throws: SQLError.fileReplaced(file: path)) { try connection.commit() }
    #expect(connection.isInTransaction)
    connection.rollback()
    try FileManager.default.moveItem(atPath: folder.path("b.store"), toPath: path)
    // Where it is back nothing has happened.
    try connection.transaction { try connection.execute("INSERT INTO t VALUES (3)") }
    #expect(try connection.value("SELECT sum(x) FROM t", as: Int.self) == 4)
  }

  @Test func `a file that was reached by a link has not moved where the link is gone`() throws {
    let link = folder.path("link.store")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    connection.close()
    let linked = try Connection.open(link, key: testKey)
    try linked.transaction { try linked.execute("INSERT INTO t VALUES (2)") }
    // The link is not the file.
    try FileManager.default.removeItem(atPath: link)
    try linked.transaction { try linked.execute("INSERT INTO t VALUES (3)") }
    #expect(try linked.value("SELECT count(*) FROM t", as: Int.self) == 3)
  }
}
