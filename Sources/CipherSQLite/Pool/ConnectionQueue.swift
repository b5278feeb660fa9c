// One connection and an ordered queue of its calls, for programs that so far have a manager class around
// a single handle.

private import Foundation

/// One connection to an encrypted file that any task and any thread may use: its calls run one after
/// another, in the order in which they were made.
///
/// ```swift
/// let queue = try ConnectionQueue(path: path, key: key)
/// try await queue.transaction {
///   try $0.execute("INSERT INTO notes(text) VALUES (\(text))")
/// }
/// let count = try queue.withConnection {
///   try $0.value("SELECT count(*) FROM notes")?.int64
/// }
/// ```
///
/// Each call has two forms: one suspends its task, the other blocks its thread (`with…`). For reads in
/// parallel with writes use a ``ConnectionPool``. The journal mode of the file is not changed.
public final class ConnectionQueue: Sendable {
  // Safe to share: `connection` is used on the queue only.
  private final class Slot: @unchecked Sendable {
    var connection: Connection?
    init(_ connection: Connection) { self.connection = connection }
  }

  /// The file's path.
  public let path: String
  private let slot: Slot
  private let queue = SerialQueue(label: "objectvault.queue")
  private let running = Locked<Interruptor?>(nil)

  /// Opens an existing file. Blocks for the key derivation (some 20 to 100 ms for a passphrase).
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key; a ``Key/provider(_:)`` must be resolved before.
  ///   - configuration: Access, time-outs, cache.
  ///   - prepare: Called with the connection before anything else: for SQL functions and the like.
  /// - Throws: As ``Connection/open(_:key:configuration:)``; what `prepare` throws.
  public init(
    path: String, key: Key, configuration: Connection.Configuration = .init(),
    prepare: (Connection) throws -> Void = { _ in }
  ) throws {
    let connection = try Connection.open(path, key: key, configuration: configuration)
    try prepare(connection)
    self.path = path
    slot = Slot(connection)
  }

  /// Whether the caller runs inside a call of this queue.
  public var isInsideCall: Bool { queue.isInside }

  // MARK: Blocking calls

  /// Runs `body` with the connection, after the calls that were made before. Blocks the thread.
  /// - Parameter body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError/nestedWrite(file:)`` inside another call of this queue, which would wait for
  ///   itself; ``SQLError/closed(file:)``; what `body` throws.
  public func withConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard !isInsideCall else { throw SQLError.nestedWrite(file: path) }
    return try queue.sync { try run(body) }
  }

  /// Runs `body` with the connection in a transaction: committed when it returns, rolled back when it
  /// throws. Blocks the thread.
  /// - Parameters:
  ///   - kind: The kind of transaction.
  ///   - body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: As ``withConnection(_:)``, and ``SQLError/busy(file:waitedSeconds:holders:)``.
  public func withTransaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: (Connection) throws -> Result
  ) throws -> Result {
    try withConnection { connection in try connection.transaction(kind) { try body(connection) } }
  }

  // MARK: Asynchronous calls

  /// Runs `body` on the connection, after the calls that were made before.
  ///
  /// Cancelling the task interrupts the running statement and throws `CancellationError`; a cancelled
  /// call that has not begun never runs. If a task that is created inside `body` calls the queue, that
  /// call runs after `body`: `body` must not wait for it.
  /// - Parameter body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError/closed(file:)``; `CancellationError`; what `body` throws.
  public func run<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try await perform { connection, _ in try body(connection) }
  }

  private func perform<Result: Sendable>(
    _ body: @escaping @Sendable (Connection, CancellableRun) throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    return try await CancellableRun.perform(by: queue.async) { [self] running in
      try run { connection in try running.run(connection) { try body(connection, running) } }
    }
  }

  /// Runs `body` in a transaction: committed when it returns, rolled back when it throws or the task is
  /// cancelled.
  /// - Parameters:
  ///   - kind: The kind of transaction.
  ///   - body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: As ``run(_:)``, and ``SQLError/busy(file:waitedSeconds:holders:)``.
  public func transaction<Result: Sendable>(
    _ kind: TransactionKind = .immediate, _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try await perform { connection, running in
      try connection.transaction(kind) {
        let result = try body(connection)
        try running.check()
        return result
      }
    }
  }

  // MARK: Maintenance

  /// Changes the file's key; see ``Connection/rekey(to:progress:)``. Blocks until the calls before it are
  /// done.
  /// - Parameters:
  ///   - newKey: The new key.
  ///   - progress: As for ``Connection/rekey(to:progress:)``.
  /// - Throws: As ``Connection/rekey(to:progress:)``, and ``withConnection(_:)``. If the change
  ///   fails after the engine has begun to write, the queue is closed.
  public func rekey(to newKey: Key, progress: ((Int, Int) throws -> Void)? = nil) throws {
    try withConnection { try $0.rekey(to: newKey, progress: progress) }
  }

  /// Stops the running statement, from any thread: it ends with ``SQLError/interrupted``.
  public func interrupt() { running.withLock { $0?.interrupt() } }

  /// Closes the connection after the calls that were made before; inside a call of this queue, at once.
  /// Later calls throw ``SQLError/closed(file:)``.
  public func close() {
    let body = { [slot] in
      slot.connection?.close()
      slot.connection = nil
    }
    isInsideCall ? body() : queue.sync(body)
  }

  private func run<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard let connection = slot.connection, connection.isOpen else { throw SQLError.closed(file: path) }
    running.withLock { $0 = connection.interruptor }
    // A transaction that one call left open would include the next call's work.
    defer {
      running.withLock { $0 = nil }
      connection.rollback()
    }
    return try body(connection)
  }
}
