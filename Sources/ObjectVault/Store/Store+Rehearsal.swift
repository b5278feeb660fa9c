// Rehearsals: running steps on a copy of the store.

public import CipherSQLite
public import Foundation

extension Store {
  /// Runs the steps that a store lacks on a copy of it, and reports the result.
  ///
  /// This finds failures that a plan cannot find: a plan checks rows as they are now, a rehearsal checks
  /// them after earlier steps have changed them.
  ///
  /// ```swift
  /// let rehearsal = try await Store.rehearse(
  ///   at: url, key: .passphrase("correct horse"),
  ///   migrations: .directory(migrationsURL))
  /// if let failure = rehearsal.failure { throw failure }
  /// ```
  ///
  /// The copy is encrypted with the store's key, in a folder that only this user can read, below the
  /// folder of temporary files (`TMPDIR`), and is removed at the end. The store does not change, and
  /// other connections can use it meanwhile. The rehearsal takes as long as the run itself, plus the
  /// time of copying. All losses are allowed.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait, in seconds, while another process has the file locked.
  ///   - progress: Counts the rows that steps rewrite, plus one unit for each step. Cancelling it or the
  ///     task ends the run.
  /// - Returns: The result.
  /// - Throws: As ``plan(at:key:migrations:profile:busyTimeout:)``; `SQLError.diskFull` if the folder of
  ///   temporary files has no room for the copy and what the steps write. An error of the steps
  ///   themselves is in ``MigrationRehearsal/failure``.
  public static func rehearse(
    at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil, busyTimeout: Double = 5,
    progress: Progress? = nil
  ) async throws -> MigrationRehearsal {
    try await rehearse(
      .latest, at: url, key: key, migrations: migrations,
      settings: RunSettings(
        profile: profile, busyTimeout: busyTimeout, makesBackups: false, losses: [], progress: progress))
  }

  /// Rehearses a downgrade: rolls back steps on a copy of the store, and reports the result.
  ///
  /// The steps are those that
  /// ``downgrade(at:key:to:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)``
  /// would roll back.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - version: The version to return to.
  ///   - migrations: The steps of the program.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait, in seconds, while another process has the file locked.
  ///   - progress: As for ``rehearse(at:key:migrations:profile:busyTimeout:progress:)``.
  /// - Returns: The result.
  /// - Throws: As ``planDowngrade(at:key:to:migrations:profile:busyTimeout:)``, and as
  ///   ``rehearse(at:key:migrations:profile:busyTimeout:progress:)``.
  public static func rehearseDowngrade(
    at url: URL, key: Key, to version: Int, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5, progress: Progress? = nil
  ) async throws -> MigrationRehearsal {
    try requireVersion(version, migrations)
    return try await rehearse(
      .back(to: version), at: url, key: key, migrations: migrations,
      settings: RunSettings(
        profile: profile, busyTimeout: busyTimeout, makesBackups: false, losses: [], progress: progress))
  }

  /// Rehearses the run of a goal.
  /// - Parameter immutable: Whether the caller guarantees that no process writes meanwhile, as for
  ///   `Inspection`.
  package static func rehearse(
    _ goal: MigrationGoal, at url: URL, key: Key, migrations: MigrationSet, settings: RunSettings,
    immutable: Bool = false
  ) async throws -> MigrationRehearsal {
    let key = try await key.resolved()
    return try await cancellable(by: settings.progress) { run in
      let inspection = try Inspection(
        path: url.filePath, key: key, busyTimeout: settings.busyTimeout, profile: settings.profile,
        immutable: immutable)
      return try withExtendedLifetime(inspection) {
        try MigrationRehearsal(of: inspection, goal: goal, steps: migrations, settings: settings, run: run)
      }
    }
  }
}

extension MigrationRehearsal {
  /// Runs steps on a copy.
  /// - Parameters:
  ///   - settings: As for a run on the store, but losses are allowed and no backup of the copy is made.
  ///   - run: The run that is cancelled with the call.
  /// - Throws: Errors of making the copy; a full disk; errors for steps that do not fit the history of
  ///   the store; `CancellationError`.
  init(
    of inspection: Inspection, goal: MigrationGoal, steps set: MigrationSet, settings: Store.RunSettings,
    run: CancellableRun
  ) throws {
    let original = inspection.connection
    let (plan, copy) = try run.run(original) {
      try StoreFunctions.register(on: original)
      let plan = try MigrationPlan(inspection, with: set, goal: goal, makesBackups: false)
      let mark = MigrationMark.path(of: ScratchCopy.fileName)
      return (
        plan, try ScratchCopy(of: original, room: plan.neededBytes, others: [mark]) { try run.check() }
      )
    }
    let (record, start, connection) = (RunRecord(), Date(), copy.connection)
    try StoreFunctions.register(on: connection)
    failure = try withExtendedLifetime(copy) {
      try Self.failure {
        try run.run(connection) {
          let runner = MigrationRunner(
            connection: connection, set: set, progress: settings.progress, makesBackups: false,
            allowedLosses: Set(plan.unallowedLosses), commitsEachStep: settings.commitsEachStep,
            record: record)
          try record.reportingCommittedSteps { _ = try runner.run(goal) }
        }
      }
    }
    (steps, seconds) = (record.finishedSteps, Date().timeIntervalSince(start))
  }

  /// Returns the error that a run on the store would throw too; nil if there is none. Throws errors that
  /// only concern the copy: its disk is full, or the call was cancelled.
  private static func failure(of body: () throws -> Void) throws -> (any Error)? {
    do {
      try body()
      return nil
    } catch {
      var cause = error
      if case StoreError.stopped(_, let inner) = error, let inner = inner.error { cause = inner }
      switch cause {
      case is CancellationError: throw cause
      case SQLError.diskFull, StoreError.diskFull, StoreError.notEnoughSpace:
        throw SQLError.diskFull(file: PrivateFolder.temporary)
      default: return error
      }
    }
  }
}
