// Finds the commits of other connections to the file: those of other processes, and of other pools.
//
// `PRAGMA data_version` of the writer changes with each commit of another connection. It is read shortly
// after the log was written, and then at growing intervals: a transaction writes its rows to the log before
// other connections can see them.

internal import Dispatch

// Safe to share: the variables are used on `queue` only.
/// Looks for commits of other connections, until it is cancelled or its pool is released.
package final class CommitWatch: @unchecked Sendable {
  /// The time between a write to the log and the first look, in milliseconds. Own writes are noticed, too,
  /// and this bounds what they cost.
  private static let shortest = 10
  /// The longest time between two looks, in milliseconds.
  private static let longest = 1000
  /// The longest time between two looks if the system does not report writes.
  private static let longestUntold = 50

  private let queue = DispatchQueue(label: "objectvault.watch")
  private weak let pool: ConnectionPool?
  private let check: @Sendable (Connection) -> Void
  private var file: FileWatch?
  private var timer: (any DispatchSourceTimer)?
  /// The time to the next look, in milliseconds.
  private var interval = CommitWatch.shortest
  private var isChecking = false
  private var isCancelled = false

  /// Begins to watch the file of a pool.
  /// - Parameter check: Called on the writer's queue, outside of transactions, when there may be commits of
  ///   others: ``Connection/othersHaveCommitted()`` tells.
  package init(_ pool: ConnectionPool, _ check: @escaping @Sendable (Connection) -> Void) {
    (self.pool, self.check) = (pool, check)
    let log = pool.file.path + "-wal"
    queue.async { [weak self] in self?.begin(log) }
  }

  /// Ends the watch.
  package func cancel() {
    queue.async { [self] in
      isCancelled = true
      file?.cancel()
      timer?.cancel()
      (file, timer) = (nil, nil)
    }
  }

  deinit {
    file?.cancel()
    timer?.cancel()
  }

  private func begin(_ log: String) {
    guard !isCancelled else { return }
    file = FileWatch(log, on: queue) { [weak self] in self?.lookSoon() }
    file?.renew()
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [weak self] in self?.look() }
    self.timer = timer
    schedule()
    timer.activate()
  }

  private func schedule() {
    timer?.schedule(
      deadline: .now() + .milliseconds(interval), leeway: .milliseconds(interval / 10))
  }

  private func lookSoon() {
    guard interval > Self.shortest, !isChecking else {
      interval = Self.shortest
      return
    }
    interval = Self.shortest
    schedule()
  }

  private func look() {
    guard let pool, !isCancelled, !isChecking else { return }
    isChecking = true
    // Another file may have replaced the log.
    file?.renew()
    let longest = file?.isActive == true ? Self.longest : Self.longestUntold
    pool.whenWriterIsFree { [self] connection in
      if let connection { check(connection) }
      queue.async { [self] in
        isChecking = false
        schedule()
        interval = min(interval * 2, longest)
      }
    }
  }
}

extension ConnectionPool {
  /// The committed state that the writer sees; nil if it is not known. Read on the writer's queue.
  package var writerState: SharedState? { writer.connection?.sharedState }

  /// Calls `body` with the writer after the writes that were called before, without waiting for it; with
  /// nil if the pool is closed.
  func whenWriterIsFree(_ body: @escaping @Sendable (Connection?) -> Void) {
    writerQueue.async { [writer] in body(writer.connection) }
  }
}

extension Connection {
  /// Whether another connection has committed since the last call of this method; true at the first call,
  /// and if the file cannot be read any more, as after another process has changed its key. Takes some
  /// microseconds.
  package func othersHaveCommitted() -> Bool {
    let version = try? withStatement(sql: "PRAGMA data_version") { statement in
      try statement.step() ? statement.int64(0) : 0
    }
    // No version is negative.
    defer { versionAtLastWatch = version ?? -1 }
    return version ?? -1 != versionAtLastWatch
  }
}
