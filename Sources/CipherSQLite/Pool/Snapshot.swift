// One state of the file for many reads, while others write.

extension ConnectionPool {
  /// Returns a snapshot of the file: every read of the snapshot sees the present state, however much is
  /// written meanwhile.
  ///
  /// Uses an additional connection beyond the pool's readers, opened in under a millisecond. The log
  /// cannot be restarted while a snapshot is open, so the log grows with each write: close the snapshot
  /// soon.
  /// - Returns: The snapshot.
  /// - Throws: ``SQLError/closed(file:)``; ``SQLError``, as ``Connection/open(_:key:configuration:)``
  ///   does.
  public func snapshot() throws -> Snapshot {
    let lease = try readers.acquireExtra()
    do {
      try lease.connection.begin(.deferred)
      // The first read determines the state, not BEGIN.
      _ = try lease.connection.value("SELECT count(*) FROM sqlite_master")
    } catch {
      lease.connection.rollback()
      readers.release(lease)
      throw error
    }
    return Snapshot(lease, readers)
  }
}

/// One state of a file. Usable from any task or thread; its reads run one after another.
///
/// ```swift
/// let snapshot = try pool.snapshot()
/// let total = try await snapshot.read {
///   try $0.value("SELECT sum(amount) FROM entries")
/// }
/// // The amounts add up to the total, whatever was written meanwhile.
/// let lines = try await snapshot.read { try $0.rows("SELECT * FROM entries") }
/// snapshot.close()
/// ```
///
/// While one is open, a rekey of the pool waits for the busy timeout and then throws
/// ``SQLError/busy(file:waitedSeconds:holders:)``.
public final class Snapshot: Sendable {
  // Safe to share: the lease's connection is used on the queue only.
  private final class Slot: @unchecked Sendable {
    var lease: ReaderSet.Lease?
    init(_ lease: ReaderSet.Lease) { self.lease = lease }
  }

  /// The file's path.
  public let path: String
  private let slot: Slot
  private let readers: ReaderSet
  private let queue = SerialQueue(label: "objectvault.snapshot")

  /// Takes over a leased connection, whose transaction reads the state. The lease is returned once: by
  /// ``close()`` or by `deinit`.
  // Does not throw: an initializer that throws runs `deinit`, and its caller would return the lease again.
  fileprivate init(_ lease: ReaderSet.Lease, _ readers: ReaderSet) {
    path = lease.connection.path
    self.readers = readers
    slot = Slot(lease)
  }

  deinit { Self.release(slot, readers) }

  /// Runs `body` with the reader, on the calling thread.
  /// - Parameter body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError/nestedWrite(file:)`` inside another read of this snapshot;
  ///   ``SQLError/closed(file:)``; what `body` throws.
  public func withConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard !queue.isInside else { throw SQLError.nestedWrite(file: path) }
    return try queue.sync { try read(body) }
  }

  /// Runs `body` on the reader. Cancelling the task interrupts the running statement.
  /// - Parameter body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError/closed(file:)``; `CancellationError`; what `body` throws.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    return try await CancellableRun.perform(by: queue.async) { [self] running in
      try read { connection in try running.run(connection) { try body(connection) } }
    }
  }

  /// Releases the state, after the reads that were called before; inside a read of this snapshot, at
  /// once. Also happens when the object is deallocated.
  public func close() {
    if queue.isInside { return Self.release(slot, readers) }
    queue.sync { Self.release(slot, readers) }
  }

  private func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard let lease = slot.lease, lease.connection.isInTransaction else { throw SQLError.closed(file: path) }
    return try body(lease.connection)
  }

  private static func release(_ slot: Slot, _ readers: ReaderSet) {
    guard let lease = slot.lease else { return }
    slot.lease = nil
    lease.connection.rollback()
    readers.release(lease)
  }
}
