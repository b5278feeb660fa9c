// Hooks that report what a connection does, and hooks that can stop it.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct ConnectionHooks {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws { database = try TemporaryDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY, x)") }

  @Test func `onChange reports each change of a row with its kind, table and row id`() throws {
    var seen: [RowChange] = []
    connection.onChange { seen.append($0) }
    try connection.execute("INSERT INTO t VALUES (7, 'a')")
    try connection.execute("UPDATE t SET x = 'b'")
    try connection.execute("DELETE FROM t WHERE id = 7")
    connection.onChange(nil)
    try connection.execute("INSERT INTO t VALUES (8, 'c')")
    #expect(seen.map(\.kind) == [.insert, .update, .delete])
    #expect(seen.allSatisfy { $0.database == "main" && $0.table == "t" && $0.rowID == 7 })
  }

  @Test func `onCommit can refuse a commit, and onRollback reports every rollback`() throws {
    var (commits, rollbacks, allows) = (0, 0, true)
    connection.onCommit {
      commits += 1
      return allows
    }
    connection.onRollback { rollbacks += 1 }
    try connection.execute("INSERT INTO t VALUES (1, 'a')")
    allows = false
    #expect(throws: SQLError.self) { try connection.execute("INSERT INTO t VALUES (2, 'b')") }
    #expect(commits == 2 && rollbacks == 1)
    connection.onCommit(nil)
    connection.onRollback(nil)
    #expect(try connection.column("SELECT id FROM t", as: Int.self) == [1])
  }

  @Test func `onStatement reports each statement with its time, and values only with showsValues`() throws {
    var seen: [TraceEvent] = []
    connection.onStatement { seen.append($0) }
    try connection.execute("INSERT INTO t(x) VALUES (\("secret canary"))")
    connection.onStatement(showsValues: true) { seen.append($0) }
    try connection.execute("INSERT INTO t(x) VALUES (\("shown"))")
    connection.onStatement(nil)
    try connection.execute("DELETE FROM t")
    #expect(seen.map(\.sql) == ["INSERT INTO t(x) VALUES (?)", "INSERT INTO t(x) VALUES ('shown')"])
    #expect(seen.allSatisfy { $0.seconds >= 0 && $0.seconds < 60 })
  }

  @Test func `onStatement reports how many rows a statement returned or changed`() throws {
    try connection.executeScript(
      """
      CREATE TABLE log(x);
      CREATE TRIGGER logged AFTER INSERT ON t BEGIN INSERT INTO log VALUES (NEW.x); END;
      """)
    var seen: [Int] = []
    connection.onStatement { seen.append($0.rows) }
    try connection.execute("INSERT INTO t(x) VALUES ('a'), ('b'), ('c')")
    try connection.execute("UPDATE t SET x = 'd' WHERE id < 3")
    _ = try connection.rows("SELECT * FROM t")
    _ = try connection.value("SELECT count(*) FROM t")
    _ = try connection.rows("SELECT * FROM t WHERE id = 99")
    // A statement that runs inside of another one.
    _ = try connection.query("SELECT id FROM t") { statement in
      try connection.value("SELECT count(*) FROM log WHERE x = \(statement.value(0))")
    }
    try connection.execute("DELETE FROM t")
    connection.onStatement(nil)
    #expect(seen == [6, 2, 3, 1, 0, 1, 1, 1, 3, 3])
  }

  @Test func `onStatement never shows a key`() throws {
    let other = try TemporaryDatabase("CREATE TABLE u(x)")
    var seen: [String] = []
    connection.onStatement(showsValues: true) { seen.append($0.sql) }
    try connection.attach(other.connection.path, as: "other", key: testKey)
    try connection.detach("other")
    try connection.executeScript(
      "PRAGMA foreign_keys; PRAGMA cipher_default_kdf_iter; PRAGMA  key = 'canary';"
        + "-- note\n/* note */ PRAGMA/**/main.key = 'canary'; EXPLAIN PRAGMA key = 'canary';")
    connection.onStatement(nil)
    #expect(seen.contains("ATTACH") && seen.contains("PRAGMA key"), "\(seen)")
    #expect(seen.contains { $0.hasPrefix("PRAGMA foreign_keys") })
    #expect(!seen.contains { $0.contains("canary") || $0.contains("5A5A") || $0.contains("5a5a") })
  }

  @Test func `onBusy decides how long a connection waits for a lock`() throws {
    let other = try database.again()
    try other.begin()
    var calls: [Int] = []
    connection.onBusy { count in
      calls.append(count)
      if count == 3 { other.rollback() }
      return count < 10
    }
    try connection.execute("INSERT INTO t VALUES (1, 'a')")
    #expect(calls == [0, 1, 2, 3])
    try other.begin()
    connection.onBusy { $0 < 2 }
    #expect(throws: SQLError.self) { try connection.execute("INSERT INTO t VALUES (2, 'b')") }
    connection.onBusy(nil)
    other.rollback()
    try connection.execute("INSERT INTO t VALUES (2, 'b')")
  }

  @Test func `the error busy states how long the connection waited`() throws {
    var settings = Connection.Configuration()
    settings.busyTimeout = 0.25
    let (first, second) = (try database.again(settings), try database.again(settings))
    try first.begin()
    #expect(isBusy(first.path, after: 0.25...60) { try second.begin() })
    // In WAL mode a reader whose state is old cannot begin to write; waiting would not help.
    first.rollback()
    try first.setJournalMode(.wal)
    try second.begin(.deferred)
    _ = try second.rows("SELECT * FROM t")
    try first.execute("INSERT INTO t VALUES (1, 'a')")
    #expect {
      try second.execute("INSERT INTO t VALUES (2, 'b')")
    } throws: { error in
      guard case SQLError.busy(_, 0, _) = error else { return false }
      return true
    }
    second.rollback()
    // The next wait is measured from zero.
    try first.begin()
    #expect(isBusy(first.path, after: 0.25...60) { try second.begin() })
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `the error for a lock names the process that has it, by number and program`() throws {
    let pragmas = connection.unlocked.profile.shellPragmas(major: Engine.current.cipherMajor)
    let shell = try LockingShell(
      try #require(cipherShell), path: connection.path,
      opening:
        "PRAGMA key = \"x'\(String(repeating: "5A", count: 32))'\";\n\(pragmas.joined(separator: "\n"))")
    defer { shell.end() }
    var settings = Connection.Configuration()
    settings.busyTimeout = 0
    let waiting = try database.again(settings)
    let error = #expect(throws: SQLError.self) { try waiting.transaction {} }
    guard case .busy(_, _, let holders) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(holders.map(\.processID) == [shell.processID])
    #expect(error?.description.contains("process \(shell.processID) (sqlcipher)") == true)
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `replacing a file that another process reads fails and names that process`() throws {
    let (path, profile) = (connection.path, connection.unlocked.profile)
    let pragmas = profile.shellPragmas(major: Engine.current.cipherMajor)
    // In this journal mode the waiting connection already holds a part of the lock.
    try connection.setJournalMode(.delete)
    connection.close()
    let shell = try LockingShell(
      try #require(cipherShell), path: path,
      opening:
        "PRAGMA key = \"x'\(String(repeating: "5A", count: 32))'\";\n\(pragmas.joined(separator: "\n"))",
      transaction: "BEGIN; SELECT count(*) FROM t;")
    defer { shell.end() }
    var (settings, other) = (Connection.Configuration(), profile)
    (settings.busyTimeout, settings.profile) = (0.2, profile)
    other.rounds += 1000
    let error = #expect(throws: SQLError.self) {
      _ = try Connection.upgradeCipher(path, key: testKey, to: other, configuration: settings)
    }
    #expect(error?.description.contains("process \(shell.processID) (sqlcipher)") == true, "\(error as Any)")
  }

  @Test func `onProgress can stop a running statement`() throws {
    var calls = 0
    connection.onProgress(every: 1000) {
      calls += 1
      return calls < 5
    }
    #expect(throws: SQLError.interrupted) {
      try connection.value(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
    }
    #expect(calls == 5)
    connection.onProgress(every: 1000, nil)
    #expect(try connection.value("SELECT 1") == 1)
  }

  @Test func `hooks are not called after their connection is closed`() throws {
    var seen = 0
    let other = try database.again()
    other.onChange { _ in seen += 1 }
    other.close()
    other.onChange { _ in seen += 1 }
    #expect(throws: SQLError.closed(file: database.path)) { try other.execute("DELETE FROM t") }
    #expect(seen == 0)
  }
}

