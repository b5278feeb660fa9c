// Transactions that the engine rolls back by itself, for instance when the disk is full. Later statements of
// the body run outside of any transaction, and must not be written.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct LostTransactions {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws { database = try TemporaryDatabase("CREATE TABLE t(x);") }

  /// Causes of a rollback of the whole transaction from inside.
  enum Ending: CaseIterable {
    /// The file has reached its limit of pages.
    case full
    /// A trigger calls RAISE(ROLLBACK).
    case trigger

    func prepare(_ connection: Connection) throws {
      switch self {
      case .full:
        let pages = try connection.value("PRAGMA page_count")?.int64 ?? 0
        try connection.execute(sql: "PRAGMA max_page_count = \(pages + 4)")
      case .trigger:
        try connection.execute(
          "CREATE TRIGGER r BEFORE INSERT ON t WHEN new.x = 'end' BEGIN SELECT RAISE(ROLLBACK, 'taken back'); END"
        )
      }
    }

    func end(_ connection: Connection) throws {
      switch self {
      case .full: for _ in 0..<100 { try connection.execute("INSERT INTO t VALUES (zeroblob(3000))") }
      case .trigger: try connection.execute("INSERT INTO t VALUES ('end')")
      }
    }

    func isIt(_ error: any Error) -> Bool {
      switch (self, error) {
      case (.full, SQLError.diskFull): true
      case (.trigger, SQLError.constraint(let message, _, _)): message == "taken back"
      default: false
      }
    }
  }

  private func count() throws -> SQLValue? { try connection.value("SELECT count(*) FROM t") }

  @Test(arguments: Ending.allCases)
  func `a body that ignores a lost transaction writes nothing, and each statement throws`(_ ending: Ending)
    throws
  {
    try ending.prepare(connection)
    var later: [any Error] = []
    let rollbacks = Locked(0)
    connection.onRollback { rollbacks.withLock { $0 += 1 } }
    #expect {
      try connection.transaction {
        try connection.execute("INSERT INTO t VALUES ('first')")
        do { try ending.end(connection) } catch { #expect(ending.isIt(error)) }
        for text in ["INSERT INTO t VALUES ('after')", "SELECT count(*) FROM t", "DELETE FROM t"] {
          do { _ = try connection.rows(sql: text) } catch { later.append(error) }
        }
      }
    } throws: { ending.isIt($0) }
    #expect(later.count == 3 && later.allSatisfy { ending.isIt($0) }, "\(later)")
    #expect(try count() == 0 && !connection.isInTransaction)
    #expect(rollbacks.withLock { $0 } == 1)
    // The next transaction works as usual.
    _ = try connection.transaction { try connection.execute("INSERT INTO t VALUES ('next')") }
    #expect(try count() == 1)
  }

  @Test(arguments: Ending.allCases)
  func `nested and outermost savepoints do not hide a lost transaction`(_ ending: Ending) throws {
    try ending.prepare(connection)
    for isOutermost in [true, false] {
      #expect {
        let work = {
          try connection.execute("INSERT INTO t VALUES ('first')")
          do {
            try connection.savepoint { try connection.savepoint { try ending.end(connection) } }
          } catch { #expect(ending.isIt(error)) }
          // The body continues as if only the savepoint had been rolled back.
          _ = try? connection.savepoint { try connection.execute("INSERT INTO t VALUES ('after')") }
          _ = try? connection.executeScript("INSERT INTO t VALUES ('by a script')")
        }
        try isOutermost ? connection.savepoint(work) : connection.transaction(.immediate, work)
      } throws: { ending.isIt($0) }
      #expect(try count() == 0 && !connection.isInTransaction)
    }
  }

  @Test(arguments: Ending.allCases)
  func `a prepared statement writes nothing after its transaction was lost`(_ ending: Ending) throws {
    try ending.prepare(connection)
    let kept = try connection.prepare(sql: "INSERT INTO t VALUES ('late')")
    #expect {
      try connection.transaction {
        _ = try? ending.end(connection)
        _ = try? kept.step()
        kept.reset()
      }
    } throws: { ending.isIt($0) }
    #expect(try count() == 0)
    #expect(try !kept.step())
    #expect(try count() == 1)
  }

  @Test func `an error of a single statement leaves the transaction open and intact`() throws {
    try connection.execute("CREATE UNIQUE INDEX u ON t(x)")
    try connection.transaction {
      try connection.execute("INSERT INTO t VALUES (1)")
      for _ in 0..<2 { #expect(throws: SQLError.self) { try connection.execute("INSERT INTO t VALUES (1)") } }
      #expect(throws: SQLError.self) { try connection.execute("INSERT INTO nowhere VALUES (1)") }
      try connection.execute("INSERT INTO t VALUES (2)")
    }
    #expect(try count() == 2)
  }
}
