// Running and planning steps and creating a store without classes, and inspecting a store without steps,
// as tools do.

public import CipherSQLite
public import Foundation

extension Store {
  /// Runs the steps that a store lacks, without opening the store for use. No Swift class is needed.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds. A process that migrates
  ///     the store is waited for until it has finished.
  ///   - makesBackups: Whether the encrypted copies are made that pending steps request.
  ///   - losses: What pending steps may lose in addition to what their files allow, such as `User.city`.
  ///   - commitsEachStep: As ``Store/Configuration/commitsEachStep``.
  ///   - progress: Counts the rows that steps rewrite, plus one unit for each step. Cancelling it or the
  ///     task ends the run.
  /// - Returns: What the run did.
  /// - Throws: As ``open(at:key:schema:migrations:configuration:progress:)``. The file is then unchanged,
  ///   or has the version after the last step that was committed on its own.
  @discardableResult
  public static func migrate(
    at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5, makesBackups: Bool = true, allowing losses: Set<String> = [],
    commitsEachStep: Bool = false, progress: Progress? = nil
  ) async throws -> MigrationOutcome {
    var settings = RunSettings(
      profile: profile, busyTimeout: busyTimeout, makesBackups: makesBackups, losses: losses,
      progress: progress)
    settings.commitsEachStep = commitsEachStep
    return try await run(.latest, at: url, key: key, migrations: migrations, settings: settings)
  }

  /// The settings of a run of steps, whatever its goal.
  package struct RunSettings: Sendable {
    let profile: CipherProfile?
    let busyTimeout: Double
    let makesBackups: Bool
    let losses: Set<String>
    let progress: Progress?
    /// Whether each step is committed on its own.
    package var commitsEachStep = false
    /// Called with what the run waits for, once per cause; for a lock only after half a second.
    let waits: (@Sendable (RunWait) -> Void)?
    /// How long to wait for another process's migration, in seconds; nil for no limit.
    package var migrationTimeout: Double?
    /// Called at the end with the work of the steps that were committed on their own, if any; also if the
    /// run fails.
    package var leaves: (@Sendable (MigrationOutcome) -> Void)?

    package init(
      profile: CipherProfile?, busyTimeout: Double, makesBackups: Bool, losses: Set<String>,
      progress: Progress?, waits: (@Sendable (RunWait) -> Void)? = nil
    ) {
      (self.profile, self.busyTimeout, self.makesBackups) = (profile, busyTimeout, makesBackups)
      self.losses = Self.named(losses)
      (self.progress, self.waits) = (progress, waits)
    }

    /// Returns losses as names such as `User.city`. They may be given in that form, in the form of a
    /// step's header, or in that of the command line.
    package static func named(_ losses: Set<String>) -> Set<String> {
      Set(losses.map { MigrationStep.loss(allowedBy: $0) ?? $0 })
    }
  }

  /// Runs the steps that a goal needs. Waits for a process that migrates the store until it has finished
  /// or `migrationTimeout` is over, and for any other lock up to the busy timeout.
  package static func run(
    _ goal: MigrationGoal, at url: URL, key: Key, migrations: MigrationSet, settings: RunSettings
  ) async throws -> MigrationOutcome {
    let (key, progress) = (try await key.resolved(), settings.progress)
    return try await cancellable(by: progress) { run in
      let path = try DatabasePath(url.filePath).path
      var configuration = Connection.Configuration()
      configuration.busyTimeout = settings.busyTimeout
      configuration.profile = settings.profile
      let record = RunRecord()
      let patience = LockWaiting(path, settings: settings, record: record)
      defer { if record.hasSteps { settings.leaves?(record.outcome) } }
      return try record.reportingCommittedSteps {
        try afterMigrations(path, progress: progress, stop: run, atMost: settings.migrationTimeout) {
          patience.begin()
          let connection = try Connection.open(url.filePath, key: key, configuration: configuration)
          defer { connection.close() }
          try StoreFunctions.register(on: connection)
          return try run.run(connection) {
            connection.onBusy { patience.waits(count: $0) }
            return try MigrationRunner(
              connection: connection, set: migrations, progress: progress,
              makesBackups: settings.makesBackups, allowedLosses: settings.losses,
              commitsEachStep: settings.commitsEachStep, record: record
            ).run(goal)
          }
        }
      }
    }
  }
}

extension Store {
  /// Plans the opening of a store, without changing a byte and without creating a file.
  ///
  /// The plan makes the checks of rows that pending steps will make (``MigrationPlan/refusals``), which
  /// reads the tables concerned: for new unique indexes, for properties that become required or get a
  /// narrower type, for to-manys that become to-ones, for rows that move, and for what steps `require`.
  /// Checks of data that an earlier step changes first are not possible, and are listed
  /// (``MigrationPlan/Step/unasked``).
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait, in seconds, while another process has the file locked.
  /// - Returns: The plan.
  /// - Throws: The errors that opening would throw: ``StoreError/historyConflict(_:)``,
  ///   ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)``,
  ///   ``StoreError/otherFormat(file:found:supported:)``, ``StoreError/notAStore(file:)``; ``SQLError``;
  ///   `CancellationError` if the task is cancelled.
  public static func plan(
    at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil, busyTimeout: Double = 5
  ) async throws -> MigrationPlan {
    try await plan(
      .latest, at: url, key: key, migrations: migrations, profile: profile, busyTimeout: busyTimeout)
  }

