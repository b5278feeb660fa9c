// What is told of the engine's calls to its files, and what a failing one looks like to who called.

import CipherSQLite
import TestSupport
import Testing

@Suite struct FileCalls {
  /// What was told, and what is answered from some call on.
  private final class Disk {
    var told: [FileCall] = []
    var answer: (FileCall) -> FileAnswer = { _ in .proceeds }

    func call(_ call: FileCall) -> FileAnswer {
      told.append(call)
      return answer(call)
    }
  }

  private func database(_ mode: String) throws -> (TemporaryDatabase, Disk) {
    let (database, disk) = (try TemporaryDatabase("CREATE TABLE t(a)"), Disk())
    try database.connection.executeScript("PRAGMA journal_mode = \(mode)")
    try database.connection.onFileCall(disk.call)
    return (database, disk)
  }

  @Test(arguments: ["WAL", "DELETE"])
  func `a disk that is full at the commit is told as full, and the transaction is gone`(_ mode: String) throws
  {
    let (database, disk) = try database(mode)
    disk.answer = { $0 == .commit ? .isFull : .proceeds }
    #expect {
      try database.connection.execute("INSERT INTO t VALUES (1)")
    } throws: { error in
      guard case SQLError.diskFull = error else { return false }
      return true
    }
    #expect(disk.told.contains(.full) && !disk.told.contains(.committed), "\(disk.told)")
    disk.answer = { _ in .proceeds }
    database.connection.rollback()
    #expect(try database.connection.value("SELECT count(*) FROM t") == 0)
    try database.connection.execute("INSERT INTO t VALUES (2)")
    #expect(disk.told.last == .committed && disk.told.filter { $0 == .committed }.count == 1)
  }

  @Test(arguments: ["WAL", "DELETE"])
  func `a transaction that writes nothing is no commit, also behind one that failed`(_ mode: String) throws {
    let (database, disk) = try database(mode)
    for refused in [FileCall.commit, .sync] {
      disk.answer = { $0 == refused ? .fails : .proceeds }
      _ = try? database.connection.execute("INSERT INTO t VALUES (1)")
      database.connection.rollback()
      disk.answer = { _ in .proceeds }
      // A journal that is left is put back by whoever reads next, which is a commit of its own.
      _ = try database.connection.value("SELECT count(*) FROM t")
      disk.told = []
      try database.connection.execute("BEGIN IMMEDIATE")
      try database.connection.execute("COMMIT")
      #expect(!disk.told.contains(.committed), "\(refused): \(disk.told)")
    }
  }
}
