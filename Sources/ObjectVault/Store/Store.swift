// The store: contexts, reading and writing, rekeying, verifying, closing.

public import CipherSQLite
public import Foundation

/// An encrypted object-graph store: one file, one schema, any number of contexts.
///
/// ```swift
/// let store = try await Store.open(
///   at: url, key: .passphrase("correct horse"), schema: schema,
///   migrations: .directory(migrationsURL))
/// try await store.write { context in
///   _ = context.insert(User.self) { $0.name = "Binger" }
/// }
/// ```
///
/// A store owns one writing connection and several reading ones, and may be used from any task. It is
/// closed by ``close()`` or when it is released.
public final class Store: Sendable {
  /// Settings of an open store.
  public struct Configuration: Sendable, Hashable {
    /// The size of the writing connection's page cache, in bytes. Each reader has half of it. Default 32
    /// MiB.
    public var cacheSize = 32 << 20
    /// How many reads can run at once. A fetch of a whole large table uses two readers if it can. Default
    /// 4.
    public var readers = 4
    /// How long to wait for another process's lock, in seconds. Default 5.
    public var busyTimeout: Double = 5
    /// How long a `MATCHES` of a predicate may take for one text, in seconds. A fetch that exceeds it throws
    /// ``StoreError/matchTooSlow(seconds:)``. Default 0.5.
    public var matchLimit: Double = 0.5
    /// Whether each commit waits for the disk. By default a power loss may undo the last commits, each of
    /// them whole; a crash of the process undoes none.
    public var isFullSync = false
    /// The cipher settings of the file, if they are not the engine's own. A new file gets them, and for
    /// an existing file they are tried first. Default nil.
    public var profile: CipherProfile?
    /// Whether opening makes the encrypted copy that a pending step requests:
    /// `notes.store.v6-TIME.backup` in the folder of the store. The last two copies are kept; an older
    /// copy that a process has open is removed later. Default `true`.
    public var makesBackups = true
    /// The number of openings, with no step to run, after which such a copy is deleted: by then it is
    /// clear whether the steps did what was intended. Default nil: the last two copies stay until newer
    /// ones replace them.
    ///
    /// Only files that the store has recorded as its own copies are deleted. If a widget or another part
    /// of an app opens the store separately, these openings count too, so a small number is soon reached.
    /// After a run that was stopped between two steps (``commitsEachStep``), openings are not counted
    /// until a run is completed: the copy from before the stopped run stays.
    public var backupOpenings: Int?
    /// Whether opening commits each pending step on its own, for stores so large that a failure in the
    /// last step should not undo the work of all steps.
    ///
    /// By default all steps are one transaction: the store gets all of them or none. With this setting a
    /// failure, a cancellation or a kill leaves the store at the version after the last complete step.
    /// Other programs may open the store meanwhile (``StoreError/stopped(atVersion:by:)``), and the next
    /// opening continues from there. Each such opening makes a backup before its first step, if one of
    /// its steps requests it. The backup of the first of these openings is kept along with the newest
    /// one.
    public var commitsEachStep = false
    /// Whether the store keeps statistics of its tables, by which the engine chooses between indexes. They
    /// are renewed after steps, after a write once 10,000 rows have changed, and when the store is closed
    /// after 1,000 changed rows: in some milliseconds, whatever the size of the tables, and never waiting for
    /// another process. Default `true`. With `false`, call ``Store/updateStatistics()`` at a time of your
    /// choice: without statistics a fetch may use an index that finds nearly all rows.
    public var keepsStatistics = true
    /// How many seconds after its first write the transaction of ``Store/enqueue(_:)`` is committed: at most
    /// a day; with 0 or less, as soon as the writer is free. Default 1.
    public var enqueueInterval: Double = 1
    /// After how many writes the transaction of ``Store/enqueue(_:)`` is committed; with 1 or less,
    /// after each. Default 1,000.
    public var enqueueLimit = 1000
    /// Receives each statement that the store runs, with its duration and its number of rows. Default nil.
    public var trace: StatementTrace?
    /// Whether the texts of objects in logs and debuggers (`debugDescription`) have the values of attributes,
    /// which are secret in most stores. Default `false`: they have the names of the changed ones.
    public var describesValues = false

    /// Creates the default settings.
    public init() {}
  }

