// Opening with classes and steps: the interface for programs. The implementation is in StoreOpening.

public import CipherSQLite
public import Foundation

extension Store {
  /// The source of a program's migration steps.
  public struct Migrations: Sendable {
    enum Source: Sendable {
      case read(@Sendable (Schema) throws -> MigrationSet)
      case embedded([MigrationSet.Embedded])
      /// One step, derived from the classes.
      case classes
      /// The steps that the store carries, and another one if the classes differ from its model.
      case carried
    }
    let source: Source
    /// The app's functions that steps call.
    var transforms: [MigrationTransform] = []

    /// Reads the steps from a folder.
    /// - Parameter url: The folder.
    /// - Returns: The source.
    public static func directory(_ url: URL) -> Migrations {
      Migrations(source: .read { _ in try .directory(url) })
    }
    /// Uses the steps of a generated `Embedded.swift`.
    ///
    /// A store that has run all of them opens without reading any: their checksums are compared with
    /// those in the store.
    /// - Parameter steps: The steps.
    /// - Returns: The source.
    public static func embedded(_ steps: [MigrationSet.Embedded]) -> Migrations {
      Migrations(source: .embedded(steps))
    }
    /// Uses steps that were read before.
    /// - Parameter set: The steps.
    /// - Returns: The source.
    public static func set(_ set: MigrationSet) -> Migrations { Migrations(source: .read { _ in set }) }
    /// One step that creates the schema: see ``MigrationSet/creating(_:)``.
    ///
    /// When the schema changes, a store that was created by this step is refused until the change is
    /// written as a second step (``StoreError/madeOfOtherClasses(file:differences:lines:)``).
    public static let creatingSchema = Migrations(source: .classes)
    /// No steps from the program, for a prototype or a cache: if the classes differ from the store's
    /// model, opening creates the step and runs it.
    ///
    /// Opening creates a step only for changes that lose nothing and can be rolled back: new entities,
    /// properties that are optional or have a default, relationships, indexes, changed defaults and
    /// delete rules, properties that become optional, and properties that are renamed, if the class
    /// declares the former name. Any other change is refused with
    /// ``StoreError/notAutomatic(file:reasons:lines:)``, which has the lines to write. The created step
    /// is ``Store/Opening-swift.struct/automaticStep``. To continue with files, take all steps of the
    /// store from ``Store/carriedSteps(at:key:profile:)``.
    public static let automatic = Migrations(source: .carried)
  }

  /// Opens a store. Creates it if it does not exist, and runs the steps that it lacks.
  /// - Parameters:
  ///   - url: The file. Its folder must exist.
  ///   - key: The encryption key is derived from it once (20 to 100 ms for a passphrase); the library
  ///     then wipes its own copy.
  ///   - schema: The Swift classes.
  ///   - migrations: The steps. Their model must be the schema's.
  ///   - configuration: Cache, readers, time-outs.
  ///   - progress: Counts the rows that steps rewrite, plus one unit for each step. Its user info has
  ///     `ProgressUserInfoKey.storeIsWaitingFor` while another process migrates the store. Cancelling it
  ///     or the task rolls back the steps, except those that were committed on their own.
  /// - Returns: The open store.
  /// - Throws: ``StoreError`` for schema, steps and history; ``SQLError`` for file and key;
  ///   `CancellationError`. The file is then unchanged, or has the version after the last step that was
  ///   committed on its own.
  public static func open(
    at url: URL, key: Key, schema: Schema, migrations: Migrations,
    configuration: Configuration = Configuration(), progress: Progress? = nil
  ) async throws -> Store {
    PredicateWarmUp.start()
    let opening = try StoreOpening(
      url, schema: schema, migrations: migrations, configuration: configuration, progress: progress)
    let key = try await key.resolved()
    return try await cancellable(opening.stop, by: progress) { _ in try opening.open(key) }
  }

  /// Opens a store synchronously, unless its steps would take too long: for the start of an app.
  ///
  /// The caller's thread waits. Steps run on another thread, whose stack is large enough for the deepest
  /// of their expressions. If the work of the missing steps exceeds `limit`, none runs, and the error
  /// states the work. The app can then show a progress bar, and call
  /// ``open(at:key:schema:migrations:configuration:progress:)`` with its `Progress`. A new store is
  /// created whatever its steps are. While another process migrates the store, this waits no longer than
  /// for any other lock.
  /// - Parameters:
  ///   - url: The file. Its folder must exist.
  ///   - key: A resolved key: one from a `Key.provider` must be resolved before. A passphrase takes 20 to
  ///     100 ms.
  ///   - schema: The Swift classes.
  ///   - migrations: The steps. Their model must be the schema's.
  ///   - limit: The maximum amount of work for the steps.
  ///   - configuration: Cache, readers, time-outs.
  /// - Returns: The open store.
  /// - Throws: ``StoreError/migrationNeeded(_:)``; `SQLError.busy`; otherwise as
  ///   ``open(at:key:schema:migrations:configuration:progress:)``.
  public static func open(
    at url: URL, key: Key, schema: Schema, migrations: Migrations, migratingAtMost limit: MigrationLimit,
    configuration: Configuration = Configuration()
  ) throws -> Store {
    PredicateWarmUp.start()
    return try StoreOpening(
      url, schema: schema, migrations: migrations, configuration: configuration, progress: nil, limit: limit
    ).open(key)
  }

