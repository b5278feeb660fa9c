// One writer and several readers on one file in WAL mode.

internal import Dispatch
private import Foundation

/// A pool of connections to one encrypted file: one writes, several read.
///
/// The key is derived once; every further connection opens with the derived key in well under a
/// millisecond. Writes run one after another in the order of their calls. Reads run in parallel with them
/// and with each other, and see the last commit before they began. Usable from any task or thread.
public final class ConnectionPool: Sendable {
  /// The settings of a pool.
  public struct Configuration: Sendable {
    /// The settings of the writer. Readers have the same, with read-only access and their own cache size.
    public var connection = Connection.Configuration()
    /// The maximum number of readers in use at once; the layer above may use two for one read. Default 4.
    /// Two calls may exceed it: ``ConnectionPool/withReader(_:)`` if no reader is free, and
    /// ``ConnectionPool/snapshot()``.
    public var readers = 4
    /// The page cache of each reader, in bytes. Default 16 MiB.
    public var readerCacheBytes = 16 << 20
    /// Whether each commit waits for the disk. Default `false`: a power loss may lose the last commits,
    /// each of them completely; a crash of the process loses none.
    public var isFullSync = false
    /// The file's journal mode. Default ``Connection/JournalMode/wal``, in which reads run during a
    /// write; nil leaves the file's mode unchanged.
    public var journalMode: Connection.JournalMode? = .wal
    /// Whether the file keeps statistics of its tables, by which the engine chooses indexes. They are
    /// updated after writes of many rows, and when the pool is closed. Default `false`.
    public var keepsStatistics = false
    /// Receives the tables that have statistics, and their columns in which most rows are NULL: when the
    /// pool is opened, and when it has checked the statistics.
    package var onNilColumns: @Sendable (TableStatistics.NilColumns) -> Void = { _ in }
    /// The folder of a file that exists only as long as the pool: it is removed when the pool is closed or
    /// released.
    package var folder: PrivateFolder?
    /// When the transaction of the writes that share one is committed.
    package var groupLimits = WriteGroup.Limits()
    /// Called on the writer's queue when writes that shared a transaction were committed.
    package var onGroupCommit: @Sendable () -> Void = {}
    /// Called with every new connection, for SQL functions and the like.
    public var prepare: @Sendable (Connection) throws -> Void = { _ in }

    /// Creates the default settings.
    public init() {}
  }

  // Safe to share: used on the writer's queue only.
  final class Writer: @unchecked Sendable {
    /// nil when the pool is closed, or the writer could not be opened again after a rekey. In the second
    /// case the next call opens it.
    var connection: Connection?
    var isClosed = false
    /// The number of rows that the connection had changed at the last check of the statistics.
    var changesAtLastCheck = 0
    init(_ connection: Connection) { self.connection = connection }
  }

  /// The file's path, as it was given.
  public var path: String { file.given }
  /// The file, whose links were resolved when the pool was opened: all its connections open the same
  /// file.
  let file: DatabasePath
  let configuration: Configuration
  let writer: Writer
  let writerQueue: SerialQueue
  private let readerQueue: DispatchQueue
  let readers: ReaderSet
  let group: WriteGroup
  let key: KeyBox

  // The present derived key, which a rekey replaces.
  final class KeyBox: Sendable {
    private let value: Locked<UnlockedKey>
    init(_ key: UnlockedKey) { value = Locked(key) }
    var unlocked: UnlockedKey {
      get { value.withLock { $0 } }
      set { value.withLock { $0 = newValue } }
    }
  }

  /// Opens a pool on an existing file.
  ///
  /// Blocks for the key derivation (some 20 to 100 ms for a passphrase).
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key; a ``Key/provider(_:)`` must be resolved before.
  ///   - configuration: The settings.
  /// - Throws: ``SQLError``, as ``Connection/open(_:key:configuration:)`` does.
  public convenience init(path: String, key: Key, configuration: Configuration = Configuration()) throws {
    try self.init(
      adopting: Connection.open(path, key: key, configuration: configuration.connection),
      configuration: configuration)
  }

