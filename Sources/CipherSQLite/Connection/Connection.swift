// One open, keyed database handle. What it owns; the verbs are in the extensions:
//   Connection+Statements  prepare, execute, query        Connection+Transactions  transactions, savepoints
//   Connection+Rows        SQL literals, rows, cursors    Connection+Codable       rows as the caller's own types
//   Connection+Functions   SQL functions, collations      Connection+Hooks         commits, changes, traces
//   Connection+Busy        waiting for others' locks      Connection+Upkeep        pragmas, checkpoints, checks
// How one comes to be is Opening/; a new key is Rekey/; other files are Copies/.

private import CSQLCipher
private import Foundation

/// An open connection to one encrypted file.
///
/// Not `Sendable`, and opened without SQLite's own locks: one task uses it at a time. ``ConnectionPool``
/// hands connections out under that rule. Closing happens on release.
@safe public final class Connection {
  /// What a connection may do with its file.
  public enum Access: Sendable, Hashable {
    /// Read and write.
    case readWrite
    /// Read only, beside other processes.
    case readOnly
    /// Read only, and promised that no one changes the file meanwhile: takes no lock, creates no file.
    case immutable
  }

  /// Settings that every connection of a pool shares.
  public struct Configuration: Sendable {
    /// How long a statement waits for another connection's lock, in seconds. Default 5.
    public var busyTimeout: Double = 5
    /// The page cache, in bytes. Every miss is decrypted and authenticated again. Default 32 MiB.
    public var cacheBytes: Int = 32 << 20
    /// What the connection may do.
    public var access: Access = .readWrite
    /// Whether foreign keys are enforced. Default `true`.
    public var enforcesForeignKeys = true
    /// What a `Date` becomes in a parameter, and in a column. Default: seconds since 1970.
    public var dates: DateStrategy = .secondsSince1970
    /// The settings of the file, where they are not among those that are found by themselves: the two versions' own
    /// with any page size. They are tried first; a new file gets them. Default nil.
    public var profile: CipherProfile?
    /// How many prepared statements are kept. Default 256; 0 keeps none.
    public var statementCacheSize = 256

    /// The defaults.
    public init() {}
  }

  // Open from init to close(); closed exactly once. SQLite is told not to lock (NOMUTEX): whoever holds
  // this object is its only user, which the missing Sendable conformance makes the compiler check.
  var handle: OpaquePointer?
  /// The file's path, as it was given.
  public var path: String { file.given }
  /// The file, whose links were followed when it was opened.
  package let file: DatabasePath
  /// The derived key and settings the file was opened with; opens further connections without derivation.
  public internal(set) var unlocked: UnlockedKey
  /// What it was opened with.
  public let configuration: Configuration
  // Unchecked exclusivity: the cache calls nothing of the caller's, and is asked for every statement that runs.
  @exclusivity(unchecked) var cache: StatementCache
  // Every live statement and stream, so that close() can end what callers still hold.
  private var live: [ObjectIdentifier: Live] = [:]
  /// The way back of its statements.
  let link = ConnectionLink()
  private var streams: [ObjectIdentifier: WeakStream] = [:]
  var transactionDepth = 0
  /// Whether a closure has begun a transaction that nobody has ended yet.
  var isTransactionOwed = false
  /// See ``firesTriggers(table:)``. Nil before it was asked, and behind all that undoes something.
  var triggered: TriggeredTables?
  /// Whether the open transaction was begun for writing.
  var isForWriting = false
  /// Why the engine ended that transaction by itself: see ``noteLostTransaction(_:)``. Nil while it has not.
  var transactionLoss: SQLError?
  /// The state of the file that ``reading(checking:_:)`` has met; nil before.
  var checkedState: Int64?
  /// Whether the file is known to have a log: see ``findLog()``.
  var keepsLog = false
  /// What ``sharedState`` was before the open transaction began, if it is one that may begin with a read.
  package internal(set) var stateBeforeTransaction: SharedState?
  /// Whether the key has been seen to fit: from then on the engine's "not a database" means something else.
  var isVerified = false
  var hooks = Hooks()
  /// What stands between the engine and the files while somebody asks for that; nil else.
  var fileWatch: FileCallWatch?
  var waiting: Waiting
  var authorizer: ((AuthorizerAction, String?) -> AuthorizerAnswer)?
  /// Where rows go that are taken in inside the engine; nil before the first of them.
  var intake: RowIntake?
  /// Where rows come from that are given to the engine from memory; nil before the first of them.
  var feeder: RowFeeder?
  /// The same of new values of rows that are there already.
  var changer: RowChanger?
  /// What `vault_pending(id)` looks at: see ``withPendingRows(_:_:)``.
  let pendingRows = PendingRows()
  /// Registers again, on another connection, what was registered here.
  var registrations: [(Connection) throws -> Void] = []

