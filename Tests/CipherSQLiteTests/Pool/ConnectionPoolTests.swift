// A pool: one writer, many readers, cancellation, and nested calls.

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

  @Test func `a hundred tasks write and read at once, and every row is saved`() async throws {
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

  @Test func `a write within a write is an error and not a deadlock`() async throws {
    await #expect(throws: SQLError.nestedWrite(file: pool.path)) {
      try await pool.write { [pool] (_: Connection) -> Void in
        try pool.withWriter { (_: Connection) -> Void in }
      }
    }
  }

  @Test func `a read within a read gets a connection of its own, also if all readers do so`() async throws {
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
      // Also if it fails before, so that the test does not wait forever.
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

  @Test func `waiting reads continue when a connection is free, and cancelled ones block no other`()
    async throws
  {
    var configuration = ConnectionPool.Configuration()
    configuration.readers = 1
    let narrow = try ConnectionPool(path: pool.path, key: .passphrase("k"), configuration: configuration)
    defer { narrow.close() }
    let held = DispatchSemaphore(value: 0)
    let started = AsyncStream<Void>.makeStream()
    let holder = Task {
      // Also if it fails before, so that the test does not wait forever.
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

  @Test func `reads and writes of a closed pool throw the error closed`() async throws {
    pool.close()
    await #expect(throws: SQLError.closed(file: pool.path)) {
      try await pool.read { (_: Connection) -> Void in }
    }
    await #expect(throws: SQLError.closed(file: pool.path)) {
      try await pool.write { (_: Connection) -> Void in }
    }
  }

  @Test func `all files of a pool have mode 0600`() throws {
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
