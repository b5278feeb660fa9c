// One open database handle with its key, and the state that belongs to it. The operations are in extensions:
//   Connection+Statements  prepare, execute, query        Connection+Transactions  transactions, savepoints
//   Connection+Rows        SQL literals, rows, cursors    Connection+Codable       rows as Codable values
//   Connection+Functions   SQL functions, collations      Connection+Hooks         commits, changes, traces
//   Connection+Aggregates  aggregates, window functions   Connection+Collations    unknown collations
//   Connection+BulkRows    many rows with one statement   Connection+Triggers      tables with triggers
//   Connection+Authorizer  what statements may do         Connection+Audit         the HMACs of the pages
//   Connection+State       the state of current work      Connection+SharedState   the committed state
//   Connection+Busy        waiting for locks              Connection+Upkeep        pragmas, maintenance
//   Connection+FileCalls   the engine's writes and syncs
// Streams of one value are in BlobStream. Opening is in Opening/, changes of the key are in Rekey/,
// copies to other files are in Copies/, descriptions of tables are in Introspection/.

private import CSQLCipher
private import Foundation

/// An open connection to one encrypted file.
///
/// It is not `Sendable`, and it is opened without SQLite's own mutexes: only one task may use it
/// at a time. ``ConnectionPool`` enforces this for the connections it lends. A connection is
/// closed when it is released.
@safe public final class Connection {
  /// What a connection may do with its file.
  public enum Access: Sendable, Hashable {
    /// Read and write.
    case readWrite
    /// Read only, while other processes may write.
    case readOnly
    /// Read only, without locks and without creating files. The caller guarantees that no process changes
    /// the file meanwhile.
    case immutable
  }

  /// Settings that every connection of a pool shares.
  public struct Configuration: Sendable {
    /// How long a statement waits for a lock of another connection, in seconds. Default 5.
    public var busyTimeout: Double = 5
    /// The size of the page cache in bytes. A page that is not in the cache must be decrypted and
    /// authenticated. Default 32 MiB.
    public var cacheBytes: Int = 32 << 20
    /// What the connection may do with its file. Default ``Connection/Access/readWrite``.
    public var access: Access = .readWrite
    /// Whether foreign keys are enforced. Default `true`.
    public var enforcesForeignKeys = true
    /// How a `Date` is stored, in parameters and in columns. Default: seconds since 1970.
    public var dates: DateStrategy = .secondsSince1970
    /// The cipher settings of the file. They are only needed if they cannot be detected (see
    /// ``CipherProfile``). They are tried first, and a new file gets them. Default nil.
    public var profile: CipherProfile?
    /// The largest number of prepared statements in the cache. Default 256; 0 turns the cache off.
    public var statementCacheSize = 256

    /// Creates the default settings.
    public init() {}
  }

