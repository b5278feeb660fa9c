// One writer, many readers, cancellation, and calls from inside themselves.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Pool {
  let folder: TemporaryFolder
  let pool: ConnectionPool

  init() throws {
    folder = try TemporaryFolder()
    _ = try Connection.create(folder.path("a.store"), key: .passphrase("k")) {
      try $0.execute("CREATE TABLE t(x)")
    }
    pool = try ConnectionPool(path: folder.path("a.store"), key: .passphrase("k"))
  }

  @Test func `a hundred tasks write and read at once and every row is there`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { [pool] group in
      for task in 0..<100 {
        group.addTask {
          for step in 0..<20 {
            try await pool.write {
              _ = try $0.execute("INSERT INTO t VALUES (?)", [.integer(Int64(task * 20 + step))])
            }
            _ = try await pool.read { try $0.value("SELECT count(*) FROM t") }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try pool.withReader { try $0.value("SELECT count(DISTINCT x) FROM t") } == 2000)
  }

  @Test func `a write from inside a write is an error, not a deadlock`() async throws {
    await #expect(throws: SQLError.nestedWrite(file: pool.path)) {
      try await pool.write { [pool] (_: Connection) -> Void in
        try pool.withWriter { (_: Connection) -> Void in }
      }
    }
  }

  @Test func `a read from inside every reader gets a connection of its own`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { [pool] group in
      for _ in 0..<16 {
        group.addTask {
          try await pool.read { _ in _ = try pool.withReader { try $0.value("SELECT 1") } }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `a throwing write is rolled back`() async throws {
    struct Stop: Error {}
    await #expect(throws: Stop.self) {
      try await pool.write { (connection: Connection) -> Void in
        _ = try connection.execute("INSERT INTO t VALUES (1)")
        throw Stop()
      }
    }
    #expect(try pool.withReader { try $0.value("SELECT count(*) FROM t") } == 0)
  }

  @Test func `a cancelled write stops its statement, rolls back and leaves the pool usable`() async throws {
    let started = DispatchSemaphore(value: 0)
    let task = Task { [pool] in
      // Also when it fails before: nobody is to wait for ever.
      defer { started.signal() }
      try await pool.write { connection in
        _ = try connection.execute("INSERT INTO t VALUES (1)")
        started.signal()
        _ = try connection.value(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
      }
    }
    cancel(task, when: started)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try pool.withReader { try $0.value("SELECT count(*) FROM t") } == 0)
    try await pool.write { _ = try $0.execute("INSERT INTO t VALUES (2)") }
  }

  @Test func `reads that wait for a connection go on when it is free, and cancelled ones keep nobody back`()
    async throws
  {
    var configuration = ConnectionPool.Configuration()
    configuration.readers = 1
    let narrow = try ConnectionPool(path: pool.path, key: .passphrase("k"), configuration: configuration)
    defer { narrow.close() }
    let held = DispatchSemaphore(value: 0)
    let started = AsyncStream<Void>.makeStream()
    let holder = Task {
      // Also when it fails before: nobody is to wait for ever.
      defer { started.continuation.finish() }
      try await narrow.read { _ in
        started.continuation.finish()
        held.wait()
      }
    }
    for await _ in started.stream {}
    let waiting = (0..<12).map { number in
      Task { try await narrow.read { try $0.value("SELECT \(number)")?.int64 } }
    }
    try await Task.sleep(for: .milliseconds(30))
    for number in stride(from: 0, to: 12, by: 2) { waiting[number].cancel() }
    held.signal()
    try await holder.value
    for (number, task) in waiting.enumerated() {
      if number.isMultiple(of: 2) {
        await #expect(throws: CancellationError.self) { try await task.value }
      } else {
        #expect(try await task.value == Int64(number))
      }
    }
    #expect(try await narrow.read { try $0.value("SELECT 1") } == 1)
  }

  @Test func `a closed pool says so`() async throws {
    pool.close()
    await #expect(throws: SQLError.closed(file: pool.path)) {
      try await pool.read { (_: Connection) -> Void in }
    }
    await #expect(throws: SQLError.closed(file: pool.path)) {
      try await pool.write { (_: Connection) -> Void in }
    }
  }

  @Test func `new files are private whatever the umask says`() throws {
    let mode = try FileManager.default.attributesOfItem(atPath: pool.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    try pool.withWriter { _ = try $0.execute("INSERT INTO t VALUES (1)") }
    for name in folder.names {
      let mode =
        try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int
      #expect(mode == 0o600, "\(name)")
    }
  }
}
