// Opening with classes and steps, as programs ask for it. How it is done is in StoreOpening.

public import CipherSQLite
public import Foundation

extension Store {
  /// Where the steps come from.
  public struct Migrations: Sendable {
    enum Source: Sendable {
      case read(@Sendable (Schema) throws -> MigrationSet)
      case embedded([MigrationSet.Embedded])
      /// One step, made of the classes.
      case classes
      /// What the store carries, and one more where the classes are others.
      case carried
    }
    let source: Source
    /// The app's functions that steps call.
    var transforms: [MigrationTransform] = []

    /// The steps of a folder.
    public static func directory(_ url: URL) -> Migrations {
      Migrations(source: .read { _ in try .directory(url) })
    }
    /// The steps of a generated `Embedded.swift`.
    ///
    /// A store that has them all opens without reading any: their checksums are compared with those that it remembers.
    public static func embedded(_ steps: [MigrationSet.Embedded]) -> Migrations {
      Migrations(source: .embedded(steps))
    }
    /// Steps that were read before.
    public static func set(_ set: MigrationSet) -> Migrations { Migrations(source: .read { _ in set }) }
    /// One step that creates the schema: see ``MigrationSet/creating(_:)``. When the schema changes, a store
    /// made with it is refused until the change is written down as a second step
    /// (``StoreError/madeOfOtherClasses(file:differences:lines:)``).
    public static let creatingSchema = Migrations(source: .classes)
    /// No steps of one's own, for a prototype or a cache: where the classes have become others than the store's model, opening
    /// makes the step and runs it.
    ///
    /// It does so for what loses nothing and leads back: new entities, properties that are optional or have a default,
    /// relationships, indexes, other defaults and delete rules, a property that may be nil from now on, a name that its class
    /// declares as a former one. Anything else is ``StoreError/notAutomatic(file:reasons:lines:)`` with the lines to write.
    /// The step is ``Store/Opening-swift.struct/automaticStep``; all that a store carries are
    /// ``Store/carriedSteps(at:key:profile:)``, to go on with files from there.
    public static let automatic = Migrations(source: .carried)
  }

  /// Opens a store; creates it if there is none; runs the steps that it lacks.
  ///
  /// - Parameters:
  ///   - url: The file. Its folder has to exist.
  ///   - key: Asked for its bytes once; they are derived (20 to 100 ms for a passphrase) and wiped.
  ///   - schema: The Swift classes.
  ///   - migrations: The steps. Their model must be the schema's.
  ///   - configuration: Cache, readers, time-outs.
  ///   - progress: Counts the rows that steps write again and one for each step, and has
  ///     `ProgressUserInfoKey.storeIsWaitingFor` while another process runs them. Cancelling it, or the task, undoes them
  ///     all.
  /// - Throws: ``StoreError`` for schema, steps and history; ``SQLError`` for file and key;
  ///   `CancellationError`. The file is then as it was.
  public static func open(
    at url: URL, key: Key, schema: Schema, migrations: Migrations,
    configuration: Configuration = Configuration(), progress: Progress? = nil
  ) async throws -> Store {
    PredicateWarmUp.start()
    let opening = try StoreOpening(url, schema, migrations, configuration, progress)
    let key = try await key.resolved()
    return try await cancellable(opening.stop, by: progress) { _ in try opening.open(key) }
  }

