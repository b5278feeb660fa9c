// Cancellation of a call while none of its statements runs. SQLite itself discards an interrupt at such a
// moment.

import CipherSQLite
import TestSupport
import Testing

@Suite struct LateCancellations {
  static let endless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000000) SELECT count(*) FROM n"

  @Test(arguments: [false, true])
  func `a statement that starts after the cancellation is cancelled as well`(hasHandler: Bool) throws {
    let database = try TemporaryDatabase("CREATE TABLE t(a)")
    let (connection, run) = (database.connection, CancellableRun())
    if hasHandler { connection.onProgress(every: 1000) { true } }
    #expect(throws: CancellationError.self) {
      try run.run(connection) {
        run.cancel()
        _ = try connection.rows(sql: Self.endless)
      }
    }
    // The next call was not cancelled.
    #expect(try CancellableRun().run(connection) { try connection.rows(sql: "SELECT 1") } == [[.integer(1)]])
  }

  @Test func `a transaction that is cancelled between two statements is rolled back`() throws {
    let database = try TemporaryDatabase("CREATE TABLE t(a)")
    let (connection, run) = (database.connection, CancellableRun())
    #expect(throws: CancellationError.self) {
      try run.run(connection) {
        try connection.transaction {
          try connection.execute("INSERT INTO t VALUES (1)")
          run.cancel()
          _ = try connection.rows(sql: Self.endless)
        }
      }
    }
    #expect(try connection.rows(sql: "SELECT * FROM t").isEmpty)
  }
}
