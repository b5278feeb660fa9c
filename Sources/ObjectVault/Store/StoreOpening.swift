// Opening a store with classes and steps: create or unlock the file, find out whether steps are missing,
// run them, then create the connection pool. The interface for programs is in Store+Open.

internal import CipherSQLite
internal import Foundation

/// The parameters of an opening, and the opening itself.
struct StoreOpening: Sendable {
  let url: URL
  private let mapping: SchemaMapping
  private let classes: EntityClasses
  private let migrations: Store.Migrations
  private let configuration: Store.Configuration
  private let progress: Progress?
  /// The maximum amount of work for the steps; nil for no limit.
  private let limit: MigrationLimit?
  /// The folder that is removed with the store; nil if the store stays.
  private let folder: PrivateFolder?
  /// Cancels the opening.
  let stop: CancellableRun
  private let checksums: [String]?
  /// The steps; nil if the checksums may be sufficient, or if the store carries the steps.
  private let steps: MigrationSet?

  /// Prepares an opening, without access to the file of the store.
  /// - Throws: Errors of the classes, and of steps that must be read because their checksums are not
  ///   known.
  init(
    _ url: URL, schema: Schema, migrations: Store.Migrations, configuration: Store.Configuration,
    progress: Progress?, limit: MigrationLimit? = nil, in folder: PrivateFolder? = nil,
    stop: CancellableRun = CancellableRun()
  ) throws {
    mapping = try SchemaMapping(schema)
    classes = try EntityClasses(mapping)
    if migrations.areCarried { try schema.requireNoRenamingDoubt(file: url.filePath) }
    checksums = migrations.checksums
    steps = checksums == nil && !migrations.areCarried ? try migrations.agreed(with: schema) : nil
    (self.limit, self.folder, self.stop) = (limit, folder, stop)
    (self.url, self.migrations, self.configuration, self.progress) = (
      url, migrations, configuration, progress
    )
  }

  /// The result of an opening.
  private struct Opened {
    let connection: Connection
    var key: UnlockedKey { connection.unlocked }
    var isNew = false
    var migrated = MigrationOutcome()
    var automaticStep: MigrationStep?
    /// Whether the program has all steps of the store. Otherwise this opening is not counted, because it
    /// does not show whether the last steps did what was intended.
    var hasAllSteps = true
    /// Whether the steps made all indexes that ignore case or diacritics.
    var foldedIndexesAreNew = false
    let storeState: StoreState
  }

  /// Opens the store synchronously. Without a limit it runs on the caller's thread, which must have a
  /// large stack.
  func open(_ key: Key) throws -> Store {
    // Resolved once: the file that is migrated and the file of the pool's connections are then the same,
    // even if a symbolic link changes.
    let file = try DatabasePath(url.filePath)
    let record = RunRecord()
    let opened = try record.reportingCommittedSteps {
      guard limit != nil else {
        var steps = steps
        return try Store.afterMigrations(file.path, progress: progress, stop: stop) {
          try prepare(file, key: key, steps: &steps, record: record)
        }
      }
      // A caller that sets a limit does not wait for the steps of another process.
      return try LargeStackThread.runBlocking {
        var steps = self.steps
        return try prepare(file, key: key, steps: &steps, record: record)
      }
    }
    // Closed after the pool has opened its connections: closing the last connection removes the
    // write-ahead log, and the pool would have to create it again.
    defer { opened.connection.close() }
    let core = Store.core(
      file, mapping: mapping, classes: classes, storeState: opened.storeState, configuration: configuration)
    let pool = try Store.pool(
      file, key: opened.key, configuration: configuration, for: core, in: folder)
    countOpening(opened, in: pool, of: file)
    do {
      try Store.sortFoldedIndexes(
        in: pool, foundBy: opened.connection, areNew: opened.isNew || opened.foldedIndexesAreNew)
    } catch {
      pool.close()
      throw error
    }
    return Store(
      core: core, pool: pool, url: url,
      id: opened.storeState.storeID, schema: mapping.schema,
      opening: Store.Opening(
        isNew: opened.isNew, migratedSteps: opened.migrated.steps,
        automaticStep: opened.automaticStep, backup: opened.migrated.backup,
        version: opened.storeState.version, cipher: opened.key.profile))
  }

  /// Counts this opening for the deletion of backup copies. Writes nothing if the store has none.
  private func countOpening(_ opened: Opened, in pool: ConnectionPool, of file: DatabasePath) {
    guard let limit = configuration.backupOpenings, !opened.storeState.copies.isEmpty,
      opened.migrated.steps.isEmpty, opened.hasAllSteps
    else { return }
    try? pool.withWriter { KeptCopies.countOpening($0, of: file, limit: limit) }
  }

  /// Returns the steps, which are read on first use.
  private func read(_ steps: inout MigrationSet?) throws -> MigrationSet {
    if let steps { return steps }
    let set = try migrations.agreed(with: mapping.schema)
    steps = set
    return set
  }

