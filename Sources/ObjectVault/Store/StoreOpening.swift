// One opening of a store with classes and steps: create or unlock the file, see whether anything is to be done, do it, then
// the pool. What is offered to programs is in Store+Open.

internal import CipherSQLite
internal import Foundation

/// What an opening was asked for.
struct StoreOpening: Sendable {
  let url: URL
  private let mapping: SchemaMapping
  private let classes: EntityClasses
  private let migrations: Store.Migrations
  private let configuration: Store.Configuration
  private let progress: Progress?
  /// What steps may come to; nil for whatever it takes.
  private let limit: MigrationLimit?
  /// Ends the opening.
  let stop = CancellableRun()
  private let checksums: [String]?
  /// The steps; nil as long as nothing but their checksums is needed, and where the store has them.
  private let steps: MigrationSet?

  /// - Throws: What is wrong with the classes, or with steps that were read for their checksums.
  init(
    _ url: URL, _ schema: Schema, _ migrations: Store.Migrations, _ configuration: Store.Configuration,
    _ progress: Progress?, limit: MigrationLimit? = nil
  ) throws {
    mapping = try SchemaMapping(schema)
    classes = try EntityClasses(mapping)
    if migrations.areCarried { try schema.requireNoRenamingDoubt(file: url.filePath) }
    checksums = migrations.checksums
    steps = checksums == nil && !migrations.areCarried ? try migrations.agreed(with: schema) : nil
    self.limit = limit
    (self.url, self.migrations, self.configuration, self.progress) = (
      url, migrations, configuration, progress
    )
  }

  /// What it came to.
  private struct Opened {
    let connection: Connection
    var key: UnlockedKey { connection.unlocked }
    var isNew = false
    var migrated = MigrationOutcome()
    var automaticStep: MigrationStep?
    /// Whether the program's steps are all of the store's: one that knows fewer shows nothing of what the last ones did.
    var hasAllSteps = true
    let standing: StoreStanding
  }

  /// Opens the store before it returns: without a limit on the caller's thread, as that has an ample stack.
  func open(_ key: Key) throws -> Store {
    // Once: the file that is migrated, and whose connections the pool holds, is the same whatever becomes of a link.
    let file = try DatabasePath(url.filePath)
    let record = RunRecord()
    let opened = try record.telling {
      guard limit != nil else {
        var steps = steps
        return try Store.afterMigrations(file.path, progress, stop) { try prepare(file, key, &steps, record) }
      }
      // Who said how long it may take is not kept waiting for somebody else's steps.
      return try AmpleStack.waiting {
        var steps = self.steps
        return try prepare(file, key, &steps, record)
      }
    }
    // Behind the pool's own: the last connection of a file takes the log away, and the next one makes it anew, which takes longer
    // than all the rest.
    defer { opened.connection.close() }
    let core = Store.core(file, mapping, classes, opened.standing)
    let pool = try Store.pool(file, opened.key, configuration, for: core)
    countOpening(opened, pool, file)
    return Store(
      core: core, pool: pool, url: url,
      id: opened.standing.storeID, schema: mapping.schema,
      opening: Store.Opening(
        isNew: opened.isNew, migratedSteps: opened.migrated.steps,
        automaticStep: opened.automaticStep, backup: opened.migrated.backup,
        version: opened.standing.version, cipher: opened.key.profile))
  }

  /// Of a store that remembers copies; any other is not written to.
  private func countOpening(_ opened: Opened, _ pool: ConnectionPool, _ file: DatabasePath) {
    guard let limit = configuration.backupOpenings, !opened.standing.copies.isEmpty,
      opened.migrated.steps.isEmpty, opened.hasAllSteps
    else { return }
    try? pool.withWriter { KeptCopies.countOpening($0, of: file, limit: limit) }
  }

  /// The steps, read when they are first needed.
  private func read(_ steps: inout MigrationSet?) throws -> MigrationSet {
    if let steps { return steps }
    let set = try migrations.agreed(with: mapping.schema)
    steps = set
    return set
  }