  static func settings(_ configuration: Configuration) -> Connection.Configuration {
    var settings = Connection.Configuration()
    settings.busyTimeout = configuration.busyTimeout
    settings.cacheBytes = configuration.cacheSize
    settings.profile = configuration.profile
    settings.dates = .secondsSinceReferenceDate
    return settings
  }

  static func core(
    _ file: DatabasePath, mapping: SchemaMapping, classes: EntityClasses, storeState: StoreState,
    configuration: Configuration
  ) -> StoreCore {
    StoreCore(
      mapping: mapping, classes: classes, path: file.path, generation: storeState.generation,
      id: storeState.storeID, version: storeState.version, matchLimit: configuration.matchLimit,
      describesValues: configuration.describesValues)
  }

  /// Sorts the indexes that ignore case or diacritics again if another release of Unicode has sorted them.
  /// - Parameter connection: A connection to the store, on which its functions need not be registered.
  static func sortFoldedIndexes(
    in pool: ConnectionPool, foundBy connection: Connection, areNew: Bool = false
  ) throws {
    guard try FoldedIndexes(connection: connection, release: { Folding.version }).areForeign() else { return }
    try pool.withWriter { writer in
      try FoldedIndexes(connection: writer) { Folding.version }.sort(areNew: areNew)
    }
  }

  static func pool(
    _ file: DatabasePath, key: UnlockedKey, configuration: Configuration, for core: StoreCore,
    in folder: PrivateFolder? = nil
  ) throws -> ConnectionPool {
    var pool = ConnectionPool.Configuration()
    pool.connection = settings(configuration)
    pool.folder = folder
    pool.readers = configuration.readers
    pool.readerCacheBytes = configuration.cacheSize / 2
    pool.isFullSync = configuration.isFullSync
    pool.keepsStatistics = configuration.keepsStatistics
    pool.groupLimits = WriteGroup.Limits(
      seconds: configuration.enqueueInterval, count: configuration.enqueueLimit)
    pool.onGroupCommit = { core.feed.didCommitGroup() }
    pool.onNilColumns = { core.learn(nilColumns: $0) }
    pool.prepare = { [trace = configuration.trace, matchLimit = configuration.matchLimit] connection in
      try StoreFunctions.register(on: connection, matchLimit: matchLimit)
      trace?.observe(connection)
    }
    return try ConnectionPool(file: file, unlocked: key, configuration: pool)
  }

  /// Runs `body`. If another process migrates the store and its lock makes `body` fail, waits until that
  /// process has finished, and runs `body` again.
  static func afterMigrations<Result>(
    _ path: String, progress: Progress?, stop: CancellableRun, atMost seconds: Double? = nil,
    _ body: () throws -> Result
  ) throws -> Result {
    defer { progress?.setUserInfoObject(nil, forKey: .storeIsWaitingFor) }
    return try MigrationMark.waiting(for: path, atMost: seconds, unless: stop.check) { isHeld in
      // Reported before the first attempt, because the migrating process has the lock already.
      if isHeld {
        progress?.setUserInfoObject(
          "Another process is migrating the store; waiting for it.", forKey: .storeIsWaitingFor)
      }
      return try body()
    }
  }
}

extension Store.Migrations {
  /// The checksums of the steps in their order; nil if the steps must be read first.
  var checksums: [String]? {
    if case .embedded(let steps) = source { MigrationSet.Embedded.checksums(of: steps) } else { nil }
  }

  /// Whether the steps are those that the store carries.
  var areCarried: Bool { if case .carried = source { true } else { false } }

  /// Whether there is one step, which is derived from the classes.
  var areMadeOfClasses: Bool { if case .classes = source { true } else { false } }

  /// Returns the program's steps, whose model must be that of the classes. For `.carried` and `.classes`,
  /// returns one step that creates the schema.
  /// - Throws: ``StoreError/schemaMismatch(differences:lines:)``; the errors of reading the steps.
  func agreed(with schema: Schema) throws -> MigrationSet {
    let steps: MigrationSet
    switch source {
    case .read(let read): steps = try read(schema)
    case .embedded(let embedded): steps = try .embedded(embedded)
    case .carried, .classes: return try .creating(schema)
    }
    let set = steps.transforming(by: transforms)
    let model = try set.model(at: set.version)
    guard schema != model else { return set }
    throw StoreError.schemaMismatch(
      differences: SchemaDifference.lines(
        model, against: schema, found: "the steps", expected: "the Swift schema"),
      lines: SchemaDifference.operations(from: model, to: schema).map(\.description))
  }
}

extension ProgressUserInfoKey {
  /// A sentence that states what an opening store waits for; absent while it does not wait.
  public static let storeIsWaitingFor = ProgressUserInfoKey(rawValue: "ObjectVault.storeIsWaitingFor")
}
