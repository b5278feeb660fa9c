// Writes that share one transaction. Each has a savepoint, and a commit ends all of them: after some time,
// after a number of writes, before any other use of the writer, and before a reader is leased.

private import Dispatch

/// The transaction that small writes of a pool share.
///
/// A write that has returned is a member: readers of the pool must see it, and it is lost if the transaction
/// fails. The methods under "On the writer's queue" run inside a call of it; readers wait from any thread.
package final class WriteGroup: Sendable {
  /// When a group is committed.
  package struct Limits: Sendable, Hashable {
    /// The seconds after the first write.
    package var seconds: Double
    /// The number of writes.
    package var count: Int
    package init(seconds: Double = 1, count: Int = 1000) { (self.seconds, self.count) = (seconds, count) }
  }

  /// Called when the group has ended; `false` if its writes were lost.
  package typealias Ending = @Sendable (_ isCommitted: Bool) -> Void

  private struct State {
    var isBegun = false
    /// Whether the body of a write runs.
    var isRunning = false
    /// The endings of the members, in the order of the writes.
    var members: [Ending] = []
    /// Wake the readers that wait for the commit.
    var waiters: [DispatchSemaphore] = []
    /// The lost writes that no call has reported yet.
    var loss: SQLError?
    /// The pool, while a group is begun: its writes are committed also if the pool is released.
    var keeper: ConnectionPool?
  }

  private let state = Locked(State())
  private let writer: ConnectionPool.Writer
  private let queue: SerialQueue
  private let limits: Limits
  /// Called after the endings of the members of a group that was committed.
  private let didCommit: @Sendable () -> Void
  /// Commits a group when its time is over.
  private let timer: Locked<SerialTimer?> = Locked(nil)
  private static let savepoint = "vault_member"

  init(
    writer: ConnectionPool.Writer, queue: SerialQueue, limits: Limits,
    didCommit: @escaping @Sendable () -> Void
  ) {
    (self.writer, self.queue, self.limits, self.didCommit) = (writer, queue, limits, didCommit)
  }

  // MARK: On the writer's queue

  /// Runs a write in the transaction of the group, which it begins if there is none.
  /// - Parameters:
  ///   - pool: The pool of the connection.
  ///   - ending: Called once the group has ended, if `body` returned.
  func join<Result>(
    on connection: Connection, of pool: ConnectionPool, _ body: () throws -> Result, ending: @escaping Ending
  ) throws -> Result {
    try throwLoss()
    if !state.withLock({ $0.isBegun }) {
      try connection.beginShared()
      state.withLock { ($0.isBegun, $0.keeper) = (true, pool) }
      let timer = timer.withLock { timer in
        let known = timer ?? queue.timer { [weak self] in try? self?.end() }
        timer = known
        return known
      }
      // NaN counts as 0.
      timer.start(afterSeconds: limits.seconds > 0 ? min(limits.seconds, 86_400) : 0)
    }
    let result: Result
    do { result = try inSavepoint(of: connection, body) } catch {
      // An empty group would keep the lock of the file for nothing.
      if state.withLock({ $0.members.isEmpty }) { try? end() }
      throw error
    }
    let count = state.withLock { state in
      state.members.append(ending)
      return state.members.count
    }
    if count >= limits.count {
      try? end()
      try throwLoss()
    }
    return result
  }

  /// Whether one more write joins a group that is begun and does not end it, so that it neither begins a
  /// transaction nor commits one.
  var hasRoom: Bool { state.withLock { $0.isBegun && $0.members.count + 1 < limits.count } }

  /// Runs the body of a write. If it fails, its changes are undone and the other members stay; if they cannot
  /// stay, the group is lost.
  private func inSavepoint<Result>(of connection: Connection, _ body: () throws -> Result) throws -> Result {
    do {
      try connection.beginSavepoint(Self.savepoint)
      state.withLock { $0.isRunning = true }
      defer { state.withLock { $0.isRunning = false } }
      let result = try body()
      // A violation would fail the commit of all members.
      if connection.hasUnresolvedReferences {
        throw SQLError.constraint(
          message: "FOREIGN KEY constraint failed", extendedCode: 787,
          sql: "RELEASE \(quoted(Self.savepoint))")
      }
      try connection.releaseSavepoint(Self.savepoint)
      return result
    } catch {
      do { try undo(on: connection) } catch let failure {
        lose(connection, because: connection.hasLostTransaction ? error as? SQLError ?? failure : failure)
      }
      throw error
    }
  }

  private func undo(on connection: Connection) throws {
    try connection.rollBack(toSavepoint: Self.savepoint)
    try connection.releaseSavepoint(Self.savepoint)
  }

  /// Commits the group, if one is begun. If the body of a write closes the pool, the changes of that body are
  /// undone first.
  /// - Throws: ``SQLError/sharedWritesLost(file:count:reason:)`` if the commit fails. It is also kept for the
  ///   next write of a group and for a flush.
  func end() throws {
    guard state.withLock({ $0.isBegun }), let connection = writer.connection else { return }
    do {
      if state.withLock({ $0.isRunning }) { try undo(on: connection) }
      guard state.withLock({ !$0.members.isEmpty }) else {
        // All its writes have failed.
        connection.rollback()
        return finish(isCommitted: false)
      }
      try connection.commit()
    } catch {
      lose(connection, because: error)
      throw state.withLock { $0.loss } ?? error
    }
    finish(isCommitted: true)
  }

  /// Rolls back the transaction of the group, and keeps what was lost until it is thrown.
  private func lose(_ connection: Connection, because error: any Error) {
    connection.rollback()
    state.withLock { state in
      let earlier: Int
      if case .sharedWritesLost(_, let count, _) = state.loss { earlier = count } else { earlier = 0 }
      if !state.members.isEmpty {
        state.loss = .sharedWritesLost(
          file: connection.path, count: earlier + state.members.count, reason: "\(error)")
      }
    }
    finish(isCommitted: false)
  }

  private func finish(isCommitted: Bool) {
    timer.withLock { $0 }?.stop()
    // The pool is released last: it may be the end of it.
    let (members, waiters, keeper) = state.withLock { state in
      defer { (state.isBegun, state.members, state.waiters, state.keeper) = (false, [], [], nil) }
      return (state.members, state.waiters, state.keeper)
    }
    for member in members { member(isCommitted) }
    if isCommitted { didCommit() }
    for waiter in waiters { waiter.signal() }
    withExtendedLifetime(keeper) {}
  }

  /// Throws the recorded loss, and clears it.
  func throwLoss() throws {
    let loss = state.withLock { state in
      defer { state.loss = nil }
      return state.loss
    }
    if let loss { throw loss }
  }

  // MARK: From any thread

  /// Commits the group if it has members, and waits for that, also for a body that runs. Does nothing inside
  /// of a write, which reads the last commit. If the commit fails, the reader is not at fault: a flush
  /// reports it.
  func commitForReader() {
    guard state.withLock({ !$0.members.isEmpty }), !queue.isInside else { return }
    let signal = DispatchSemaphore(value: 0)
    let isWaiting = state.withLock { state in
      if !state.members.isEmpty { state.waiters.append(signal) }
      return !state.members.isEmpty
    }
    guard isWaiting else { return }
    // A write that is earlier in the queue commits the group, too: the reader does not wait for that write.
    queue.async { [self] in try? end() }
    signal.wait()
  }
}

