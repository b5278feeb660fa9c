// The store: opening, contexts, reading and writing, rekeying, closing.

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
/// A store owns one writing connection and several readers, and may be used from any task. Closing happens
/// with ``close()`` or on release.
public final class Store: Sendable {
  /// Settings of an open store.
  public struct Configuration: Sendable, Hashable {
    /// The page cache of the writing connection, in bytes. Default 32 MiB; each reader has half of it.
    public var cacheSize = 32 << 20
    /// How many reads may run at once; a fetch of a whole large table uses two of these where it can. Default 4.
    public var readers = 4
    /// How long to wait for another process's lock, in seconds. Default 5.
    public var busyTimeout: Double = 5
    /// Whether each commit waits for the disk. By default a power loss may take the last commits, whole; a
    /// crash of the process takes none.
    public var isFullSync = false
    /// The cipher settings of the file, where they are not the engine's own: a new file gets them, and an existing one
    /// is tried with them first. Default nil.
    public var profile: CipherProfile?
    /// Whether opening makes the encrypted copy that a pending step asks for: `notes.store.v6-TIME.backup`
    /// beside the store, of which the last two are kept; one that somebody has open goes later. Default `true`.
    public var makesBackups = true
    /// How often the store is opened, with no step to run, before such a copy is deleted: by then it is seen whether the steps
    /// did what was meant. Files that the store does not remember as its own copies are never touched. Default nil: the last
    /// two stay until newer ones take their places. An app whose parts open the store each by themselves, such as a widget,
    /// soon has counted to a few. A store between two steps of a run that was stopped (``commitsEachStep``) counts none: the
    /// copy of before that run stays until a run comes to its end, also where nobody ever leads the store on.
    public var backupOpenings: Int?
    /// Whether opening commits each pending step by itself, for stores so large that the work of all steps is not to be lost
    /// with the last one. By default all steps are one transaction: the store has all of them, or none. With this a failure,
    /// a cancellation or a kill leaves it behind the last whole step, at a version that others may open meanwhile
    /// (``StoreError/stopped(atVersion:by:)``), and the next opening goes on from there. Each makes one
    /// copy, before its first step; the one of before the first of them stays beside the newest.
    public var commitsEachStep = false

    /// The defaults.
    public init() {}
  }

  let core: StoreCore
  let pool: ConnectionPool
  /// The file.
  public let url: URL
  /// What the store is known by, made with it: its copies, backups and exports have the same, and keep it when they
  /// are restored, moved or encrypted again.
  ///
  /// It is nil for a store that an earlier release made, until the next migration.
  public let id: UUID?
  /// The schema that the store was opened with.
  public let schema: Schema
  /// What the opening did: whether the file was created, and which steps ran.
  public let opening: Opening

  /// What opening a store did.
  public struct Opening: Sendable, Hashable {
    /// Whether the file was made.
    public let isNew: Bool
    /// The steps that ran, by number.
    public let migratedSteps: [Int]
    /// The step that was made and run because the classes had become others, with ``Store/Migrations/automatic``: write its
    /// ``MigrationStep/text`` to the file ``MigrationStep/fileName`` to keep it.
    public let automaticStep: MigrationStep?
    /// The copy that was made before they ran, when one of them asked for it.
    public let backup: URL?
    /// The version now: the number of steps behind the store.
    public let version: Int
    /// The settings the file is encrypted with.
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
  }

  // MARK: Working

  /// A context of its own: it reads what is committed at each fetch, and saves when told to.
  ///
  /// Its calls block; in an actor or task of your own that is what they should do. Inside ``write(_:)`` a
  /// save of such a context throws `SQLError.nestedWrite`.
  public func makeContext() -> ObjectContext { ObjectContext(core: core, access: .pooled(pool)) }

