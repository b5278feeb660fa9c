// Waiting for a lock of another connection ends on cancellation and on interruption.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct Waiting {
  let folder: TemporaryFolder
  let holder: Connection
  var configuration = ConnectionPool.Configuration()

  init() throws {
    folder = try TemporaryFolder()
    _ = try Connection.create(folder.path("a.store"), key: testKey) { try $0.execute("CREATE TABLE t(x)") }
    holder = try Connection.open(folder.path("a.store"), key: testKey)
    // Longer than any test may take: a connection that waits for the timeout fails the test.
    configuration.connection.busyTimeout = 7200
  }

  /// The seconds from the cancellation of `task` to its end.
  func secondsToCancel(_ task: Task<Void, any Error>) async throws -> Double {
    try await Task.sleep(for: .milliseconds(200))
    let start = Date()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    return Date().timeIntervalSince(start)
  }

  @Test func `a cancelled task of a pool stops waiting for a lock`() async throws {
    let pool = try ConnectionPool(path: holder.path, key: testKey, configuration: configuration)
    try holder.begin()
    let task = Task { try await pool.write { _ = try $0.execute("INSERT INTO t VALUES (1)") } }
    #expect(try await secondsToCancel(task) < 3600)
    holder.rollback()
    try await pool.write { _ = try $0.execute("INSERT INTO t VALUES (2)") }
    #expect(try pool.withReader { try $0.rows("SELECT x FROM t") } == [[2]])
  }

  @Test func `a cancelled task of a queue stops waiting for a lock`() async throws {
    let queue = try ConnectionQueue(
      path: holder.path, key: testKey, configuration: configuration.connection)
    try holder.begin()
    let task = Task { try await queue.run { _ = try $0.execute("INSERT INTO t VALUES (1)") } }
    #expect(try await secondsToCancel(task) < 3600)
    holder.rollback()
    try await queue.run { _ = try $0.execute("INSERT INTO t VALUES (2)") }
    #expect(try await queue.run { try $0.rows("SELECT x FROM t") } == [[2]])
  }

  @Test func `an interrupt ends a statement that waits for a lock, and the next wait starts anew`() throws {
    let waiting = try Connection.open(holder.path, key: testKey, configuration: configuration.connection)
    try holder.begin()
    let interruptor = waiting.interruptor
    // Nothing waits yet: SQLite discards an interrupt when no statement runs.
    interruptor.interrupt()
    let (hasEnded, isGone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      // Repeatedly, because an interrupt before the wait is discarded too.
      while hasEnded.wait(timeout: .now() + 0.02) == .timedOut { interruptor.interrupt() }
      isGone.signal()
    }
    #expect(throws: SQLError.interrupted) { try waiting.begin() }
    hasEnded.signal()
    isGone.wait()
    var calls = 0
    waiting.onBusy { _ in
      calls += 1
      return calls < 3
    }
    #expect(isBusy(holder.path, after: 0...60) { try waiting.begin() })
    #expect(calls == 3)
  }
}