@Suite struct Aggregates {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws {
    database = try TemporaryDatabase(
      "CREATE TABLE t(g, x); INSERT INTO t VALUES ('a', 2), ('a', 3), ('b', 7), ('b', NULL)")
  }

  @Test func `an aggregate has one state per group, and returns its initial state without rows`() throws {
    try connection.register(aggregate: "product", argumentCount: 1, initial: 1.0) { state, arguments in
      state *= arguments[0].double ?? 1
    } result: {
      .real($0)
    }
    #expect(
      try connection.rows("SELECT g, product(x) FROM t GROUP BY g ORDER BY g") == [["a", 6.0], ["b", 7.0]])
    #expect(try connection.value("SELECT product(x) FROM t WHERE g = 'c'") == 1.0)
  }

  @Test func `a state that is an object is released for every group`() throws {
    final class Counter {
      nonisolated(unsafe) static var live = 0
      var values: [SQLValue] = []
      init() { Self.live += 1 }
      deinit { Self.live -= 1 }
    }
    try connection.register(aggregate: "gather", argumentCount: -1, initial: Counter?.none) {
      state, arguments in
      if state == nil { state = Counter() }
      state?.values += arguments
    } result: {
      .integer(Int64($0?.values.count ?? 0))
    }
    #expect(try connection.rows("SELECT gather(g, x) FROM t GROUP BY g") == [[4], [4]])
    // A statement that is reset before its last row finalizes its groups too.
    let statement = try connection.prepare("SELECT gather(x) FROM t GROUP BY g")
    #expect(try statement.step())
    statement.reset()
    #expect(Counter.live == 0)
  }

  @Test func `a window function adds and removes rows, if the engine has window functions`() throws {
    let register = {
      try connection.register(
        window: "total", argumentCount: 1, initial: Int64(0), step: { $0 += $1[0].int64 ?? 0 },
        inverse: { $0 -= $1[0].int64 ?? 0 }, result: { .integer($0) })
    }
    guard Engine.current.hasWindowFunctions else {
      #expect(throws: SQLError.unsupported(feature: "window functions", engine: "\(Engine.current)")) {
        try register()
      }
      return
    }
    try register()
    let found = try connection.column(
      "SELECT total(x) OVER (ORDER BY rowid ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", as: Int.self)
    #expect(found == [2, 5, 10, 7])
    #expect(try connection.value("SELECT total(x) FROM t") == 12)
  }
}

