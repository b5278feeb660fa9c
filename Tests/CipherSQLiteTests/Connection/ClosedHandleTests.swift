// Closed connections, pools, queues and snapshots: every public call throws `.closed` or does nothing.

import CipherSQLite
import Foundation
import TestSupport
import Testing

/// Calls with the name of their method; a method with several overloads has several entries.
private typealias Calls = [(name: String, call: () throws -> Void)]

@Suite(.tags(.slow)) struct ClosedConnections {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }
  var closed: SQLError { .closed(file: database.path) }

  init() throws { database = try TemporaryDatabase("CREATE TABLE t(x); INSERT INTO t VALUES (1)") }

  @Test func `closing an interrupted connection checkpoints the log into the file`() throws {
    let log = database.path + "-wal"
    try connection.setJournalMode(.wal)
    try connection.execute("INSERT INTO t VALUES (2)")
    #expect(FileManager.default.fileExists(atPath: log))
    connection.interruptor.interrupt()
    connection.close()
    #expect(!FileManager.default.fileExists(atPath: log))
  }

  private struct Line: Codable { var x: Int }

  private var asking: Calls {
    [
      ("rows", { _ = try connection.rows("SELECT 1") }),
      ("rows", { _ = try connection.rows(sql: "SELECT 1") }),
      ("rows", { _ = try connection.rows("SELECT x FROM t", as: Line.self) }),
      ("query", { _ = try connection.query("SELECT 1") { $0.int64(0) } }),
      ("query", { _ = try connection.query(sql: "SELECT 1") { $0.int64(0) } }),
      ("value", { _ = try connection.value("SELECT 1") }),
      ("value", { _ = try connection.value(sql: "SELECT 1") }),
      ("value", { _ = try connection.value("SELECT 1", as: Int.self) }),
      ("column", { _ = try connection.column("SELECT 1", as: Int.self) }),
      ("allRows", { _ = try connection.allRows("SELECT 1") }),
      ("firstRow", { _ = try connection.firstRow("SELECT 1") }),
      ("cursor", { _ = try connection.cursor("SELECT 1") }),
      ("cursor", { _ = try connection.cursor("SELECT 1") { $0.int64(0) } }),
      ("prepare", { _ = try connection.prepare("SELECT 1") }),
      ("prepare", { _ = try connection.prepare(sql: "SELECT 1") }),
      ("validate", { try connection.validate(sql: "SELECT 1") }),
      ("withStatement", { try connection.withStatement("SELECT 1") { _ in } }),
      ("withStatement", { try connection.withStatement(sql: "SELECT 1") { _ in } }),
      ("blob", { _ = try connection.blob(table: "t", column: "x", row: 1) }),
      ("tableNames", { _ = try connection.tableNames() }),
      ("tableExists", { _ = try connection.tableExists("t") }),
      ("columnExists", { _ = try connection.columnExists("x", in: "t") }),
      ("tableInfo", { _ = try connection.tableInfo("t") }),
      ("userVersion", { _ = try connection.userVersion() }),
      ("pragma", { _ = try connection.pragma("user_version", as: Int.self) }),
      ("integrityErrors", { _ = try connection.integrityErrors() }),
      ("foreignKeyViolations", { _ = try connection.foreignKeyViolations() }),
    ]
  }

  private var changing: Calls {
    [
      ("execute", { try connection.execute("DELETE FROM t") }),
      ("execute", { try connection.execute(sql: "DELETE FROM t") }),
      ("executeScript", { try connection.executeScript("SELECT 1") }),
      ("executeScript", { try connection.executeScript("SELECT 1") { _ in } }),
      ("executeScript", { try connection.executeScript("") { _ in } }),
      ("insert", { _ = try connection.insert(Line(x: 1), into: "t") }),
      ("transaction", { try connection.transaction {} }), ("savepoint", { try connection.savepoint {} }),
      ("inTransaction", { try connection.inTransaction { .commit } }), ("begin", { try connection.begin() }),
      ("commit", { try connection.commit() }), ("beginSavepoint", { try connection.beginSavepoint("s") }),
      ("releaseSavepoint", { try connection.releaseSavepoint("s") }),
      ("rollBack", { try connection.rollBack(toSavepoint: "s") }),
      ("setJournalMode", { try connection.setJournalMode(.wal) }),
      ("setFullSync", { try connection.setFullSync(true) }),
      ("setUserVersion", { try connection.setUserVersion(2) }),
      ("setPragma", { try connection.setPragma("user_version", to: 2) }),
      ("checkpoint", { _ = try connection.checkpoint() }),
      ("checkpoint", { _ = try connection.checkpoint(.full) }), ("vacuum", { try connection.vacuum() }),
      ("incrementalVacuum", { try connection.incrementalVacuum() }),
      ("attach", { try connection.attach(database.path, as: "other", key: testKey) }),
      ("detach", { try connection.detach("other") }), ("rekey", { try connection.rekey(to: testKey) }),
    ]
  }

  private var registering: Calls {
    [
      ("register", { try connection.register(function: "f", argumentCount: 0) { _ in .null } }),
      ("register", { try connection.register(collation: "c") { _, _ in 0 } }),
      (
        "register",
        {
          try connection.register(aggregate: "a", argumentCount: 0, initial: 0) { _, _ in
          } result: { _ in
            .null
          }
        }
      ),
      (
        "register",
        {
          try connection.register(window: "w", argumentCount: 0, initial: 0) { _, _ in
          } inverse: { _, _ in
          } result: { _ in
            .null
          }
        }
      ),
      ("withAuthorizer", { try connection.withAuthorizer({ _ in .allow }) {} }),
    ]
  }

  private var copying: Calls {
    let path = database.folder.path("b.store")
    return [
      ("backup", { try connection.backup(to: path) }),
      ("copy", { try connection.copy(to: path, key: testKey) }),
      ("exportPlaintext", { try connection.exportPlaintext(to: path) }),
    ]
  }

  @Test func `every call on a closed connection throws the error closed`() throws {
    connection.close()
    connection.close()
    let calls = asking + changing + registering + copying
    for (index, entry) in calls.enumerated() {
      #expect(throws: closed, "\(entry.name), call \(index)") { try entry.call() }
    }
    // Methods that cannot throw do nothing.
    let silent: Calls = [
      ("close", { connection.close() }), ("rollback", { connection.rollback() }),
      ("clearStatementCache", { connection.clearStatementCache() }),
      ("onCommit", { connection.onCommit { true } }),
      ("onRollback", { connection.onRollback {} }), ("onChange", { connection.onChange { _ in } }),
      ("onStatement", { connection.onStatement { _ in } }), ("onBusy", { connection.onBusy { _ in true } }),
      ("onProgress", { connection.onProgress(every: 1) { true } }),
      ("limit", { #expect(connection.limit(.length) == 0) }),
      ("setLimit", { #expect(connection.setLimit(.length, to: 1) == 0) }),
      ("auditPages", { #expect(connection.auditPages().isEmpty) }),
    ]
    for entry in silent { try entry.call() }
    #expect(connection.changes == 0 && connection.lastInsertedID == 0 && !connection.isInTransaction)
    #expect(!connection.isOpen && connection.path == database.path)
    #expect(database.folder.names == ["a.store"])
    let tried = Set((calls + silent).map(\.name))
    #expect(try publicMethods(of: "Connection", in: "CipherSQLite") == tried)
  }

  @Test func `statements, cursors and blob streams are closed with their connection`() throws {
    let statement = try connection.prepare("SELECT x FROM t WHERE x = ?")
    let cursor = try connection.cursor("SELECT x FROM t")
    try connection.execute("INSERT INTO t(rowid, x) VALUES (7, zeroblob(10))")
    let stream = try connection.blob(table: "t", column: "x", row: 7, isWriting: true)
    #expect(try stream.read(3).count == 3)
    connection.close()
    let calls: Calls = [
      ("step", { _ = try statement.step() }), ("run", { try statement.run() }),
      ("bind", { try statement.bind(Int64(1), at: 1) }), ("bind", { try statement.bind("a", at: 1) }),
      ("bind", { try statement.bind(Data([1]), at: 1) }), ("bind", { try statement.bind(.null, at: 1) }),
      ("next", { _ = try cursor.next() }), ("read", { _ = try stream.read(1) }),
      ("write", { try stream.write(Data([1])) }), ("seek", { try stream.seek(to: 0) }),
      ("move", { try stream.move(toRow: 1) }),
    ]
    for entry in calls {
      #expect(throws: closed, "\(entry.name)") { try entry.call() }
    }
    #expect(statement.columnCount == 0 && statement.parameterCount == 0 && statement.columnName(0) == "")
    #expect(statement.int64(0) == 0 && statement.double(0) == 0 && statement.text(0) == nil)
    #expect(statement.data(0).isEmpty && statement.isNull(0) && statement.value(0) == .null)
    #expect(statement.parameterName(1) == nil && statement.row().isEmpty && statement.isReadOnly)
    statement.reset()
    cursor.close()
    try stream.close()
    try stream.close()
    // A stream that was still open would keep the file in use.
    let again = try database.again()
    try again.setJournalMode(.delete)
  }

  @Test func `an interruptor that outlives its connection does nothing and does not crash`() throws {
    let interruptor = connection.interruptor
    connection.close()
    interruptor.interrupt()
    let again = try database.again()
    let (first, second) = (again.interruptor, again.interruptor)
    again.close()
    first.interrupt()
    second.interrupt()
  }

  @Test func `closing the connection in a row closure ends the query with an error`() throws {
    try connection.execute("INSERT INTO t VALUES (2), (3)")
    #expect(throws: closed) {
      try connection.query("SELECT x FROM t") { _ in connection.close() }
    }
    let again = try database.again()
    #expect(throws: closed) {
      try again.executeScript("SELECT x FROM t; SELECT 1") { _ in again.close() }
    }
  }
}

@Suite(.tags(.slow)) struct ClosedPools {
  let database: TemporaryDatabase
  var closed: SQLError { .closed(file: database.path) }

  init() throws { database = try TemporaryDatabase("CREATE TABLE t(x); INSERT INTO t VALUES (1)") }

  @Test func `every call on a closed pool throws the error closed`() async throws {
    database.connection.close()
    let pool = try ConnectionPool(path: database.path, key: testKey)
    let snapshot = try pool.snapshot()
    snapshot.close()
    snapshot.close()
    #expect(throws: closed) { try snapshot.withConnection { _ in } }
    await #expect(throws: closed) { try await snapshot.read { _ in } }
    #expect(try publicMethods(of: "Snapshot", in: "CipherSQLite") == ["close", "withConnection", "read"])

    pool.close()
    pool.close()
    let profile = pool.profile
    let calls: Calls = [
      ("withReader", { try pool.withReader { _ in } }), ("withWriter", { try pool.withWriter { _ in } }),
      ("snapshot", { _ = try pool.snapshot() }), ("rekey", { try pool.rekey(to: testKey) }),
      ("rekey", { try pool.rekey(to: testKey, profile: profile) }),
    ]
    for entry in calls {
      #expect(throws: closed, "\(entry.name)") { try entry.call() }
    }
    await #expect(throws: closed) { try await pool.read { _ in } }
    await #expect(throws: closed) { try await pool.write { _ in } }
    #expect(!pool.isInsideWrite && pool.path == database.path)
    let tried = Set(calls.map(\.name)).union(["close", "read", "write"])
    #expect(try publicMethods(of: "ConnectionPool", in: "CipherSQLite") == tried)
  }

  @Test func `a snapshot stays usable after its pool is closed, until it is closed itself`() throws {
    let pool = try ConnectionPool(path: database.path, key: testKey)
    let snapshot = try pool.snapshot()
    pool.close()
    #expect(try snapshot.withConnection { try $0.value("SELECT x FROM t") } == 1)
    snapshot.close()
    #expect(throws: closed) { try snapshot.withConnection { _ in } }
  }

  @Test func `every call on a closed queue throws the error closed`() async throws {
    let queue = try ConnectionQueue(path: database.path, key: testKey)
    queue.close()
    queue.close()
    let calls: Calls = [
      ("withConnection", { try queue.withConnection { _ in } }),
      ("withTransaction", { try queue.withTransaction { _ in } }),
      ("rekey", { try queue.rekey(to: testKey) }),
    ]
    for entry in calls {
      #expect(throws: closed, "\(entry.name)") { try entry.call() }
    }
    await #expect(throws: closed) { try await queue.run { _ in } }
    await #expect(throws: closed) { try await queue.transaction { _ in } }
    queue.interrupt()
    #expect(!queue.isInsideCall)
    let tried = Set(calls.map(\.name)).union(["close", "run", "transaction", "interrupt"])
    #expect(try publicMethods(of: "ConnectionQueue", in: "CipherSQLite") == tried)
  }
}