  /// Opens a pool on a file whose key was derived before.
  /// - Parameters:
  ///   - path: The file.
  ///   - unlocked: The derived key.
  ///   - configuration: The settings.
  /// - Throws: ``SQLError``, as ``Connection/open(_:key:configuration:)`` does.
  public convenience init(path: String, unlocked: UnlockedKey, configuration: Configuration = Configuration())
    throws
  {
    try self.init(file: DatabasePath(path), unlocked: unlocked, configuration: configuration)
  }

  /// Opens a pool with a derived key, on a file whose links were resolved before.
  package convenience init(
    file: DatabasePath, unlocked: UnlockedKey, configuration: Configuration = Configuration()
  ) throws {
    try self.init(
      adopting: Connection.open(file, unlocked: unlocked, configuration: configuration.connection),
      configuration: configuration)
  }

  private init(adopting connection: Connection, configuration: Configuration) throws {
    let file = connection.file
    try configuration.prepare(connection)
    if let mode = configuration.journalMode { try connection.setJournalMode(mode) }
    if configuration.isFullSync { try connection.setFullSync(true) }
    self.file = file
    self.configuration = configuration
    writer = Writer(connection)
    let box = KeyBox(connection.unlocked)
    self.key = box
    writerQueue = SerialQueue(label: "objectvault.writer")
    readerQueue = DispatchQueue(label: "objectvault.readers", attributes: .concurrent)
    group = WriteGroup(
      writer: writer, queue: writerQueue, limits: configuration.groupLimits,
      didCommit: configuration.onGroupCommit)
    readers = ReaderSet(maximum: configuration.readers, path: file.given, after: group) {
      var settings = configuration.connection
      settings.access = .readOnly
      settings.cacheBytes = configuration.readerCacheBytes
      let connection = try Connection.open(file, unlocked: box.unlocked, configuration: settings)
      try configuration.prepare(connection)
      try connection.findLog()
      return connection
    }
    try connection.findLog()
    // From here on, commits of others are noticed.
    _ = connection.othersHaveCommitted()
    reportNilColumns(connection)
  }

  /// Whether the pool was closed.
  package var isClosed: Bool { readers.isClosed }

  /// The settings that the file is encrypted with.
  public var profile: CipherProfile { key.unlocked.profile }

  /// Closes all connections; waits for the running write. A connection with a running read is closed when
  /// that read ends. Later calls throw ``SQLError/closed(file:)``.
  public func close() {
    readers.close()
    onWriterQueue {
      try? group.end()
      if !writer.isClosed { refreshStatistics(isClosing: true) }
      writer.isClosed = true
      closeWriter()
      configuration.folder?.remove()
    }
  }

  deinit {
    guard let folder = configuration.folder else { return }
    // Connections close by themselves, but the engine may use the file when it closes the last one.
    readers.close()
    closeWriter()
    folder.remove()
  }

  /// Closes the writing connection. Called on the writer's queue, or by the deinitializer.
  func closeWriter() {
    writer.connection?.close()
    writer.connection = nil
  }

  // MARK: Blocking calls