  private func prepare(
    _ file: DatabasePath, key: Key, steps: inout MigrationSet?, record: RunRecord
  ) throws -> Opened {
    let settings = Store.settings(configuration)
    let created = try createIfAbsent(file, key: key, steps: &steps)
    let connection =
      try created.map { try Connection.open(file, unlocked: $0, configuration: settings) }
      ?? Connection.open(file, key: key, configuration: settings)
    do {
      return try prepare(connection, isNew: created != nil, file: file, steps: &steps, record: record)
    } catch {
      connection.close()
      throw error
    }
  }

  private func prepare(
    _ connection: Connection, isNew: Bool, file: DatabasePath, steps: inout MigrationSet?,
    record: RunRecord
  ) throws -> Opened {
    if checksums != nil || migrations.areCarried {
      let expected = ExpectedState(checksums: checksums, schema: mapping.schema)
      if let storeState = try expected.storeState(of: connection) {
        MigrationLeavings.remove(of: file)
        return Opened(connection: connection, isNew: isNew, storeState: storeState)
      }
    }
    guard migrations.areCarried else {
      return try lead(connection, isNew: isNew, by: read(&steps), record: record)
    }
    // Another program can change the steps that the store carries, and can add an automatic step for
    // other classes. The steps are then read again, and a new automatic step is derived from them.
    var attempts = 0
    while true {
      let found = try StoreHistory.read(connection)
      let set = try found.automaticSteps(for: mapping.schema, file: file.path).transforming(
        by: migrations.transforms)
      do { return try lead(connection, isNew: isNew, by: set, record: record) } catch let error as StoreError
      {
        attempts += 1
        guard error.isDueToOtherSteps, attempts < Self.maximumAttempts else { throw error }
        // Tries again only if another program has changed the steps since they were read. Otherwise the
        // error is correct.
        let now = try StoreHistory.read(connection)
        guard now.generation != found.generation || now.steps != found.steps else { throw error }
      }
    }
  }

  /// The maximum number of attempts while other programs change the steps.
  private static let maximumAttempts = 20

  /// Runs the steps that a store lacks.
  private func lead(_ connection: Connection, isNew: Bool, by set: MigrationSet, record: RunRecord) throws
    -> Opened
  {
    try StoreFunctions.register(on: connection)
    configuration.trace?.observe(connection)
    let migrated: MigrationOutcome
    let storeState: StoreState
    // Before the steps: they change rows, which an index in a wrong order does not find.
    let folded = FoldedIndexes(connection: connection) { Folding.version }
    let hadFolded = try folded.exist()
    if hadFolded { try stop.run(connection) { try folded.sort() } }
    do {
      (migrated, storeState) = try stop.run(connection) {
        try MigrationRunner(
          connection: connection, set: set, progress: progress, makesBackups: configuration.makesBackups,
          readers: mapping.schema.readers, commitsEachStep: configuration.commitsEachStep, limit: limit,
          keepsStatistics: configuration.keepsStatistics, record: record
        ).migrateToOpen()
      }
    } catch StoreError.historyConflict(.edited) where migrations.areMadeOfClasses {
      // No step was edited: the step is derived from the present classes, which differ from the store's.
      throw try otherClasses(connection)
    }
    return Opened(
      connection: connection, isNew: isNew, migrated: migrated,
      automaticStep: migrations.areCarried ? migrated.steps.last.map { set.steps[$0 - 1] } : nil,
      hasAllSteps: set.version == storeState.version, foldedIndexesAreNew: !hadFolded,
      storeState: storeState)
  }

  private func otherClasses(_ connection: Connection) throws -> StoreError {
    let (model, schema) = (try StoreHistory.read(connection).model(), mapping.schema)
    return .madeOfOtherClasses(
      file: connection.path,
      differences: SchemaDifference.lines(
        model, against: schema, found: "the store", expected: "the Swift schema"),
      lines: SchemaDifference.operations(from: model, to: schema).map(\.description))
  }

  /// Creates the store if its file does not exist.
  /// - Returns: The key of a file that was created; nil if the file exists.
  private func createIfAbsent(_ file: DatabasePath, key: Key, steps: inout MigrationSet?) throws
    -> UnlockedKey?
  {
    guard !file.isDanglingLink, !FileManager.default.fileExists(atPath: file.path) else { return nil }
    let (set, readers) = (try read(&steps), mapping.schema.readers)
    do {
      return try Connection.create(file, key: key, configuration: Store.settings(configuration)) {
        connection in
        try StoreFunctions.register(on: connection)
        configuration.trace?.observe(connection)
        try stop.run(connection) {
          try MigrationRunner(connection: connection, set: set, progress: nil, readers: readers).createStore()
        }
      }
    } catch SQLError.alreadyExists {
      // Another process has created the file, which can be used as well.
      return nil
    }
  }
}

extension StoreError {
  /// Whether the store has other steps, or more, than this program.
  fileprivate var isDueToOtherSteps: Bool {
    switch self {
    case .historyConflict, .storeIsNewer: true
    default: false
    }
  }
}
