// Transactions that the engine takes back by itself, as it does where a disk is full: what is run behind that is no longer
// inside of anything, and must not be written all the same.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct LostTransactions {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws { database = try TemporaryDatabase("CREATE TABLE t(x);") }

  /// What ends a transaction from inside, whole.
  enum Ending: CaseIterable {
    /// The file may have so many pages, and no more.
    case full
    /// A trigger that says so.
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
  func `a body that takes no notice writes nothing, and is told`(_ ending: Ending) throws {
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
    // And then everything is as ever.
    _ = try connection.transaction { try connection.execute("INSERT INTO t VALUES ('next')") }
    #expect(try count() == 1)
  }

  @Test(arguments: Ending.allCases)
  func `savepoints within it, and one that is a transaction by itself, do not hide it`(_ ending: Ending)
    throws
  {
    try ending.prepare(connection)
    for isOutermost in [true, false] {
      #expect {
        let work = {
          try connection.execute("INSERT INTO t VALUES ('first')")
          do {
            try connection.savepoint { try connection.savepoint { try ending.end(connection) } }
          } catch { #expect(ending.isIt(error)) }
          // A body that goes on as if the savepoint alone had been taken back.
          _ = try? connection.savepoint { try connection.execute("INSERT INTO t VALUES ('after')") }
          _ = try? connection.executeScript("INSERT INTO t VALUES ('by a script')")
        }
        try isOutermost ? connection.savepoint(work) : connection.transaction(.immediate, work)
      } throws: { ending.isIt($0) }
      #expect(try count() == 0 && !connection.isInTransaction)
    }
  }

  @Test(arguments: Ending.allCases)
  func `a statement that somebody keeps writes nothing outside of it`(_ ending: Ending) throws {
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

  @Test func `an error that ends its statement alone leaves the transaction as it is`() throws {
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