  // Safe: a statement takes itself out in its deinit. Weak, it would count its references the slow way: see ConnectionLink.
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
  }

  deinit {
    link.end()
    close()
  }

  /// Finalizes all statements, ends all streams and closes the file. Calling it again does nothing; other calls throw
  /// ``SQLError/closed(file:)`` from then on, or do nothing where they cannot throw.
  public func close() {
    guard let open = unsafe handle else { return }
    // Before the cache lets go of its own, which from a deinit find no way back to be taken out of these.
    for entry in live.values { unsafe entry.statement.finalize() }
    live.removeAll()
    unsafe cache.removeAll()
    for entry in streams.values { entry.stream?.end() }
    streams.removeAll()
    waiting.interruptor.detach()
    // Version 4 forgets an interruption when a statement begins, and with one it would leave the log beside the file.
    if waiting.interruptor.count > 0 { unsafe sqlite3_exec(open, "SELECT 1", nil, nil, nil) }
    unsafe fileWatch?.end(open)
    fileWatch = nil
    unsafe handle = nil
    unsafe sqlite3_close_v2(open)
  }

  /// The engine's handle, for a call of the engine; nobody keeps it beyond one that may close it.
  /// - Throws: ``SQLError/closed(file:)``; what the engine ended the open transaction for.
  func opened() throws(SQLError) -> OpaquePointer {
    guard let handle = unsafe handle else { throw .closed(file: path) }
    if let transactionLoss { throw transactionLoss }
    return unsafe handle
  }

  /// - Throws: ``SQLError/closed(file:)``; what the engine ended the open transaction for.
  func checkOpen() throws(SQLError) { _ = try unsafe opened() }

  /// What the cache of prepared statements has done since the connection was opened.
  public var statementCacheStatistics: StatementCacheStatistics { unsafe cache.statistics }

  /// Finalizes the statements that are kept for reuse and not in use.
  public func clearStatementCache() { unsafe cache.removeIdle() }

  /// Whether the connection is still open.
  public var isOpen: Bool { unsafe handle != nil }

  /// What other threads may use to stop the statement that is running here, or waiting for a lock. Does nothing once the
  /// connection is closed.
  public var interruptor: Interruptor { waiting.interruptor }

  /// Whether another file has been put in the place of the one that is open here.
  var hasMoved: Bool { unsafe CipherSQLite.hasMoved(handle) }

  /// Whether the file has surely moved: where the system does not say what lies at the path, such as of a folder that may not be
  /// searched any more, nobody knows.
  var isGone: Bool { hasMoved && (FileStatus(file.path) != nil || errno == ENOENT || errno == ENOTDIR) }

  /// What "not a database" and "malformed" mean on a file that opened well before; nil when the pages tell
  /// nothing. Reads the whole file, but only after such an error.
  private func diagnosis(of code: Int32) -> SQLError? {
    // SQLITE_READONLY_DBMOVED is a macro that Swift does not see.
    guard code & 0xff == SQLITE_NOTADB || code & 0xff == SQLITE_CORRUPT || code == 1032 else { return nil }
    if hasMoved { return .fileReplaced(file: path) }
    guard code != 1032 else { return nil }
    let code = code & 0xff
    let damaged = auditPages()
    if damaged.isEmpty { return code == SQLITE_NOTADB ? .keyChanged(file: path) : nil }
    // Under another key no page authenticates; damage leaves most of them alone.
    return damaged.first == 1 && !verifiesSample()
      ? .keyChanged(file: path) : .corrupted(file: path, pages: damaged)
  }

  func didPrepare(_ statement: Statement) {
    live[ObjectIdentifier(statement)] = Live(statement: statement)
  }

  /// Forgets a statement, which may have been finalized before.
  func forget(_ statement: Statement) {
    live[ObjectIdentifier(statement)] = nil
  }

  func didOpen(_ stream: BlobStream) {
    streams[ObjectIdentifier(stream)] = WeakStream(stream: stream)
  }

  func willEnd(_ stream: BlobStream) {
    streams[ObjectIdentifier(stream)] = nil
  }

  /// What a code of the engine means that a call has just given.
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
    // SQLITE_READONLY_DIRECTORY, a macro that Swift does not see: what newer engines say of a journal that cannot be made.
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

  /// What the system said when the engine could not open the file, or one beside it; nil when it is not known.
  private func cannotOpenError() -> SQLError? {
    switch unsafe sqlite3_system_errno(handle) {
    case 0: nil
    // Its index, in a folder where this user makes no files.
    case ENOENT where configuration.access == .readOnly: .logUnreadable(file: path)
    // The file is there, and the files beside it cannot be made.
    case ENOENT where file.byteCount != nil: .folderNotWritable(folder: file.folder)
    case EACCES, EPERM, EROFS:
      configuration.access == .readOnly ? .logUnreadable(file: path) : .permissionDenied(file: path)
    case let code: .failed("open", on: path, code: code)
    }
  }
}
