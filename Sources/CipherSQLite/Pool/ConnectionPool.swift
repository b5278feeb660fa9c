// One writer and N readers on one file in WAL mode.

internal import Dispatch
private import Foundation

/// A pool of connections to one encrypted file: one that writes, several that read.
///
/// The key is derived once; every further connection opens with the derived key in well under a
/// millisecond. Writes run one after another in the order of their calls; reads run beside them and each
/// other and see the last commit before they began. Usable from any task or thread.
public final class ConnectionPool: Sendable {
  /// Settings of a pool.
  public struct Configuration: Sendable {
    /// Settings of the writing connection.
    public var connection = Connection.Configuration()
    /// How many reads may run at once; a layer above may let one read use two. Default 4.
    public var readers = 4
    /// The page cache of each reader, in bytes. Default 16 MiB.
    public var readerCacheBytes = 16 << 20
    /// Whether each commit waits for the disk. Default `false`: a power loss may take the last commits,
    /// whole; a crash of the process takes none.
    public var isFullSync = false
    /// How the file keeps its journal. Default ``Connection/JournalMode/wal``, which lets reads run beside a write; nil
    /// leaves the file as it is.
    public var journalMode: Connection.JournalMode? = .wal
    /// Whether statistics of the tables are kept in the file, which the engine chooses indexes by: looked at after writes of
    /// many rows, and when the pool is closed. Default `false`.
    public var keepsStatistics = false
    /// Called when the pool is opened, and when it has looked at the statistics that it keeps.
    package var onNilColumns: @Sendable (TableStatistics.NilColumns) -> Void = { _ in }
    /// Called with every new connection, for SQL functions and the like.
    public var prepare: @Sendable (Connection) throws -> Void = { _ in }

    /// The defaults.
    public init() {}
  }

  // Safe to share: touched on the writer's queue only.
  final class Writer: @unchecked Sendable {
    /// nil when the pool is closed, and when it could not be opened again after a change of the key: then the next call
    /// tries.
    var connection: Connection?
    var isClosed = false
    /// How many rows the connection had changed when its tables' statistics were looked at.
    var changesSeen = 0
    init(_ connection: Connection) { self.connection = connection }
  }

  /// The file's path, as it was given.
  public var path: String { file.given }
  /// The file, whose links were followed when the pool was opened: every connection of it opens the same one.
  let file: DatabasePath
  let configuration: Configuration
  let writer: Writer
  let writerQueue: SerialQueue
  private let readerQueue: DispatchQueue
  let readers: ReaderSet
  let key: KeyBox

  // The derived key of the moment: a rekey replaces it.
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
  /// - Throws: ``SQLError``, as ``Connection/open(_:key:configuration:)`` does.
  public convenience init(path: String, key: Key, configuration: Configuration = Configuration()) throws {
    try self.init(
      adopting: Connection.open(path, key: key, configuration: configuration.connection),
      configuration: configuration)
  }

  /// Opens a pool on a file whose key was derived before.
  public convenience init(path: String, unlocked: UnlockedKey, configuration: Configuration = Configuration())
    throws
  {
    try self.init(file: DatabasePath(path), unlocked: unlocked, configuration: configuration)
  }

  /// The same on a file whose links were followed before.
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
    readers = ReaderSet(maximum: configuration.readers, path: file.given) {
      var settings = configuration.connection
      settings.access = .readOnly
      settings.cacheBytes = configuration.readerCacheBytes
      let connection = try Connection.open(file, unlocked: box.unlocked, configuration: settings)
      try configuration.prepare(connection)
      try connection.findLog()
      return connection
    }
    tellNilColumns(connection)
  }

  /// The settings the file is encrypted with.
  public var profile: CipherProfile { key.unlocked.profile }

  /// Closes all connections, waiting for the write that is running. Later calls throw
  /// ``SQLError/closed(file:)``; a read that is running ends first.
  public func close() {
    readers.close()
    onWriterQueue {
      if !writer.isClosed { refreshStatistics(isClosing: true) }
      writer.isClosed = true
      writer.connection?.close()
      writer.connection = nil
    }
  }

  // MARK: Blocking calls

  /// Lends a reading connection to `body`, on the calling thread.
  public func withReader<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    let lease = try readers.acquireBlocking()
    defer { readers.release(lease) }
    return try body(lease.connection)
  }

  /// Lends a reading connection to `body`, on the calling thread, if one is free.
  /// - Returns: nil when none is, or when one would have to be opened and cannot be.
  package func withFreeReader<Result>(_ body: (Connection) throws -> Result) rethrows -> Result? {
    guard let lease = try? readers.acquireIfFree() else { return nil }
    defer { readers.release(lease) }
    return try body(lease.connection)
  }

  /// Lends the writing connection to `body`, after the writes that were asked for before.
  /// - Throws: ``SQLError/nestedWrite(file:)`` from inside another write of this pool, instead of waiting
  ///   for itself.
  public func withWriter<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard !isInsideWrite else { throw SQLError.nestedWrite(file: path) }
    return try writerQueue.sync {
      let result = try body(try openWriter())
      refreshStatistics(isClosing: false)
      return result
    }
  }

  /// Whether the caller runs inside a write of this pool.
  public var isInsideWrite: Bool { writerQueue.isInside }

  // MARK: Asynchronous calls

  /// Runs `body` on a reading connection, in one snapshot of the file.
  ///
  /// Cancelling the task interrupts the running statement and throws `CancellationError`.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    while true {
      // Taken when it is to run, not before: then no more connections are in use, each with a cache of its own, than
      // really run at once.
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

  /// Runs `body` on the writing connection in one transaction: committed when it returns, rolled back when
  /// it throws or the task is cancelled.
  /// - Throws: `CancellationError` when cancelled before the commit; ``SQLError/busy(file:waitedSeconds:holders:)``
  ///   when another process keeps the lock longer than the busy timeout; what `body` throws.
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try await write(body, committed: {})
  }

  /// The same.
  /// - Parameter committed: Called after the commit, before the next write begins.
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

  func openWriter() throws -> Connection {
    if let connection = writer.connection { return connection }
    guard !writer.isClosed else { throw SQLError.closed(file: path) }
    let connection = try reopened(key.unlocked)
    writer.connection = connection
    return connection
  }

  /// Runs `body` on the writer's queue, or at once when the caller is there already.
  func onWriterQueue<Result>(_ body: () throws -> Result) rethrows -> Result {
    isInsideWrite ? try body() : try writerQueue.sync { try body() }
  }
}