extension ConnectionPool {
  /// Runs `body` on the writer in a transaction that it shares with other calls of this function. The caller
  /// continues when `body` has returned, before the commit.
  ///
  /// The transaction is committed at the limits of the configuration, before every other use of the writer,
  /// before every read of this pool, and when the pool is closed. If `body` throws, its changes alone are
  /// undone. While the transaction is open and no other call waits, `body` runs on the calling thread. It is
  /// not interrupted when the task is cancelled: the engine would roll back the changes of all.
  /// - Parameters:
  ///   - body: Uses the connection during the call only.
  ///   - ending: Called on the writer's queue after the end of the transaction, if `body` returned.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError/sharedWritesLost(file:count:reason:)`` for an earlier group, before `body` runs,
  ///   and for its own group if it reaches the limit and the commit fails; `CancellationError` before `body`
  ///   runs; ``SQLError/busy(file:waitedSeconds:holders:)``; what `body` throws.
  @concurrent package func enqueue<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result, ending: @escaping WriteGroup.Ending
  ) async throws -> Result {
    try Task.checkCancellation()
    // Switching to the queue and back takes longer than a small write.
    let result = try writerQueue.ifFree { group.hasRoom ? try join(body, ending: ending) : nil }
    if let result { return result }
    return try await CancellableRun.perform(by: writerQueue.async) { [self] running in
      try running.check()
      return try join(body, ending: ending)
    }
  }

  private func join<Result>(
    _ body: (Connection) throws -> Result, ending: @escaping WriteGroup.Ending
  ) throws -> Result {
    let connection = try openWriterInGroup()
    return try group.join(on: connection, of: self, { try body(connection) }, ending: ending)
  }

  /// Commits the writes that share a transaction.
  /// - Throws: ``SQLError/sharedWritesLost(file:count:reason:)`` once for all writes that were lost since the
  ///   last call that threw it.
  package func flush() async throws {
    try await CancellableRun.perform(by: writerQueue.async) { [self] _ in
      try? group.end()
      try group.throwLoss()
      refreshStatistics(isClosing: false)
    }
  }
}