  static func plan(
    _ goal: MigrationGoal, at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile?,
    busyTimeout: Double
  ) async throws -> MigrationPlan {
    let key = try await key.resolved()
    return try await cancellable { run in
      let inspection = try Inspection(
        path: url.filePath, key: key, busyTimeout: busyTimeout, profile: profile)
      return try run.run(inspection.connection) {
        try StoreFunctions.register(on: inspection.connection)
        let plan = try MigrationPlan(inspection, with: migrations, goal: goal, asksRows: true)
        // A check that was interrupted has no result.
        try run.check()
        return plan
      }
    }
  }
}

/// The state of a store, as its bookkeeping tables describe it.
package struct StoreInfo {
  package var version: Int { history.version }
  /// The number of times that the tables were changed.
  package var generation: Int64 { history.generation }
  package let model: Schema
  let history: StoreHistory

  /// Compares the history with steps. Steps that have not run yet do not matter.
  /// - Throws: ``StoreError/otherFormat(file:found:supported:)``, ``StoreError/historyConflict(_:)``,
  ///   ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)``.
  package func requireHistory(of migrations: MigrationSet, file: String) throws {
    try history.check(against: migrations, file: file)
  }

  /// Refuses a file format that this release does not support.
  /// - Throws: ``StoreError/otherFormat(file:found:supported:)``.
  package func requireKnownFormat(file: String) throws { try history.requireKnownFormat(file: file) }

  /// Registers the SQL functions that the store's tables and predicates need.
  package static func prepare(_ connection: Connection) throws { try StoreFunctions.register(on: connection) }

  /// Reads the state of a store.
  /// - Throws: ``StoreError/notAStore(file:)``, ``StoreError/bookkeepingDamaged(file:place:reason:)``.
  package init(_ connection: Connection) throws {
    history = try StoreHistory.read(connection)
    model = try history.model()
  }

  /// Returns a query for the rows of a request.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/otherFormat(file:found:supported:)``,
  ///   and the errors of an invalid request.
  package func rows(of request: ObjectRequest<DynamicObject>, in connection: Connection) throws -> EntityRows
  {
    try requireKnownFormat(file: connection.path)
    return try EntityRows(model, request)
  }

  /// Returns the number of objects of an entity, without its subentities.
  package func count(of entity: String, in connection: Connection) throws -> Int {
    Int(try connection.value("SELECT count(*) FROM \(model.ownPlace(of: entity).rows)")?.int64 ?? 0)
  }

  /// Returns the values that do not fit their attributes' types, one sentence each.
  package func valueFindings(_ connection: Connection) throws -> [String] {
    try TypeCheck(model: model).findings(connection).map { "\($0)" }
  }

  /// Returns the references to rows whose entity is not the relationship's destination, one sentence
  /// each.
  package func referenceFindings(_ connection: Connection) throws -> [String] {
    try ReferenceCheck.misled(connection, model)
  }

  /// Returns the entities with a row whose id was never issued, one sentence each.
  package func idFindings(_ connection: Connection) throws -> [String] {
    try RowIDs(connection: connection).findings(model)
  }

  /// Returns the tables, views, triggers and indexes that belong neither to the model nor to the store's
  /// bookkeeping, one sentence each.
  package func foreignFindings(_ connection: Connection) throws -> [String] {
    try ForeignObjects(layout: model.layout).findings(connection)
  }

  /// Returns the differences between the tables and the model.
  package func drift(_ connection: Connection) throws -> [String] {
    let expected = model.layout
    return SchemaDifference.lines(
      found: try SchemaDifference.found(expected, in: connection), expected: expected, repairing: model)
  }
}

extension Store {
  /// Creates a store at the last version of some steps, without opening it for use. No Swift class is
  /// needed.
  /// - Parameters:
  ///   - url: The new file.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings; by default the engine's for new files.
  ///   - progress: Counts the rows that steps write, plus one unit for each step; counts nothing if no
  ///     step writes rows. Cancelling it or the task ends the work.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.folderMissing`, `SQLError.emptyKey`; ``StoreError``;
  ///   `CancellationError`. No file is left then.
  public static func create(
    at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil, progress: Progress? = nil
  ) async throws {
    let key = try await key.resolved()
    try await cancellable(by: progress) { run in
      var configuration = Connection.Configuration()
      configuration.profile = profile
      _ = try Connection.create(url.filePath, key: key, configuration: configuration) { connection in
        try StoreFunctions.register(on: connection)
        try run.run(connection) {
          try MigrationRunner(connection: connection, set: migrations, progress: progress).createStore()
        }
      }
    }
  }
}
