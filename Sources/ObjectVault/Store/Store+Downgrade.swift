// The way back: to an earlier version by the steps at hand, or by what the store carries.

public import CipherSQLite
public import Foundation

extension Store {
  /// Takes back the steps of a store above a version, the last one first, all in one transaction or each in its own.
  ///
  /// Each is taken back by its `[down]` section or by what follows from its operations (``MigrationStep/wayBack(from:)``).
  /// A step that is not among `migrations`, or that was edited since it ran, is taken back by what the store carries: a
  /// program whose steps end earlier can so return a store that a newer one has migrated. The checks are those of
  /// ``migrate(at:key:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)``, and so are the copy that is made
  /// before, the waiting of others, and what other processes get that have the store open
  /// (``StoreError/storeMigratedElsewhere(file:)``). Ids stay given out. What was entered in properties and entities that go
  /// is lost, and has to be allowed.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - version: The version that it is to have; nothing is done to a store of that version or a lower one.
  ///   - migrations: The steps at hand.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds. One that migrates the store is waited for to
  ///     its end.
  ///   - makesBackups: Whether an encrypted copy is made before values are lost or rewritten.
  ///   - losses: What may be lost, such as `User.city`: see ``planDowngrade(at:key:to:migrations:profile:busyTimeout:)``.
  ///   - commitsEachStep: As ``Store/Configuration/commitsEachStep``. Steps that `migrations` has as one
  ///     (``MigrationSet/foldedVersion``) are taken back in one transaction even so.
  ///   - progress: Counts the rows that are written again on the way back, and one for each step; cancelling it, or the task,
  ///     ends the run.
  /// - Throws: ``StoreError/noWayBack(step:name:reason:)``, ``StoreError/wayBackLoses(step:name:losses:emptied:)``,
  ///   ``StoreError/rowsRefused(step:name:operation:reason:)``; ``StoreError/historyConflict(_:)`` for a version below 0; else as
  ///   ``open(at:key:schema:migrations:configuration:progress:)``. The file is then as it was, or behind
  ///   the last step that was committed by itself.
  @discardableResult
  public static func downgrade(
    at url: URL, key: Key, to version: Int, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5, makesBackups: Bool = true, allowing losses: Set<String> = [],
    commitsEachStep: Bool = false, progress: Progress? = nil
  ) async throws -> MigrationOutcome {
    var settings = RunSettings(profile, busyTimeout, makesBackups, losses, progress)
    settings.commitsEachStep = commitsEachStep
    try requireVersion(version, migrations)
    return try await run(.back(to: version), at: url, key: key, migrations, settings)
  }

  /// Takes back the last steps of a store and runs them again, all in one transaction: while a step is being written.
  ///
  /// A step that was edited since it ran is taken back as it was, and runs as it is now.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - count: How many steps; all of them where there are fewer.
  ///   - migrations: The steps, at least those that are behind the store.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds. One that migrates the store is waited for to
  ///     its end.
  ///   - makesBackups: Whether an encrypted copy is made before values are lost or rewritten.
  ///   - losses: What may be lost on the way back, and on the way again beside what the steps' files allow.
  ///   - progress: Counts the rows that are written again on either way, and one for each step on each; cancelling it, or the
  ///     task, ends the run.
  /// - Throws: As ``downgrade(at:key:to:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)``;
  ///   ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)`` where a step is missing.
  @discardableResult
  public static func redo(
    at url: URL, key: Key, last count: Int = 1, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5, makesBackups: Bool = true, allowing losses: Set<String> = [],
    progress: Progress? = nil
  ) async throws -> MigrationOutcome {
    try await run(
      .again(count), at: url, key: key, migrations,
      RunSettings(profile, busyTimeout, makesBackups, losses, progress))
  }

  /// What ``downgrade(at:key:to:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)`` would do, without
  /// changing a byte.
  ///
  /// The plan's steps are those that would be taken back, the last one first, with what that loses. Rows are asked what
  /// the way back will ask of them.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - version: The version that it is to have.
  ///   - migrations: The steps at hand.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long it waits, in seconds, while another process keeps the file to itself.
  /// - Throws: ``StoreError/noWayBack(step:name:reason:)``; ``StoreError/historyConflict(_:)`` for a version below 0; else as
  ///   ``plan(at:key:migrations:profile:busyTimeout:)``.
  public static func planDowngrade(
    at url: URL, key: Key, to version: Int, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5
  ) async throws -> MigrationPlan {
    try requireVersion(version, migrations)
    return try await plan(.back(to: version), at: url, key: key, migrations, profile, busyTimeout)
  }

  static func requireVersion(_ version: Int, _ migrations: MigrationSet) throws {
    guard version < 0 else { return }
    throw StoreError.historyConflict(.noVersion(version, last: migrations.version))
  }

  /// Everything that happened to a store, in its order: the steps that it was made with, those that ran, and those that
  /// were taken back. Nothing is written.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  /// - Throws: ``StoreError/notAStore(file:)``, ``StoreError/bookkeepingDamaged(file:place:reason:)``; ``SQLError``.
  public static func history(at url: URL, key: Key, profile: CipherProfile? = nil) async throws
    -> [HistoryEvent]
  {
    let key = try await key.resolved()
    return try await AmpleStack.running {
      let inspection = try Inspection(path: url.filePath, key: key, profile: profile)
      return try withExtendedLifetime(inspection) { try HistoryEvent.all(inspection.connection) }
    }
  }

  /// The steps that a store carries: what ran, and what takes it back. Nothing is written.
  ///
  /// A program that began with ``Store/Migrations/automatic`` writes their ``MigrationStep/text`` to files named
  /// ``MigrationStep/fileName``, and goes on with those. What the author of a step wrote into its header is not carried.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  /// - Throws: ``StoreError/notAStore(file:)``, ``StoreError/bookkeepingDamaged(file:place:reason:)``; ``SQLError``.
  public static func carriedSteps(at url: URL, key: Key, profile: CipherProfile? = nil) async throws
    -> MigrationSet
  {
    let key = try await key.resolved()
    return try await AmpleStack.running {
      let inspection = try Inspection(path: url.filePath, key: key, profile: profile)
      return try withExtendedLifetime(inspection) {
        try StoreHistory.read(inspection.connection).carriedSteps(in: url.filePath)
      }
    }
  }
}
