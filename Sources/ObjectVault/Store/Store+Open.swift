// Opening: create or unlock, migrate, compare the schema, then the pool.

public import CipherSQLite
public import Foundation

extension Store {
  /// Where the steps come from.
  public struct Migrations: Sendable {
    let load: @Sendable (Schema) throws -> MigrationSet

    /// The steps of a folder.
    public static func directory(_ url: URL) -> Migrations { Migrations { _ in try .directory(url) } }
    /// The steps of a generated `Embedded.swift`.
    public static func embedded(_ steps: [MigrationSet.Embedded]) -> Migrations {
      Migrations { _ in try .embedded(steps) }
    }
    /// Steps that were read before.
    public static func set(_ set: MigrationSet) -> Migrations { Migrations { _ in set } }
    /// One step that creates the schema: see ``MigrationSet/creating(_:)``. When the schema changes, a store
    /// made with it is refused until the change is written down as a second step.
    public static let creatingSchema = Migrations { try .creating($0) }
  }

  /// Opens a store; creates it if there is none; runs the steps that it lacks.
  ///
  /// - Parameters:
  ///   - url: The file. Its folder has to exist.
  ///   - key: Asked for its bytes once; they are derived (20 to 100 ms for a passphrase) and wiped.
  ///   - schema: The Swift classes.
  ///   - migrations: The steps. Their model must be the schema's.
  ///   - configuration: Cache, readers, time-outs.
  ///   - progress: Counts the steps that run, and has `ProgressUserInfoKey.storeIsWaitingFor` while another
  ///     process runs them. Cancelling it, or the task, undoes them all.
  /// - Throws: ``StoreError`` for schema, steps and history; ``SQLError`` for file and key;
  ///   `CancellationError`. The file is then as it was.
  public static func open(
    at url: URL, key: Key, schema: Schema, migrations: Migrations,
    configuration: Configuration = Configuration(), progress: Progress? = nil
  ) async throws -> Store {
    PredicateWarmUp.start()
    let mapping = try SchemaMapping(schema)
    let classes = try EntityClasses(mapping)
    let set = try migrations.load(schema)
    try checkAgreement(schema, set)
    let key = try await key.resolved()
    let stop = CancellableRun()
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      return try await detached {
        try open(url, key, mapping, classes, set, configuration, progress, stop)
      }
    } onCancel: {
      progress?.cancel()
      stop.cancel()
    }
  }

  static func checkAgreement(_ schema: Schema, _ set: MigrationSet) throws {
    let model = try set.model(at: set.version)
    guard schema != model else { return }
    throw StoreError.schemaMismatch(
      differences: SchemaDifference.lines(model, schema, found: "the steps", expected: "the Swift schema"),
      lines: SchemaDifference.operations(from: model, to: schema).map(\.description))
  }

  private static func open(
    _ url: URL, _ key: Key, _ mapping: SchemaMapping, _ classes: EntityClasses,
    _ set: MigrationSet, _ configuration: Configuration,
    _ progress: Progress?, _ stop: CancellableRun
  ) throws -> Store {
    let settings = settings(configuration)
    // Once: the file that is migrated, and whose connections the pool holds, is the same whatever becomes of a link.
    let file = try DatabasePath(url.path)
    progress?.cancellationHandler = { stop.cancel() }
    defer { progress?.cancellationHandler = nil }
    let readers = mapping.schema.readers
    let opened = try afterMigrations(file.path, progress, stop) {
      try openAndMigrate(file, key, set, readers, settings, configuration, progress, stop)
    }
    let (key, history) = (opened.key, opened.history)

    return Store(
      core: core(file, mapping, classes, history), pool: try pool(file, key, configuration), url: url,
      id: history.storeID,
      schema: mapping.schema,
      opening: Opening(
        isNew: opened.isNew, migratedSteps: opened.migrated.steps, backup: opened.migrated.backup,
        version: history.version,
        cipher: key.profile))
  }

  static func settings(_ configuration: Configuration) -> Connection.Configuration {
    var settings = Connection.Configuration()
    settings.busyTimeout = configuration.busyTimeout
    settings.cacheBytes = configuration.cacheSize
    settings.profile = configuration.profile
    return settings
  }

  static func core(
    _ file: DatabasePath, _ mapping: SchemaMapping, _ classes: EntityClasses, _ history: StoreHistory
  ) -> StoreCore {
    StoreCore(
      mapping: mapping, classes: classes, path: file.path, generation: history.generation,
      id: history.storeID)
  }

  static func pool(_ file: DatabasePath, _ key: UnlockedKey, _ configuration: Configuration) throws
    -> ConnectionPool
  {
    var pool = ConnectionPool.Configuration()
    pool.connection = settings(configuration)
    pool.readers = configuration.readers
    pool.readerCacheBytes = configuration.cacheSize / 2
    pool.isFullSync = configuration.isFullSync
    pool.prepare = { try StoreFunctions.register(on: $0) }
    return try ConnectionPool(file: file, unlocked: key, configuration: pool)
  }

  private struct Opened {
    let key: UnlockedKey
    let isNew: Bool
    let migrated: MigrationOutcome
    let history: StoreHistory
  }

  private static func openAndMigrate(
    _ file: DatabasePath, _ key: Key, _ set: MigrationSet, _ readers: [String: ValueReader],
    _ settings: Connection.Configuration, _ configuration: Configuration, _ progress: Progress?,
    _ stop: CancellableRun
  ) throws -> Opened {
    let (unlocked, isNew) = try createIfAbsent(file, key, set, readers, settings)
    let connection =
      try unlocked.map { try Connection.open(file, unlocked: $0, configuration: settings) }
      ?? Connection.open(file, key: key, configuration: settings)
    defer { connection.close() }
    try StoreFunctions.register(on: connection)
    let migrated = try stop.run(connection) {
      try MigrationRunner(
        connection: connection, set: set, progress: progress, makesBackups: configuration.makesBackups,
        readers: readers
      ).migrate()
    }
    return Opened(
      key: connection.unlocked, isNew: isNew, migrated: migrated, history: try StoreHistory.read(connection))
  }

  /// Runs `body`, and runs it again for as long as it meets the lock of somebody who migrates the store: however
  /// long that takes, the store is of use only afterwards.
  static func afterMigrations<Result>(
    _ path: String, _ progress: Progress?, _ stop: CancellableRun, _ body: () throws -> Result
  ) throws -> Result {
    defer { progress?.setUserInfoObject(nil, forKey: .storeIsWaitingFor) }
    while true {
      let wasHeld = MigrationMark.isHeld(path)
      do { return try body() } catch let error as SQLError where error.isBusy {
        try stop.check()
        guard wasHeld || MigrationMark.isHeld(path) else { throw error }
        progress?.setUserInfoObject(
          "Another process is migrating the store; waiting for it.", forKey: .storeIsWaitingFor)
      }
    }
  }

  private static func createIfAbsent(
    _ file: DatabasePath, _ key: Key, _ set: MigrationSet, _ readers: [String: ValueReader],
    _ settings: Connection.Configuration
  ) throws -> (UnlockedKey?, Bool) {
    guard !file.isDanglingLink, !FileManager.default.fileExists(atPath: file.path) else {
      return (nil, false)
    }
    do {
      let unlocked = try Connection.create(file, key: key, configuration: settings) { connection in
        try StoreFunctions.register(on: connection)
        try MigrationRunner(connection: connection, set: set, progress: nil, readers: readers).createStore()
      }
      return (unlocked, true)
    } catch SQLError.alreadyExists {
      // Somebody else was faster; theirs is as good.
      return (nil, false)
    }
  }
}

extension ProgressUserInfoKey {
  /// What an opening store waits for, a sentence; absent while it waits for nobody.
  public static let storeIsWaitingFor = ProgressUserInfoKey(rawValue: "ObjectVault.storeIsWaitingFor")
}