  let core: StoreCore
  let pool: ConnectionPool
  let main = MainContext()
  /// The file.
  public let url: URL
  /// The store's identity, which is created with it. Copies, backups and exports have the same identity,
  /// and keep it when they are restored, moved or encrypted again.
  ///
  /// It is nil for a store that an earlier release created, until the next migration.
  public let id: UUID?
  /// The schema that the store was opened with.
  public let schema: Schema
  /// What the opening did: whether the file was created, and which steps ran.
  public let opening: Opening

  /// What opening a store did.
  public struct Opening: Sendable, Hashable {
    /// Whether the file was created.
    public let isNew: Bool
    /// The numbers of the steps that ran.
    public let migratedSteps: [Int]
    /// The step that was created and run because the classes differed from the store's model, with
    /// ``Store/Migrations/automatic``. To keep it, write its ``MigrationStep/text`` to the file
    /// ``MigrationStep/fileName``.
    public let automaticStep: MigrationStep?
    /// The copy that was made before the steps ran, if one of them requested it.
    public let backup: URL?
    /// The store's version now: the number of steps that it has run.
    public let version: Int
    /// The cipher settings of the file.
    public let cipher: CipherProfile
  }

  init(
    core: StoreCore, pool: ConnectionPool, url: URL, id: UUID?, schema: Schema, opening: Opening
  ) {
    self.core = core
    self.pool = pool
    self.url = url
    self.id = id
    self.schema = schema
    self.opening = opening
    core.feed.watch { [weak pool, weak core] in
      pool.map { pool in CommitWatch(pool) { [weak core] in core?.feed.findOthersCommits($0) } }
    } writerState: { [weak pool] in
      pool?.writerState
    }
  }

  // MARK: Contexts

  /// Creates an independent context, which reads the committed state at each fetch, and saves only when
  /// ``ObjectContext/save()`` is called.
  ///
  /// Its calls block, which is intended in an actor or task of the program. Inside ``write(_:)`` a save
  /// of such a context throws `SQLError.nestedWrite`.
  /// - Returns: The context.
  public func makeContext() -> ObjectContext { ObjectContext(core: core, access: .pooled(pool)) }

