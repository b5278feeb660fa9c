// Reads with a check: the check runs only if another connection has committed since the last read.

import CipherSQLite
import TestSupport
import Testing

@Suite struct CheckedReads {
  private struct Stop: Error {}

  @Test(arguments: [Connection.JournalMode.wal, .delete])
  func `the check runs once per commit of another connection, and the read sees one state`(
    _ mode: Connection.JournalMode
  ) throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.db")
    _ = try Connection.create(path, key: testKey) {
      try $0.executeScript("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
    }
    let writer = try Connection.open(path, key: testKey)
    try writer.setJournalMode(mode)
    let reader = try Connection.open(path, key: testKey)
    var checks = 0
    func read() throws -> [SQLValue?] {
      try reader.reading {
        checks += 1
      } _: {
        let first = try reader.value("SELECT max(a) FROM t")
        // In WAL mode the writer commits during the read, and the read does not see it.
        if mode == .wal { try writer.execute("UPDATE t SET a = a + 1") }
        return [first, try reader.value("SELECT max(a) FROM t")]
      }
    }
    #expect(try read() == [1, 1] && checks == 1)
    if mode == .wal {
      #expect(try read() == [2, 2] && checks == 2)
      #expect(try read() == [3, 3] && checks == 3)
    } else {
      for _ in 0..<3 { #expect(try read() == [1, 1] && checks == 1) }
      try writer.execute("UPDATE t SET a = 5")
      for _ in 0..<3 { #expect(try read() == [5, 5] && checks == 2) }
    }
    // No lock remains between two reads.
    try writer.execute("UPDATE t SET a = 9")
    for _ in 0..<2 {
      #expect(throws: Stop.self) {
        try reader.reading {
          throw Stop()
        } _: {
          Issue.record("the body ran although the check had thrown")
        }
      }
    }
    #expect(
      try reader.reading {
        checks = -1
      } _: {
        try reader.value("SELECT a FROM t")
      } == 9)
    #expect(checks == -1)
  }
}
