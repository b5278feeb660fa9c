// Running steps without classes, and looking at a store without steps: what tools need.

public import CipherSQLite
public import Foundation

extension Store {
  /// Runs the steps that a store lacks, without opening it for work: no Swift class is needed.
  ///
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds. One that migrates the store is waited for to
  ///     its end.
  ///   - makesBackups: Whether the encrypted copy is made that a pending step asks for.
  ///   - losses: What pending steps may lose beside what their files allow, such as `User.city`.
  ///   - commitsEachStep: As ``Store/Configuration/commitsEachStep``.
  ///   - progress: Counts the rows that steps write again, and one for each step; cancelling it, or the task, ends the run.
  /// - Throws: As ``open(at:key:schema:migrations:configuration:progress:)``; the file is then as it was, or behind the last
  ///   step that was committed by itself.
  @discardableResult
  public static func migrate(
    at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5, makesBackups: Bool = true, allowing losses: Set<String> = [],
    commitsEachStep: Bool = false, progress: Progress? = nil
  ) async throws -> MigrationOutcome {
    var settings = RunSettings(profile, busyTimeout, makesBackups, losses, progress)
    settings.commitsEachStep = commitsEachStep
    return try await run(.latest, at: url, key: key, migrations, settings)
  }

  /// How a run is done, whatever it is for.
  package struct RunSettings: Sendable {
    let profile: CipherProfile?
    let busyTimeout: Double
    let makesBackups: Bool
    let losses: Set<String>
    let progress: Progress?
    /// Whether each step is committed by itself.
    package var commitsEachStep = false
    /// Told once what the run waits for, when it has waited for a moment.
    let waits: (@Sendable (RunWait) -> Void)?
    /// How long another process's migration is waited for, in seconds; nil for as long as it takes.
    package var migrationTimeout: Double?
    /// Told at the end what was committed, each step by itself: of a run that fails, too.
    package var leaves: (@Sendable (MigrationOutcome) -> Void)?

    package init(
      _ profile: CipherProfile?, _ busyTimeout: Double, _ makesBackups: Bool, _ losses: Set<String>,
      _ progress: Progress?, waits: (@Sendable (RunWait) -> Void)? = nil
    ) {
      (self.profile, self.busyTimeout, self.makesBackups) = (profile, busyTimeout, makesBackups)
      self.losses = Self.named(losses)
      (self.progress, self.waits) = (progress, waits)
    }

    /// Losses by the names of what is lost, which may be given as a step's head has them, and the command line.
    package static func named(_ losses: Set<String>) -> Set<String> {
      Set(losses.map { MigrationStep.loss(allowedBy: $0) ?? $0 })
    }
  }