  /// Runs `body` with a context on one snapshot of the store, concurrently with writes and other reads.
  ///
  /// The context can only read. Cancelling the task interrupts the read with `CancellationError`.
  /// - Parameter body: Gets the context.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`, otherwise the first of the context's ``ObjectContext/faultErrors``;
  ///   ``StoreError/storeMigratedElsewhere(file:)``.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (ObjectContext) throws -> Result
  ) async throws -> Result {
    let work = ReadingWork(core: core, pool: pool)
    return try await pool.read { try work.run(on: $0, body) }
  }

  /// Runs `body` with a context in one transaction. The changes are saved and committed when `body`
  /// returns, and rolled back if it throws or the task is cancelled.
  ///
  /// Fetches find pending changes, as in any context. A body that changes thousands of objects, with
  /// fetches in between that are not by a key, should save from time to time: each of these fetches
  /// checks all pending objects. See <doc:predicates>.
  ///
  /// Writes run one after another, in the order of their calls. The result cannot be an object: a body
  /// that consists of one `insert` must be written as `_ = context.insert(…)`. After a failure, objects
  /// that `body` passed to other code are ``ManagedObject/State/invalid``. Once the task is cancelled,
  /// nothing more is inserted, set or fetched, whatever `body` does.
  /// - Parameter body: Gets the context.
  /// - Returns: The result of `body`.
  /// - Throws: The errors of `body` and of the save; `CancellationError`;
  ///   ``StoreError/storeMigratedElsewhere(file:)``; `SQLError.busy` if another process keeps the lock
  ///   longer than the busy timeout.
  @discardableResult
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (ObjectContext) throws -> Result
  ) async throws -> Result {
    let (pool, work) = (pool, WritingWork(core: core, pool: pool))
    do {
      let result = try await pool.write {
        try work.run(on: $0, body)
      } committed: {
        work.publish()
      }
      work.end()
      return result
    } catch {
      work.abandon()
      throw error
    }
  }

  // MARK: The key and the file

  /// Encrypts the whole store again with another key.
  ///
  /// Running reads of this store are finished first, and new ones wait until the end. The change is one
  /// transaction, and a new connection verifies it before this returns. Whatever happens, the file opens
  /// with either the old key or the new one. Other processes must open the store again.
  /// - Parameters:
  ///   - key: The new key.
  ///   - progress: Counts each page twice: written, and verified. Cancelling it or the task ends the
  ///     work.
  /// - Throws: `SQLError.busy`, `SQLError.sameKey`, `SQLError.keyEndsInZero`, `SQLError.emptyKey`,
  ///   `SQLError.keyLength`, `CancellationError`; the old key still opens the file then.
  ///   `SQLError.notVerified` if it was cancelled after the key had been changed.
  public func rekey(to key: Key, progress: Progress? = nil) async throws {
    let key = try await key.resolved()
    let pool = pool
    try await cancellable(by: progress) { run in
      try pool.rekey(to: key) { try run.show(progress, $0, of: $1) }
    }
  }

  /// Encrypts the store again with a key and other cipher settings, through a new file that is compared
  /// row by row and then renamed over the old one.
  /// - Parameters:
  ///   - key: The new key.
  ///   - profile: The new cipher settings.
  ///   - progress: Counts each page twice: written, and compared. Cancelling it or the task ends the
  ///     work.
  /// - Throws: `SQLError.busy` while another process has the store open,
  ///   `SQLError.cipherSettingsMismatch` for settings that this engine does not support,
  ///   `CancellationError`; the store is then unchanged.
  public func rekey(to key: Key, profile: CipherProfile, progress: Progress? = nil) async throws {
    let key = try await key.resolved()
    let pool = pool
    try await cancellable(by: progress) { run in
      try pool.rekey(to: key, profile: profile) { try run.show(progress, $0, of: $1) }
    }
  }

  /// Checks the file: the authentication code of every page, SQLite's structure, the references, and
  /// every value against its attribute's type, including the cases of enums.
  ///
  /// It also reports ids that were never issued, which rows from another program may have (the next save
  /// of a new object corrects that), and tables, views, triggers and indexes that no step created. A
  /// store that a later version of the program has migrated is checked against its own model and not
  /// against these classes.
  /// - Returns: The faults, one sentence each; empty if there are none.
  /// - Throws: ``SQLError``; ``StoreError/bookkeepingDamaged(file:place:reason:)`` if the store's
  ///   bookkeeping tables cannot be read.
  public func verify() async throws -> [String] {
    let (core, pool) = (core, pool)
    return try await LargeStackThread.run {
      try pool.withWriter { connection in
        _ = try connection.checkpoint()
        let findings = try connection.findings()
        guard findings.isEmpty else { return findings }
        let (classes, history) = (core.mapping.schema, try StoreHistory.read(connection))
        let own = try history.model()
        let model = own.meaningHash == classes.meaningHash ? classes : own
        return try ForeignObjects(layout: model.layout).findings(connection)
          + model.typeCheck.findings(connection).map { "\($0)" }
          + ReferenceCheck.misled(connection, model)
          + RowIDs(connection: connection).findings(model)
          + (HistoryReader(connection)?.findings() ?? [])
      }
    }
  }

  /// Waits for running work, commits enqueued writes, and closes all connections. Later calls throw
  /// `SQLError.closed`; after enqueued writes that could not be committed, a ``flush()`` throws
  /// `SQLError.sharedWritesLost`.
  public func close() {
    pool.close()
    core.feed.end()
  }
}

extension Connection {
  /// Returns the faults of the file, one sentence each.
  /// - Parameter comparingIndexes: Whether each entry of an index is compared with its row.
  package func findings(
    comparingIndexes: Bool = true, progress: ((Int, Int) -> Void)? = nil
  ) throws -> [String] {
    var findings: [String] = []
    let damaged = auditPages(progress: progress)
    if !damaged.isEmpty {
      let list = damaged.prefix(8).map(String.init).joined(separator: ", ")
      findings.append(
        damaged.count == 1
          ? "\(path): page \(list) is damaged (its authentication code is wrong). Restore the file from a "
            + "backup."
          : "\(path): \(damaged.count) pages are damaged (their authentication codes are wrong): \(list)"
            + "\(damaged.count > 8 ? " and more" : ""). Restore the file from a backup.")
      return findings
    }
    findings += try integrityErrors(isQuick: !comparingIndexes).map { "SQLite: \($0)" }
    let violations: [[SQLValue]]
    // SQLITE_CORRUPT: the unreadable part is already in the findings.
    do { violations = try foreignKeyViolations() } catch SQLError.engine(11, _, _, _)
      where !findings.isEmpty
    { return findings }
    if let first = violations.first {
      findings.append(
        violations.count == 1
          ? "1 reference to a missing row, in table \(first.first?.string ?? "")"
          : "\(violations.count) references to missing rows, the first in table \(first.first?.string ?? "")"
      )
    }
    return findings
  }
}
