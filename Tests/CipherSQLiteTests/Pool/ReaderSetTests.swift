// The pool's readers, tested from outside: a waiting read is woken when a reader is available, and only
// then.

import CipherSQLite
import Dispatch
import Foundation
import TestSupport
import Testing

@Suite struct Readers {
  /// Counts the connections that are prepared, and refuses some.
  private final class Gate: Sendable {
    struct State {
      var openings = 0
      var refused: Set<Int> = []
    }
    struct Refused: Error {}
    let state = Locked(State())
    /// Signals that the opening that will be refused is in progress.
    let isOpening = DispatchSemaphore(value: 0)
    /// That opening waits for it, so that other reads arrive meanwhile.
    let mayFail = DispatchSemaphore(value: 0)

    func prepare(_ connection: Connection) throws {
      guard connection.configuration.access == .readOnly else { return }
      let isRefused = state.withLock { state in
        state.openings += 1
        return state.refused.contains(state.openings)
      }
      guard isRefused else { return }
      isOpening.signal()
      mayFail.wait()
      throw Refused()
    }
  }

  private let database: TemporaryDatabase
  private let gate = Gate()

  init() throws { database = try TemporaryDatabase("CREATE TABLE t(x); INSERT INTO t VALUES (1)") }

  private func pool(readers: Int) throws -> ConnectionPool {
    var configuration = ConnectionPool.Configuration()
    configuration.readers = readers
    let gate = gate
    configuration.prepare = { try gate.prepare($0) }
    return try ConnectionPool(path: database.path, key: testKey, configuration: configuration)
  }

  @Test func `a waiting read gets the place of a reader that could not be opened`() async throws {
    gate.state.withLock { $0.refused = [1] }
    let pool = try pool(readers: 1)
    let first = Task { [gate] in
      defer { gate.isOpening.signal() }
      try await pool.read { _ in }
    }
    try await onThread { [gate] in gate.isOpening.wait() }
    // An opening in progress takes the only place.
    let waiting = (0..<5).map { _ in Task { try await pool.read { try $0.value("SELECT x FROM t") } } }
    for _ in 0..<1000 { await Task.yield() }
    gate.mayFail.signal()
    await #expect(throws: Gate.Refused.self) { try await first.value }
    for task in waiting { #expect(try await task.value == 1) }
    #expect(gate.state.withLock { $0.openings } == 2)
  }

  @Test(arguments: [1, 2, 3])
  func `two hundred reads on few readers complete, and no more readers open than allowed`(_ readers: Int)
    async throws
  {
    let pool = try pool(readers: readers)
    let inside = Locked((now: 0, most: 0))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<200 {
        group.addTask {
          try await pool.read { connection in
            inside.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            _ = try connection.value("SELECT count(*) FROM t")
            inside.withLock { $0.now -= 1 }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(inside.withLock { $0.most } <= readers)
    #expect(gate.state.withLock { $0.openings } <= readers)
  }

  @Test func `reads and snapshots that start during a rekey wait for its end`() async throws {
    let pool = try pool(readers: 2)
    let tasks = Locked<[Task<SQLValue?, any Error>]>([])
    let next = Key.raw([UInt8](repeating: 0x33, count: 32))
    try await onThread { [tasks] in
      try pool.rekey(to: next) { _, _ in
        tasks.withLock { tasks in
          guard tasks.count < 20 else { return }
          tasks.append(Task { try await pool.read { try $0.value("SELECT x FROM t") } })
          tasks.append(
            Task { try await onThread { try pool.withReader { try $0.value("SELECT x FROM t") } } })
          tasks.append(
            Task {
              try await onThread { try pool.snapshot().withConnection { try $0.value("SELECT x FROM t") } }
            })
        }
      }
    }
    let all = tasks.withLock { $0 }
    #expect(!all.isEmpty)
    for task in all { #expect(try await task.value == 1) }
  }

  @Test func `a read that waits for a reader throws the error closed when the pool is closed`() async throws {
    let pool = try pool(readers: 1)
    let isIn = DispatchSemaphore(value: 0)
    let mayGo = DispatchSemaphore(value: 0)
    let first = Task {
      defer { isIn.signal() }
      try await pool.read { _ in
        isIn.signal()
        mayGo.wait()
      }
    }
    try await onThread { isIn.wait() }
    let waiting = (0..<3).map { _ in Task { try await pool.read { _ in } } }
    for _ in 0..<1000 { await Task.yield() }
    pool.close()
    for task in waiting {
      await #expect(throws: SQLError.closed(file: pool.path)) { try await task.value }
    }
    mayGo.signal()
    try await first.value
  }
}