@Suite struct Upkeep {
  @Test func `begin, commit, named savepoints and a requested rollback work`() throws {
    let database = try TemporaryDatabase("CREATE TABLE t(x)")
    let connection = database.connection
    try connection.begin(.deferred)
    try connection.execute("INSERT INTO t VALUES (1)")
    try connection.beginSavepoint("odd \"name\"")
    try connection.execute("INSERT INTO t VALUES (2)")
    try connection.rollBack(toSavepoint: "odd \"name\"")
    try connection.releaseSavepoint("odd \"name\"")
    #expect(connection.isInTransaction)
    try connection.commit()
    #expect(!connection.isInTransaction)
    try connection.inTransaction {
      try connection.execute("INSERT INTO t VALUES (3)")
      return .rollback
    }
    try connection.inTransaction(.exclusive) {
      try connection.execute("INSERT INTO t VALUES (4)")
      return .commit
    }
    #expect(try connection.column("SELECT x FROM t ORDER BY x", as: Int.self) == [1, 4])
    #expect(throws: SQLError.self) { try connection.commit() }
  }

  @Test func `a checkpoint reports its pages, and fails while a reader blocks it`() throws {
    let database = try TemporaryDatabase("CREATE TABLE t(x)")
    var configuration = Connection.Configuration()
    configuration.busyTimeout = 0.1
    let connection = try database.again(configuration)
    #expect(try connection.checkpoint(.passive).logPages == -1)
    try connection.setJournalMode(.wal)
    try connection.execute("INSERT INTO t VALUES (randomblob(20000))")
    let passive = try connection.checkpoint(.passive)
    #expect(passive.logPages > 4 && passive.copiedPages == passive.logPages)
    let reader = try database.again()
    try reader.begin(.deferred)
    _ = try reader.value("SELECT count(*) FROM t")
    try connection.execute("INSERT INTO t VALUES (2)")
    #expect(throws: SQLError.self) { try connection.checkpoint(.truncate) }
    reader.rollback()
    _ = try connection.checkpoint(.truncate)
    #expect(try Data(contentsOf: URL(fileURLWithPath: database.path + "-wal")).isEmpty)
  }