  /// Runs `body` with a reader, on the calling thread.
  /// - Parameter body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError/closed(file:)``; ``SQLError`` when a connection cannot be opened; what `body`
  ///   throws.
  public func withReader<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    let lease = try readers.acquireBlocking()
    defer { readers.release(lease) }
    return try body(lease.connection)
  }

  /// Runs `body` with a reader, on the calling thread, if one is free.
  /// - Returns: nil when none is free, or when one would have to be opened and cannot be.
  package func withFreeReader<Result>(_ body: (Connection) throws -> Result) rethrows -> Result? {
    guard let lease = try? readers.acquireForRunningRead() else { return nil }
    defer { readers.release(lease) }
    return try body(lease.connection)
  }

  /// Runs `body` with the writer, after the writes that were called before. Blocks the thread.
  /// - Parameter body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError/nestedWrite(file:)`` inside another write of this pool, which would wait for
  ///   itself; ``SQLError/closed(file:)``; what `body` throws.
  public func withWriter<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard !isInsideWrite else { throw SQLError.nestedWrite(file: path) }
    return try writerQueue.sync {
      let result = try body(try openWriter())
      refreshStatistics(isClosing: false)
      return result
    }
  }

  /// Runs `body` with a reader, in one snapshot of the file, on the calling thread.
  /// - Throws: As ``withReader(_:)``.
  package func readAndWait<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try withReader { connection in try connection.transaction(.deferred) { try body(connection) } }
  }

  /// Runs `body` with the writer in one transaction, on the calling thread, and calls `committed` after it.
  /// - Parameters:
  ///   - body: Uses the connection during the call only.
  ///   - committed: Called after the commit, before the next write begins.
  /// - Throws: As ``withWriter(_:)``; ``SQLError/busy(file:waitedSeconds:holders:)`` when another process
  ///   keeps the lock longer than the busy timeout.
  package func writeAndWait<Result>(
    _ body: (Connection) throws -> Result, committed: () -> Void
  ) throws -> Result {
    try withWriter { connection in
      let result = try connection.transaction(.immediate) { try body(connection) }
      committed()
      return result
    }
  }

  /// Whether the caller runs inside a write of this pool.
  public var isInsideWrite: Bool { writerQueue.isInside }

  // MARK: Asynchronous calls

  /// Runs `body` on a reader, in one snapshot of the file.
  ///
  /// Cancelling the task interrupts the running statement and throws `CancellationError`.
  /// - Parameter body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: `CancellationError`; ``SQLError/closed(file:)``; what `body` throws.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    while true {
      // The reader is leased when the work starts, not when it is enqueued. So the number of readers in
      // use, each with its own cache, does not exceed the number of running reads.
      let result = try await CancellableRun.perform(by: { [readerQueue] in readerQueue.async(execute: $0) }) {
        [readers] running -> Result? in
        guard let lease = try readers.acquireIfFree() else { return nil }
        defer { readers.release(lease) }
        return try running.run(lease.connection) {
          try lease.connection.transaction(.deferred) { try body(lease.connection) }
        }
      }
      if let result { return result }
      await readers.waitForFree()
    }
  }

  /// Runs `body` on the writer in one transaction: committed when it returns, rolled back when it throws
  /// or the task is cancelled.
  /// - Parameter body: Uses the connection during the call only.
  /// - Returns: What `body` returns.
  /// - Throws: `CancellationError` when cancelled before the commit;
  ///   ``SQLError/busy(file:waitedSeconds:holders:)`` when another process keeps the lock longer than the
  ///   busy timeout; what `body` throws.
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try await write(body, committed: {})
  }

  /// Runs `body` on the writer in one transaction, and calls `committed` after it.
  /// - Parameters:
  ///   - body: Uses the connection during the call only.
  ///   - committed: Called after the commit, before the next write begins.
  package func write<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result, committed: @escaping @Sendable () -> Void
  ) async throws -> Result {
    try Task.checkCancellation()
    return try await CancellableRun.perform(by: writerQueue.async) { [self] running in
      let connection = try openWriter()
      let result = try running.run(connection) {
        let result = try connection.transaction(.immediate) {
          let result = try body(connection)
          try running.check()
          return result
        }
        committed()
        return result
      }
      refreshStatistics(isClosing: false)
      return result
    }
  }

  /// Returns the writer, outside of a transaction: writes that share one are committed before.
  func openWriter() throws -> Connection {
    // Another write is not at fault if the commit fails: the next one of a group reports it.
    try? group.end()
    return try openWriterInGroup()
  }

  /// Returns the writer, which may be in the transaction that writes share.
  func openWriterInGroup() throws -> Connection {
    if let connection = writer.connection { return connection }
    guard !writer.isClosed else { throw SQLError.closed(file: path) }
    let connection = try reopened(key.unlocked)
    writer.connection = connection
    return connection
  }

  /// Runs `body` on the writer's queue, or at once when the caller is on it already.
  func onWriterQueue<Result>(_ body: () throws -> Result) rethrows -> Result {
    isInsideWrite ? try body() : try writerQueue.sync { try body() }
  }
}