  /// Does what a goal comes to. Who migrates the store meanwhile is waited for to the end, anybody else for the busy timeout.
  package static func run(
    _ goal: MigrationGoal, at url: URL, key: Key, _ migrations: MigrationSet, _ settings: RunSettings
  ) async throws -> MigrationOutcome {
    let (key, progress) = (try await key.resolved(), settings.progress)
    return try await cancellable(by: progress) { run in
      let path = try DatabasePath(url.filePath).path
      var configuration = Connection.Configuration()
      configuration.busyTimeout = settings.busyTimeout
      configuration.profile = settings.profile
      let record = RunRecord()
      let patience = RunPatience(path, settings, record)
      defer { if record.hasSteps { settings.leaves?(record.outcome) } }
      return try record.telling {
        try afterMigrations(path, progress, run, atMost: settings.migrationTimeout) {
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
  /// What opening the store would do, without changing a byte and without creating a file.
  ///
  /// It asks the rows what pending steps will ask of them (``MigrationPlan/refusals``), which reads the tables that they are
  /// about: for new unique indexes, for what becomes required or of a narrower type, for members of which one is left, for
  /// rows that move, and for what steps `require`. What an earlier step changes before it cannot be asked, and is told
  /// (``MigrationPlan/Step/unasked``).
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long it waits, in seconds, while another process keeps the file to itself.
  /// - Throws: The errors that opening would throw: ``StoreError/historyConflict(_:)``,
  ///   ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)``,
  ///   ``StoreError/otherFormat(file:found:supported:)``, ``StoreError/notAStore(file:)``; ``SQLError``;
  ///   `CancellationError` when the task is cancelled.
  public static func plan(
    at url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil, busyTimeout: Double = 5
  ) async throws -> MigrationPlan {
    try await plan(.latest, at: url, key: key, migrations, profile, busyTimeout)
  }

  static func plan(
    _ goal: MigrationGoal, at url: URL, key: Key, _ migrations: MigrationSet, _ profile: CipherProfile?,
    _ busyTimeout: Double
  ) async throws -> MigrationPlan {
    let key = try await key.resolved()
    return try await cancellable { run in
      let inspection = try Inspection(
        path: url.filePath, key: key, busyTimeout: busyTimeout, profile: profile)
      return try run.run(inspection.connection) {
        try StoreFunctions.register(on: inspection.connection)
        let plan = try MigrationPlan(inspection, migrations, goal, asksRows: true)
        // A question that was ended is none that rows have answered.
        try run.check()
        return plan
      }
    }
  }
}

/// What a store says about itself.
package struct StoreInfo {
  package var version: Int { history.version }
  /// How often the tables were changed.
  package var generation: Int64 { history.generation }
  package let model: Schema
  let history: StoreHistory

  /// Compares the history with steps, whatever those say that have not run yet.
  /// - Throws: ``StoreError/otherFormat(file:found:supported:)``, ``StoreError/historyConflict(_:)``,
  ///   ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)``.
  package func requireHistory(of migrations: MigrationSet, file: String) throws {
    try history.check(against: migrations, file: file)
  }

  /// Refuses a file of a format that this release does not know.
  /// - Throws: ``StoreError/otherFormat(file:found:supported:)``.
  package func requireKnownFormat(file: String) throws { try history.requireKnownFormat(file: file) }

  /// Registers what the store's tables and predicates rely on.
  package static func prepare(_ connection: Connection) throws { try StoreFunctions.register(on: connection) }

  /// - Throws: ``StoreError/notAStore(file:)``.
  package init(_ connection: Connection) throws {
    history = try StoreHistory.read(connection)
    model = try history.model()
  }

  /// A question for rows of an entity.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/otherFormat(file:found:supported:)``.
  package func rows(of entity: String, in connection: Connection) throws -> EntityRows {
    try requireKnownFormat(file: connection.path)
    return try EntityRows(model, entity: entity)
  }

  /// How many objects of an entity there are, without those of the entities below it.
  package func count(of entity: String, in connection: Connection) throws -> Int {
    Int(try connection.value("SELECT count(*) FROM \(model.ownPlace(of: entity).rows)")?.int64 ?? 0)
  }

  /// Values that are not of their attributes' types, a sentence each.
  package func valueFindings(_ connection: Connection) throws -> [String] {
    try TypeCheck(model: model).findings(connection).map { "\($0)" }
  }

  /// References to rows of another entity than they say, a sentence each.
  package func referenceFindings(_ connection: Connection) throws -> [String] {
    try ReferenceCheck.misled(connection, model)
  }

  /// Entities with a row whose id was never given out, a sentence each.
  package func idFindings(_ connection: Connection) throws -> [String] {
    try RowIDs(connection: connection).findings(model)
  }

  /// Tables, views, triggers and indexes that are neither of the model nor the store's own, a sentence each.
  package func foreignFindings(_ connection: Connection) throws -> [String] {
    try ForeignObjects(layout: model.layout).findings(connection)
  }

  /// What the tables have that the model has not, or the reverse.
  package func drift(_ connection: Connection) throws -> [String] {
    let expected = model.layout
    return SchemaDifference.lines(
      found: try SchemaDifference.found(expected, in: connection), expected: expected, repairing: model)
  }
}

extension Store {
  /// Creates a store at the last version of some steps, without opening it for work: no Swift class is needed.
  ///
  /// - Parameters:
  ///   - url: The new file.
  ///   - key: Its key.
  ///   - migrations: The steps.
  ///   - profile: Its cipher settings; by default the engine's for new files.
  ///   - progress: Counts the rows that steps write, and one for each step, where any writes rows; cancelling it, or the
  ///     task, ends the work.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.folderMissing`, `SQLError.emptyKey`;
  ///   ``StoreError``; `CancellationError`. There is no file then.
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