  @Test func `vacuum and incrementalVacuum free the pages of deleted rows`() throws {
    let database = try TemporaryDatabase("CREATE TABLE t(x)")
    let connection = database.connection
    _ = try connection.transaction {
      for _ in 0..<50 { try connection.execute("INSERT INTO t VALUES (randomblob(4000))") }
    }
    let before = try #require(try connection.pragma("page_count", as: Int.self))
    try connection.execute("DELETE FROM t")
    #expect(try connection.pragma("freelist_count", as: Int.self) ?? 0 > 40)
    try connection.vacuum()
    #expect(try connection.pragma("page_count", as: Int.self) ?? before < before / 4)
    #expect(connection.auditPages().isEmpty)
    try connection.setPragma("auto_vacuum", to: 2)
    try connection.vacuum()
    _ = try connection.transaction {
      for _ in 0..<50 { try connection.execute("INSERT INTO t VALUES (randomblob(4000))") }
    }
    try connection.execute("DELETE FROM t")
    try connection.incrementalVacuum(pages: 10)
    let left = try #require(try connection.pragma("freelist_count", as: Int.self))
    try connection.incrementalVacuum()
    #expect(left > 10)
    #expect(try connection.pragma("freelist_count", as: Int.self) == 0)
  }

  @Test func `pragmas are typed, and setPragma refuses pragmas of the key and injected SQL`() throws {
    let database = try TemporaryDatabase()
    let connection = database.connection
    try connection.setPragma("user_version", to: 12)
    #expect(try connection.pragma("user_version", as: Int.self) == 12)
    #expect(try connection.pragma("journal_mode", as: String.self) == "delete")
    #expect(try connection.pragma("no_such_pragma", as: Int.self) == nil)
    for name in [
      "key", "main.key", "REKEY", "hexkey", "temp_store", "cipher_profile", "cipher_log", "a; DROP TABLE t",
      "",
    ] {
      #expect(throws: SQLError.self) { try connection.setPragma(name, to: 1) }
    }
    #expect(throws: SQLError.self) { try connection.setPragma("user_version", to: "1; DROP TABLE t") }
  }

  @Test func `limits bound the length and the depth of a statement`() throws {
    let database = try TemporaryDatabase()
    let connection = database.connection
    for limit in Connection.Limit.allCases { #expect(connection.limit(limit) > 0, "\(limit)") }
    let before = connection.setLimit(.length, to: 1000)
    #expect(before > 1000 && connection.limit(.length) == 1000)
    #expect(throws: SQLError.self) { try connection.value("SELECT \(String(repeating: "x", count: 2000))") }
    connection.setLimit(.expressionDepth, to: 3)
    #expect(throws: SQLError.self) { try connection.value("SELECT 1 + 1 + 1 + 1 + 1 + 1") }
  }
}
