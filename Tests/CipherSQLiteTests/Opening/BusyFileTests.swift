// Files of other programs, which write to them while they are read.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(
  .tags(.slow),
  .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3"))
struct BusyFiles {
  /// Adds one to every row in each transaction. Reports its beginning, and ends once the file `stop` exists.
  private static let writer = """
    import os, sqlite3, sys, time
    path, stop, mode, pause = sys.argv[1:]
    db = sqlite3.connect(path, isolation_level=None, timeout=30)
    db.execute("PRAGMA journal_mode=" + mode)
    db.execute("PRAGMA synchronous=off")
    db.execute("PRAGMA cache_size=10")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER NOT NULL, pad TEXT NOT NULL)")
    db.execute("BEGIN")
    for n in range(4000): db.execute("INSERT INTO t VALUES (?, 0, ?)", (n + 1, "x" * 100))
    db.execute("COMMIT")
    sys.stderr.write("begun")
    while not os.path.exists(stop):
      db.execute("BEGIN EXCLUSIVE")
      db.execute("UPDATE t SET v = v + 1")
      db.execute("COMMIT")
      time.sleep(float(pause))
    """
  /// Locks a file until another file exists.
  private static let holder = """
    import os, sqlite3, sys, time
    db = sqlite3.connect(sys.argv[1], isolation_level=None)
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    db.execute("BEGIN EXCLUSIVE")
    sys.stderr.write("begun")
    while not os.path.exists(sys.argv[2]): time.sleep(0.01)
    """

  /// Runs `body` while a program runs, all on one thread. A test that awaited meanwhile would continue only
  /// when the other tests let it, and the program would write for all that time.
  private func beside(
    _ script: String, path: String, folder: TemporaryFolder, arguments: [String] = [],
    _ body: @escaping @Sendable () throws -> Void
  ) async throws {
    try await onThread {
      let program = try StartedTool(
        "/usr/bin/python3", ["-c", script, path, folder.path("stop")] + arguments)
      let result = Result {
        #expect(try program.says("begun"))
        try body()
      }
      try folder.write(Data(), to: "stop")
      #expect(try program.end().status == 0)
      try result.get()
    }
  }

  @Test(arguments: [("wal", "0"), ("wal", "0.01"), ("delete", "0.02")])
  func `all rows that are read from a file that another program writes are of one moment`(
    _ mode: String, _ pause: String
  ) async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("busy.db")
    try await beside(Self.writer, path: path, folder: folder, arguments: [mode, pause]) {
      for _ in 0..<20 {
        let file = try ForeignFile(path: path, key: nil, busyTimeout: 60)
        let found = try file.connection.rows("SELECT count(*), count(DISTINCT v) FROM t")
        #expect(found == [[4000, 1]])
      }
    }
  }

  @Test func `a lock of another program is waited for as long as the busy timeout`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("held.db")
    try await beside(Self.holder, path: path, folder: folder) {
      let error = #expect(throws: SQLError.self) {
        let file = try ForeignFile(path: path, key: nil, busyTimeout: 0.3)
        _ = try file.connection.rows("SELECT count(*) FROM sqlite_master")
      }
      guard case .busy(_, let waited, _) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      // The wait without a timeout of one's own is five seconds.
      #expect(waited >= 0.3 && waited < 4.5)
    }
  }
}