  // Open from init to close(); closed exactly once. SQLite uses no mutexes (NOMUTEX): the owner of this
  // object is its only user. The compiler checks this, as the class is not Sendable.
  var handle: OpaquePointer?
  /// The path of the file, as the caller passed it.
  public var path: String { file.given }
  /// The file; symbolic links were resolved when it was opened.
  package let file: DatabasePath
  /// The derived key and the cipher settings of the file. With them, further connections are opened without
  /// another key derivation.
  public internal(set) var unlocked: UnlockedKey
  /// The settings with which the connection was opened.
  public let configuration: Configuration
  // Unchecked exclusivity: the cache never calls code of the caller, and it is accessed for
  // every statement that runs.
  @exclusivity(unchecked) var cache: StatementCache
  // Every live statement and stream, so that close() can end those that callers still retain.
  private var live: [ObjectIdentifier: Live] = [:]
  /// The back reference that statements have to this connection.
  let link = ConnectionLink()
  private var streams: [ObjectIdentifier: WeakStream] = [:]
  var transactionDepth = 0
  /// Whether a method with a closure has begun a transaction that has not ended yet.
  var isClosureTransactionOpen = false
  /// The cached result for ``firesTriggers(table:)``. Nil before its first call, and after every rollback.
  var triggered: TriggeredTables?
  /// Whether the open transaction was begun for writing.
  var isForWriting = false
  /// The error for which the engine rolled back the open transaction by itself: see
  /// ``noteLostTransaction(_:)``. Nil if it did not.
  var lostTransactionError: SQLError?
  /// The `PRAGMA data_version` at the last check by ``reading(checking:_:)``; nil before the first.
  var checkedState: Int64?
  /// The `PRAGMA data_version` at the last call of ``othersHaveCommitted()``; nil before the first.
  var versionAtLastWatch: Int64?
  /// Whether the file is known to have a log: see ``findLog()``.
  var keepsLog = false
  /// The value of ``sharedState`` before the open transaction began; nil if that transaction is not a
  /// deferred one.
  package internal(set) var stateBeforeTransaction: SharedState?
  /// Whether the key has opened the file. From then on the engine's error "not a database" has other causes
  /// than a wrong key.
  var isVerified = false
  var hooks = Hooks()
  /// The interceptor of the engine's file calls while a callback is installed; otherwise nil.
  var fileCallInterceptor: FileCallInterceptor?
  var waiting: Waiting
  var authorizer: ((AuthorizerAction, String?) -> AuthorizerAnswer)?
  /// The tables and columns that were read so far; nil if reads are not tracked.
  var readRegion: ReadRegion?
  /// Passes rows from inside the engine to a ``RowReceiver``; nil until it is first used.
  var intake: RowIntake?
  /// Supplies the engine with rows from memory; nil until it is first used.
  var feeder: RowFeeder?
  /// Supplies the engine with new values of existing rows from memory; nil until it is first used.
  var changer: RowChanger?
  /// Whether the table-valued function for lists is registered. The older engine does not accept a module a
  /// second time.
  var hasValueLists = false
  /// The ids for which `vault_pending(id)` is 1: see ``withPendingRows(_:_:)``.
  let pendingRows = PendingRows()
  /// Closures that register on another connection what was registered on this one.
  var registrations: [(Connection) throws -> Void] = []

  // Safe: a statement removes itself in its deinit. A weak reference would make its reference counting
  // slower: see ConnectionLink.
  @safe private struct Live { unowned(unsafe) let statement: Statement }
  private struct WeakStream { weak var stream: BlobStream? }

  init(handle: OpaquePointer?, file: DatabasePath, unlocked: UnlockedKey, configuration: Configuration) {
    unsafe self.handle = unsafe handle
    self.file = file
    self.unlocked = unlocked
    self.configuration = configuration
    unsafe cache = StatementCache(capacity: configuration.statementCacheSize)
    waiting = unsafe Waiting(interruptor: Interruptor(handle))
    link.lead(to: self)
    if unsafe handle != nil { OpenFiles.add(file.path) }
  }

  deinit {
    link.end()
    close()
  }

  /// Finalizes all statements, ends all streams and closes the file. Further calls of this method do
  /// nothing. After it, other methods throw ``SQLError/closed(file:)``, or do nothing if they cannot throw.
  public func close() {
    guard let open = unsafe handle else { return }
    // Done before the cache is emptied. During the connection's deinit its link has already ended, so
    // statements that the cache releases can no longer remove themselves from `live`.
    for entry in live.values { unsafe entry.statement.finalize() }
    live.removeAll()
    unsafe cache.removeAll()
    for entry in streams.values { entry.stream?.end() }
    streams.removeAll()
    waiting.interruptor.detach()
    // While an interrupt is pending, closing does not remove the log. In SQLCipher 4, a statement that
    // begins clears the interrupt, so one is run.
    if waiting.interruptor.count > 0 { unsafe sqlite3_exec(open, "SELECT 1", nil, nil, nil) }
    unsafe fileCallInterceptor?.end(open)
    fileCallInterceptor = nil
    unsafe handle = nil
    unsafe sqlite3_close_v2(open)
    OpenFiles.remove(file.path)
  }

  /// Returns the engine's handle. Callers must not keep it across a call that may close the connection.
  /// - Throws: ``SQLError/closed(file:)``; the error for which the engine rolled back the
  ///   open transaction by itself.
  func opened() throws(SQLError) -> OpaquePointer {
    guard let handle = unsafe handle else { throw .closed(file: path) }
    if let lostTransactionError { throw lostTransactionError }
    return unsafe handle
  }

  /// Checks that the connection can be used.
  /// - Throws: ``SQLError/closed(file:)``; the error for which the engine rolled back the
  ///   open transaction by itself.
  func checkOpen() throws(SQLError) { _ = try unsafe opened() }

  /// The counters of the statement cache since the connection was opened.
  public var statementCacheStatistics: StatementCacheStatistics { unsafe cache.statistics }