  /// Runs `body` with a context on one snapshot of the store, beside writes and other reads.
  ///
  /// The context may only read. Cancelling the task interrupts it with `CancellationError`.
  /// - Throws: What `body` throws, else the first of the context's ``ObjectContext/faultErrors``;
  ///   ``StoreError/storeMigratedElsewhere(file:)``.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (ObjectContext) throws -> Result
  ) async throws -> Result {
    return try await pool.read { [core, pool] connection in
      // Another model may have the same names for other things: what is read would be taken for what it was.
      try core.checkGeneration(connection)
      let context = ObjectContext(core: core, access: .reading(connection, beside: pool))
      let result = try body(context)
      if let error = context.faultErrors.first { throw error }
      return result
    }
  }

  /// Runs `body` with a context in one transaction: saved and committed when it returns, rolled back when it
  /// throws or the task is cancelled.
  ///
  /// Fetches find what is pending, as in any context. A body that changes thousands of objects, with fetches in between that are not
  /// by a key, should save now and then: each of these looks at all that is pending. See <doc:predicates>.
  ///
  /// Writes run one after another, in the order of their calls. An object cannot be the result: a body that is
  /// one `insert` says `_ = context.insert(…)`.
  /// After a failure objects that the body let out are ``ManagedObject/State/invalid``. Once the task is cancelled, nothing
  /// more is inserted, set or fetched, whatever the body does.
  /// - Throws: What `body` or the save throws; `CancellationError`;
  ///   ``StoreError/storeMigratedElsewhere(file:)``; `SQLError.busy` when another
  ///   process keeps the lock longer than the busy timeout.
  @discardableResult
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (ObjectContext) throws -> Result
  ) async throws -> Result {
    let (core, pool) = (core, pool)
    let work = WritingWork()
    do {
      let result = try await pool.write { connection in
        try core.beginWriting(connection)
        let context = ObjectContext(
          core: core,
          access: .writing(connection, committed: pool, isRecording: core.feed.isHeard))
        work.context = context
        let result = try body(context)
        try context.saveBeforeCommit()
        if let error = context.faultErrors.first { throw error }
        return result
      } committed: {
        core.reservedIDs.commit()
        work.context?.publishTransaction()
      }
      work.context = nil
      return result
    } catch {
      // Saves inside the body have told the objects; the transaction is rolled back, so that is not so.
      work.context?.abandon()
      throw error
    }
  }

  // MARK: The key and the file

  /// Encrypts the whole store again under another key.
  ///
  /// Reads of this store are let finish and kept back meanwhile; the change is one transaction, and it is
  /// verified by a fresh connection before this returns. Whatever happens, the file opens with the old key or
  /// the new one. Other processes have to open the store again.
  /// - Parameters:
  ///   - key: The key from now on.
  ///   - progress: Counts pages, each twice: written, and verified. Cancelling it, or the task, ends the work.
  /// - Throws: `SQLError.busy`, `SQLError.sameKey`, `SQLError.keyEndsInZero`, `SQLError.emptyKey`, `SQLError.keyLength`,
  ///   `CancellationError`; the old key is then still
  ///   the one that opens the file. `SQLError.notVerified` where it was cancelled when the new key was that already.
  public func rekey(to key: Key, progress: Progress? = nil) async throws {
    let key = try await key.resolved()
    let pool = pool
    try await cancellable(by: progress) { run in
      try pool.rekey(to: key) { try run.show(progress, $0, of: $1) }
    }
  }

  /// Encrypts the store again under a key and other settings, through a new file that is compared row by row and
  /// then renamed over the old one.
  /// - Parameters:
  ///   - key: The key from now on.
  ///   - profile: The settings from now on.
  ///   - progress: Counts pages, each twice: written, and compared. Cancelling it, or the task, ends the work.
  /// - Throws: `SQLError.busy` while another process has the store open, `SQLError.cipherSettingsMismatch` for
  ///   settings that this engine has not, `CancellationError`; the store is then as it was.
  public func rekey(to key: Key, profile: CipherProfile, progress: Progress? = nil) async throws {
    let key = try await key.resolved()
    let pool = pool
    try await cancellable(by: progress) { run in
      try pool.rekey(to: key, profile: profile) { try run.show(progress, $0, of: $1) }
    }
  }

  /// Checks the file: the authentication code of every page, SQLite's structure, the references, and every value
  /// against its attribute's type, the cases of enums included. An id that was never given out, of a row that another program
  /// inserted, is named: the next save of a new object corrects that. Tables, views, triggers and indexes that no step has made are
  /// named, too. Of a store that a later version of the program has migrated its own model counts, and not that of these classes.
  /// - Returns: What is wrong, a sentence each; empty when all is well.
  /// - Throws: ``SQLError``; ``StoreError/bookkeepingDamaged(file:place:reason:)`` where the store's own tables cannot be read.
  public func verify() async throws -> [String] {
    let (core, pool) = (core, pool)
    return try await AmpleStack.running {
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
      }
    }
  }

  /// Waits for what is running, then closes all connections. Later calls throw `SQLError.closed`.
  public func close() {
    pool.close()
    core.feed.end()
  }
}

extension Connection {
  /// What is wrong with the file, a sentence each.
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
          ? "page \(list) does not authenticate"
          : "\(damaged.count) pages do not authenticate: \(list)\(damaged.count > 8 ? " and more" : "")")
      return findings
    }
    findings += try integrityErrors(isQuick: !comparingIndexes).map { "SQLite: \($0)" }
    let violations: [[SQLValue]]
    // SQLITE_CORRUPT: what cannot be read to its end has been told of.
    do { violations = try foreignKeyViolations() } catch SQLError.engine(11, _, _, _)
      where !findings.isEmpty
    { return findings }
    if let first = violations.first {
      findings.append(
        violations.count == 1
          ? "1 reference leads to a row that is gone, in table \(first.first?.string ?? "")"
          : "\(violations.count) references lead to rows that are gone, the first in table \(first.first?.string ?? "")"
      )
    }
    return findings
  }
}

// Safe to share: set on the writer's queue while the body runs, read there after the commit, and then by the task that
// waited for its end.
private final class WritingWork: @unchecked Sendable { var context: ObjectContext? }
