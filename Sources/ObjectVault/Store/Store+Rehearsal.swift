// Running steps on a copy first.

public import CipherSQLite
public import Foundation

extension Store {
  /// Runs the steps that a store lacks on a copy of it, and says how that went: what a plan does not know, as rows are then
  /// what earlier steps have made of them.
  ///
  /// ```swift
  /// let rehearsal = try await Store.rehearse(
  ///   at: url, key: .passphrase("correct horse"),
  ///   migrations: .directory(migrationsURL))
  /// if let failure = rehearsal.failure { throw failure }
  /// ```
  ///
  /// The copy is as encrypted as the store, under its key, in a folder of this user's alone below that of temporary files
  /// (`TMPDIR`); it is removed at the end. The store is not changed, and others may work with it meanwhile. It takes as long as
  /// the run itself would, and the copying besides. Losses count as allowed.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long it waits, in seconds, while another process keeps the file to itself.
  ///   - progress: As for ``migrate(at:key:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)``.
  /// - Throws: As ``plan(at:key:migrations:profile:busyTimeout:)``; `SQLError.diskFull` where the copy, with what the steps
  ///   write, has no room among the temporary files. What the steps themselves would throw is
  ///   ``MigrationRehearsal/failure``.
  public static func rehearse(
    at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil, busyTimeout: Double = 5,
    progress: Progress? = nil
  ) async throws -> MigrationRehearsal {
    try await rehearse(
      .latest, at: url, key: key, migrations, RunSettings(profile, busyTimeout, false, [], progress))
  }

  /// Rehearses a downgrade: takes back, on a copy, the steps that would be taken back by ``downgrade(at:key:to:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)``.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - version: The version that it is to have.
  ///   - migrations: The steps at hand.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long it waits, in seconds, while another process keeps the file to itself.
  ///   - progress: As for ``rehearse(at:key:migrations:profile:busyTimeout:progress:)``.
  /// - Throws: As ``planDowngrade(at:key:to:migrations:profile:busyTimeout:)``, and as
  ///   ``rehearse(at:key:migrations:profile:busyTimeout:progress:)``.
  public static func rehearseDowngrade(
    at url: URL, key: Key, to version: Int, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5, progress: Progress? = nil
  ) async throws -> MigrationRehearsal {
    try requireVersion(version, migrations)
    return try await rehearse(
      .back(to: version), at: url, key: key, migrations,
      RunSettings(profile, busyTimeout, false, [], progress))
  }

  /// - Parameter immutable: Promises that nobody writes meanwhile, as for `Inspection`.
  package static func rehearse(
    _ goal: MigrationGoal, at url: URL, key: Key, _ migrations: MigrationSet, _ settings: RunSettings,
    immutable: Bool = false
  ) async throws -> MigrationRehearsal {
    let key = try await key.resolved()
    return try await cancellable(by: settings.progress) { run in
      let inspection = try Inspection(
        path: url.filePath, key: key, busyTimeout: settings.busyTimeout, profile: settings.profile,
        immutable: immutable)
      return try withExtendedLifetime(inspection) {
        try MigrationRehearsal(of: inspection, goal, migrations, settings, run)
      }
    }
  }
}

extension MigrationRehearsal {
  /// Runs steps on a copy.
  /// - Parameters:
  ///   - settings: As for a run on the store. Losses are allowed, and no backup of the copy is made.
  ///   - run: Is cancelled with the call.
  /// - Throws: What keeps the copy from being made, or its disk from taking what the steps write; what says that the steps are
  ///   not those of the store; `CancellationError`.
  init(
    of inspection: Inspection, _ goal: MigrationGoal, _ set: MigrationSet, _ settings: Store.RunSettings,
    _ run: CancellableRun
  ) throws {
    let original = inspection.connection
    let (plan, copy) = try run.run(original) {
      try StoreFunctions.register(on: original)
      let plan = try MigrationPlan(inspection, set, goal, makesBackups: false)
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
          try record.telling { _ = try runner.run(goal) }
        }
      }
    }
    (steps, seconds) = (record.laps, Date().timeIntervalSince(start))
  }

  /// What a run on the store would throw, too. Errors of the copy alone are thrown: its disk is full, or the call was cancelled.
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
        throw SQLError.diskFull(file: NSTemporaryDirectory())
      default: return error
      }
    }
  }
}