  /// Opens a store before it returns, unless that would take too long: for the start of an app. The caller's thread waits; steps run
  /// on one with a stack for the deepest of their expressions.
  ///
  /// Where the steps that the store lacks come to more than `limit`, none runs, and the error says what there is to do: show
  /// that, and call ``open(at:key:schema:migrations:configuration:progress:)`` with a `Progress`. A new store is made whatever
  /// its steps are. While another process migrates the store, this does not wait for it longer than for any other lock.
  /// - Parameters:
  ///   - url: The file. Its folder has to exist.
  ///   - key: As it is: one of a `Key.provider` has to be resolved before. A passphrase takes 20 to 100 ms.
  ///   - schema: The Swift classes.
  ///   - migrations: The steps. Their model must be the schema's.
  ///   - limit: How much the steps may come to.
  ///   - configuration: Cache, readers, time-outs.
  /// - Throws: ``StoreError/migrationNeeded(_:)``; `SQLError.busy`; else as
  ///   ``open(at:key:schema:migrations:configuration:progress:)``. The file is then as it was.
  public static func open(
    at url: URL, key: Key, schema: Schema, migrations: Migrations, migratingAtMost limit: MigrationLimit,
    configuration: Configuration = Configuration()
  ) throws -> Store {
    PredicateWarmUp.start()
    return try StoreOpening(url, schema, migrations, configuration, nil, limit: limit).open(key)
  }

  static func settings(_ configuration: Configuration) -> Connection.Configuration {
    var settings = Connection.Configuration()
    settings.busyTimeout = configuration.busyTimeout
    settings.cacheBytes = configuration.cacheSize
    settings.profile = configuration.profile
    return settings
  }

  static func core(
    _ file: DatabasePath, _ mapping: SchemaMapping, _ classes: EntityClasses, _ standing: StoreStanding
  ) -> StoreCore {
    StoreCore(
      mapping: mapping, classes: classes, path: file.path, generation: standing.generation,
      id: standing.storeID)
  }

  static func pool(
    _ file: DatabasePath, _ key: UnlockedKey, _ configuration: Configuration, for core: StoreCore
  ) throws -> ConnectionPool {
    var pool = ConnectionPool.Configuration()
    pool.connection = settings(configuration)
    pool.readers = configuration.readers
    pool.readerCacheBytes = configuration.cacheSize / 2
    pool.isFullSync = configuration.isFullSync
    pool.keepsStatistics = true
    pool.onNilColumns = { core.learn(nilColumns: $0) }
    pool.prepare = { try StoreFunctions.register(on: $0) }
    return try ConnectionPool(file: file, unlocked: key, configuration: pool)
  }

  /// Runs `body`, and runs it again for as long as it meets the lock of somebody who migrates the store: however
  /// long that takes, the store is of use only afterwards.
  static func afterMigrations<Result>(
    _ path: String, _ progress: Progress?, _ stop: CancellableRun, atMost seconds: Double? = nil,
    _ body: () throws -> Result
  ) throws -> Result {
    defer { progress?.setUserInfoObject(nil, forKey: .storeIsWaitingFor) }
    return try MigrationMark.waiting(for: path, atMost: seconds, unless: stop.check) { isHeld in
      // At once: whatever this one asks for first, that one has it.
      if isHeld {
        progress?.setUserInfoObject(
          "Another process is migrating the store; waiting for it.", forKey: .storeIsWaitingFor)
      }
      return try body()
    }
  }
}

extension Store.Migrations {
  /// The checksums of the steps in their order, where they are known without reading the steps.
  var checksums: [String]? {
    if case .embedded(let steps) = source { MigrationSet.Embedded.checksums(of: steps) } else { nil }
  }

  /// Whether the store has the steps.
  var areCarried: Bool { if case .carried = source { true } else { false } }

  /// Whether there is one step, and the classes are it.
  var areMadeOfClasses: Bool { if case .classes = source { true } else { false } }

  /// The steps, which have to make the model of the classes.
  /// - Throws: ``StoreError/schemaMismatch(differences:lines:)``; what reading them throws.
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
      differences: SchemaDifference.lines(model, schema, found: "the steps", expected: "the Swift schema"),
      lines: SchemaDifference.operations(from: model, to: schema).map(\.description))
  }
}

extension ProgressUserInfoKey {
  /// What an opening store waits for, a sentence; absent while it waits for nobody.
  public static let storeIsWaitingFor = ProgressUserInfoKey(rawValue: "ObjectVault.storeIsWaitingFor")
}