  private func prepare(
    _ file: DatabasePath, _ key: Key, _ steps: inout MigrationSet?, _ record: RunRecord
  ) throws -> Opened {
    let settings = Store.settings(configuration)
    let created = try createIfAbsent(file, key, &steps)
    let connection =
      try created.map { try Connection.open(file, unlocked: $0, configuration: settings) }
      ?? Connection.open(file, key: key, configuration: settings)
    do { return try prepare(connection, created != nil, file, &steps, record) } catch {
      connection.close()
      throw error
    }
  }

  private func prepare(
    _ connection: Connection, _ isNew: Bool, _ file: DatabasePath, _ steps: inout MigrationSet?,
    _ record: RunRecord
  ) throws -> Opened {
    if checksums != nil || migrations.areCarried {
      let expected = ExpectedStanding(checksums: checksums, schema: mapping.schema)
      if let standing = try expected.standing(of: connection) {
        MigrationLeavings.remove(of: file)
        return Opened(connection: connection, isNew: isNew, standing: standing)
      }
    }
    guard migrations.areCarried else { return try lead(connection, isNew, by: read(&steps), record) }
    // What the store carries may be another thing each time that it is looked at, and so is the step behind it, of which another
    // program with other classes may have made one meanwhile.
    var attempts = 0
    while true {
      let found = try StoreHistory.read(connection)
      let set = try found.automaticSteps(for: mapping.schema, file: file.path).transforming(
        by: migrations.transforms)
      do { return try lead(connection, isNew, by: set, record) } catch let error as StoreError {
        attempts += 1
        guard error.isOfOtherSteps, attempts < Self.maximumAttempts else { throw error }
        // Each time somebody has changed the steps since they were read: where nobody has, the error is true.
        let now = try StoreHistory.read(connection)
        guard now.generation != found.generation || now.steps != found.steps else { throw error }
      }
    }
  }

  /// How often the steps of others may come in between.
  private static let maximumAttempts = 20

  /// Runs the steps that a store lacks.
  private func lead(_ connection: Connection, _ isNew: Bool, by set: MigrationSet, _ record: RunRecord) throws
    -> Opened
  {
    try StoreFunctions.register(on: connection)
    let migrated: MigrationOutcome
    let standing: StoreStanding
    do {
      (migrated, standing) = try stop.run(connection) {
        try MigrationRunner(
          connection: connection, set: set, progress: progress, makesBackups: configuration.makesBackups,
          readers: mapping.schema.readers, commitsEachStep: configuration.commitsEachStep, limit: limit,
          record: record
        ).migrateToOpen()
      }
    } catch StoreError.historyConflict(.edited) where migrations.areMadeOfClasses {
      // Nobody edited a step: it was made of the classes as they are now.
      throw try otherClasses(connection)
    }
    return Opened(
      connection: connection, isNew: isNew, migrated: migrated,
      automaticStep: migrations.areCarried ? migrated.steps.last.map { set.steps[$0 - 1] } : nil,
      hasAllSteps: set.version == standing.version, standing: standing)
  }

  private func otherClasses(_ connection: Connection) throws -> StoreError {
    let (model, schema) = (try StoreHistory.read(connection).model(), mapping.schema)
    return .madeOfOtherClasses(
      file: connection.path,
      differences: SchemaDifference.lines(model, schema, found: "the store", expected: "the Swift schema"),
      lines: SchemaDifference.operations(from: model, to: schema).map(\.description))
  }

  /// - Returns: The key of a file that was made; nil where there is one.
  private func createIfAbsent(_ file: DatabasePath, _ key: Key, _ steps: inout MigrationSet?) throws
    -> UnlockedKey?
  {
    guard !file.isDanglingLink, !FileManager.default.fileExists(atPath: file.path) else { return nil }
    let (set, readers) = (try read(&steps), mapping.schema.readers)
    do {
      return try Connection.create(file, key: key, configuration: Store.settings(configuration)) {
        connection in
        try StoreFunctions.register(on: connection)
        try stop.run(connection) {
          try MigrationRunner(connection: connection, set: set, progress: nil, readers: readers).createStore()
        }
      }
    } catch SQLError.alreadyExists {
      // Somebody else was faster; theirs is as good.
      return nil
    }
  }
}

extension StoreError {
  /// Whether it says that the steps behind a store are others than those at hand, or more.
  fileprivate var isOfOtherSteps: Bool {
    switch self {
    case .historyConflict, .storeIsNewer: true
    default: false
    }
  }
}