  /// Finalizes the cached statements that are not in use.
  public func clearStatementCache() { unsafe cache.removeIdle() }

  /// Whether the connection is still open.
  public var isOpen: Bool { unsafe handle != nil }

  /// A handle with which other threads can stop the statement that is running or waiting for a lock here.
  /// It does nothing once the connection is closed.
  public var interruptor: Interruptor { waiting.interruptor }

  /// Whether the file at the path is no longer the file that is open here.
  var hasMoved: Bool { unsafe CipherSQLite.hasMoved(handle) }

  /// Whether the file has certainly moved. If the system cannot report what is at the path, such as when a
  /// folder may no longer be searched, this is false.
  var isGone: Bool { hasMoved && (FileStatus(file.path) != nil || errno == ENOENT || errno == ENOTDIR) }

  /// Returns the cause of the error "not a database", "malformed" or "database moved", on a connection
  /// that has read the file before. nil for other errors, and if the pages show no cause. It may read the
  /// whole file.
  private func diagnosis(of code: Int32) -> SQLError? {
    // SQLITE_READONLY_DBMOVED, a macro that Swift does not import.
    guard code & 0xff == SQLITE_NOTADB || code & 0xff == SQLITE_CORRUPT || code == 1032 else { return nil }
    if hasMoved { return .fileReplaced(file: path) }
    guard code != 1032 else { return nil }
    let code = code & 0xff
    let damaged = auditPages()
    if damaged.isEmpty { return code == SQLITE_NOTADB ? .keyChanged(file: path) : nil }
    // Under another key no page authenticates; with mere damage most pages still do.
    return damaged.first == 1 && !verifiesSample()
      ? .keyChanged(file: path) : .corrupted(file: path, pages: damaged)
  }

  func didPrepare(_ statement: Statement) {
    live[ObjectIdentifier(statement)] = Live(statement: statement)
  }

  /// Removes a statement, which may already be finalized, from `live`.
  func forget(_ statement: Statement) {
    live[ObjectIdentifier(statement)] = nil
  }

  func didOpen(_ stream: BlobStream) {
    streams[ObjectIdentifier(stream)] = WeakStream(stream: stream)
  }

  func willEnd(_ stream: BlobStream) {
    streams[ObjectIdentifier(stream)] = nil
  }

  /// Returns the error for a result code of the engine. Must be called directly after the call that failed.
  func error(_ code: Int32, sql: String) -> SQLError {
    let error = meaning(of: code, sql: sql)
    noteLostTransaction(error)
    return error
  }

  private func meaning(of code: Int32, sql: String) -> SQLError {
    let error = unsafe SQLError.from(code: code, handle: handle, sql: sql, file: path)
    if case .schemaUnreadable = error, !hasMoved { return error }
    if isVerified, let diagnosed = diagnosis(of: extendedCode(code)) { return diagnosed }
    if code & 0xff == SQLITE_BUSY { return waitingError() }
    if code & 0xff == SQLITE_CANTOPEN, let error = cannotOpenError() { return error }
    // SQLITE_READONLY_DIRECTORY, a macro that Swift does not import: newer engines report it for a
    // journal that cannot be created.
    if extendedCode(code) == 1544 { return .folderNotWritable(folder: file.folder) }
    return error
  }
}

extension Connection {
  private func extendedCode(_ code: Int32) -> Int32 {
    guard let handle = unsafe handle, unsafe sqlite3_errcode(handle) & 0xff == code & 0xff else {
      return code
    }
    return unsafe sqlite3_extended_errcode(handle)
  }

  /// Returns the error for the system's reason why the engine could not open the file, its log or its
  /// journal; nil if the reason is unknown.
  private func cannotOpenError() -> SQLError? {
    switch unsafe sqlite3_system_errno(handle) {
    case 0: nil
    // The shared memory of the log is missing, in a folder in which this user may not create files.
    case ENOENT where configuration.access == .readOnly: .logUnreadable(file: path)
    // Another file has the name now, and the journal that the engine saw next to it was deleted
    // meanwhile.
    case ENOENT where hasMoved: .fileReplaced(file: path)
    // The file exists, but the files next to it cannot be created.
    case ENOENT where file.byteCount != nil: .folderNotWritable(folder: file.folder)
    case EACCES, EPERM, EROFS:
      configuration.access == .readOnly ? .logUnreadable(file: path) : .permissionDenied(file: path)
    case let code: .failed("open", on: path, code: code)
    }
  }
}
