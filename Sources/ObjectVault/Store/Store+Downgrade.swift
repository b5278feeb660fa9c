// Rollbacks to an earlier version, by the steps of the program or those that the store carries. Also
// reads the history and the carried steps.

public import CipherSQLite
public import Foundation

extension Store {
  /// Rolls back the steps of a store above a version, the last one first, all in one transaction or each
  /// in its own.
  ///
  /// Each step is rolled back by its `[down]` section, or by what is derived from its operations
  /// (``MigrationStep/rollback(from:)``). A step that is not among `migrations`, or that was edited since
  /// it ran, is rolled back by what the store carries: a program with fewer steps can thus roll back a
  /// store that a newer program has migrated.
  ///
  /// The checks, the backup copy before the run, the waiting for other processes, and the effect on other
  /// processes that have the store open (``StoreError/storeMigratedElsewhere(file:)``) are those of
  /// ``migrate(at:key:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)``.
  /// Ids that were issued are not issued again. Values of properties and entities that the rollback
  /// removes are lost, which `losses` must allow.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - version: The version to return to. A store at that version or a lower one does not change.
  ///   - migrations: The steps of the program.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds. A process that migrates
  ///     the store is waited for until it has finished.
  ///   - makesBackups: Whether an encrypted copy is made before values are lost or rewritten.
  ///   - losses: What may be lost, such as `User.city`: see
  ///     ``planDowngrade(at:key:to:migrations:profile:busyTimeout:)``.
  ///   - commitsEachStep: As ``Store/Configuration/commitsEachStep``. Steps that `migrations` has folded
  ///     into one (``MigrationSet/foldedVersion``) are rolled back in one transaction all the same.
  ///   - progress: Counts the rows that the rollback rewrites, plus one unit for each step. Cancelling it
  ///     or the task ends the run.
  /// - Returns: What the run did.
  /// - Throws: ``StoreError/cannotRollBack(step:name:reason:)``,
  ///   ``StoreError/rollbackLoses(step:name:losses:emptied:)``,
  ///   ``StoreError/rowsRefused(step:name:operation:reason:)``; ``StoreError/historyConflict(_:)`` for a
  ///   version below 0; otherwise as ``open(at:key:schema:migrations:configuration:progress:)``. The file
  ///   is then unchanged, or has the version after the last step that was committed on its own.
  @discardableResult
  public static func downgrade(
    at url: URL, key: Key, to version: Int, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5, makesBackups: Bool = true, allowing losses: Set<String> = [],
    commitsEachStep: Bool = false, progress: Progress? = nil
  ) async throws -> MigrationOutcome {
    var settings = RunSettings(
      profile: profile, busyTimeout: busyTimeout, makesBackups: makesBackups, losses: losses,
      progress: progress)
    settings.commitsEachStep = commitsEachStep
    try requireVersion(version, migrations)
    return try await run(.back(to: version), at: url, key: key, migrations: migrations, settings: settings)
  }

  /// Rolls back the last steps of a store and runs them again, all in one transaction: for use while a
  /// step is being written.
  ///
  /// A step that was edited since it ran is rolled back in its old form and runs in its new form.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - count: The number of steps; all of them if there are fewer.
  ///   - migrations: The steps, at least those that the store has run.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds. A process that migrates
  ///     the store is waited for until it has finished.
  ///   - makesBackups: Whether an encrypted copy is made before values are lost or rewritten.
  ///   - losses: What the rollback may lose, and what the steps may lose in addition to what their files
  ///     allow.
  ///   - progress: Counts the rows that are rewritten in both directions, plus one unit for each step in
  ///     each direction. Cancelling it or the task ends the run.
  /// - Returns: What the run did.
  /// - Throws: The errors of `downgrade`;
  ///   ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)`` if a step is missing.
  @discardableResult
  public static func redo(
    at url: URL, key: Key, last count: Int = 1, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5, makesBackups: Bool = true, allowing losses: Set<String> = [],
    progress: Progress? = nil
  ) async throws -> MigrationOutcome {
    try await run(
      .again(count), at: url, key: key, migrations: migrations,
      settings: RunSettings(
        profile: profile, busyTimeout: busyTimeout, makesBackups: makesBackups, losses: losses,
        progress: progress))
  }

  /// Plans a downgrade without changing a byte.
  ///
  /// The steps of the plan are those that
  /// ``downgrade(at:key:to:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)``
  /// would roll back, the last one first, with the losses of each. The plan makes the same checks of rows
  /// as the rollback.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - version: The version to return to.
  ///   - migrations: The steps of the program.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait, in seconds, while another process has the file locked.
  /// - Returns: The plan.
  /// - Throws: ``StoreError/cannotRollBack(step:name:reason:)``; ``StoreError/historyConflict(_:)`` for a
  ///   version below 0; otherwise as ``plan(at:key:migrations:profile:busyTimeout:)``.
  public static func planDowngrade(
    at url: URL, key: Key, to version: Int, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5
  ) async throws -> MigrationPlan {
    try requireVersion(version, migrations)
    return try await plan(
      .back(to: version), at: url, key: key, migrations: migrations, profile: profile,
      busyTimeout: busyTimeout)
  }

  static func requireVersion(_ version: Int, _ migrations: MigrationSet) throws {
    guard version < 0 else { return }
    throw StoreError.historyConflict(.noVersion(version, last: migrations.version))
  }

  /// Reads the history of a store, in order: the steps that it was created with, the steps that ran, and
  /// those that were rolled back. Writes nothing.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  /// - Returns: The events, the first one first.
  /// - Throws: ``StoreError/notAStore(file:)``, ``StoreError/bookkeepingDamaged(file:place:reason:)``;
  ///   ``SQLError``.
  public static func history(at url: URL, key: Key, profile: CipherProfile? = nil) async throws
    -> [HistoryEvent]
  {
    let key = try await key.resolved()
    return try await LargeStackThread.run {
      let inspection = try Inspection(path: url.filePath, key: key, profile: profile)
      return try withExtendedLifetime(inspection) { try HistoryEvent.all(inspection.connection) }
    }
  }

  /// Reads the steps that a store carries: those that ran, and their rollbacks. Writes nothing.
  ///
  /// A program that began with ``Store/Migrations/automatic`` can write their ``MigrationStep/text`` to
  /// files named ``MigrationStep/fileName``, and continue with those files. The `note` in the header
  /// of a step is not carried.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  /// - Returns: The steps.
  /// - Throws: ``StoreError/notAStore(file:)``, ``StoreError/bookkeepingDamaged(file:place:reason:)``;
  ///   ``SQLError``.
  public static func carriedSteps(at url: URL, key: Key, profile: CipherProfile? = nil) async throws
    -> MigrationSet
  {
    let key = try await key.resolved()
    return try await LargeStackThread.run {
      let inspection = try Inspection(path: url.filePath, key: key, profile: profile)
      return try withExtendedLifetime(inspection) {
        try StoreHistory.read(inspection.connection).carriedSteps(in: url.filePath)
      }
    }
  }
}
