// Notifications of the engine's file calls, and the errors that a failing file call causes.

import CipherSQLite
import TestSupport
import Testing

@Suite struct FileCalls {
  /// Records the file calls and answers them. At first every call proceeds.
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
  func `a full disk at the commit is reported as full, and the row is not saved`(_ mode: String) throws {
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
  func `a transaction that writes nothing reports no commit, also after one that failed`(_ mode: String)
    throws
  {
    let (database, disk) = try database(mode)
    for refused in [FileCall.commit, .sync] {
      disk.answer = { $0 == refused ? .fails : .proceeds }
      _ = try? database.connection.execute("INSERT INTO t VALUES (1)")
      database.connection.rollback()
      disk.answer = { _ in .proceeds }
      // The next reader rolls back a leftover journal, which is reported as a commit of its own.
      _ = try database.connection.value("SELECT count(*) FROM t")
      disk.told = []
      try database.connection.execute("BEGIN IMMEDIATE")
      try database.connection.execute("COMMIT")
      #expect(!disk.told.contains(.committed), "\(refused): \(disk.told)")
    }
  }
}
