// How steps run: one algorithm, both engines, the whole chain in one transaction.
// What is asked before the first of them is in MigrationRunner+Conditions, the change of a file's format in
// MigrationRunner+Format, the statements of a step in MigrationRunner+Parts; RowAudit checks what they did to rows.

internal import CipherSQLite
internal import Foundation

/// Runs steps on one connection. The caller sees to it that nobody else uses the connection.
struct MigrationRunner {
  let connection: Connection
  let set: MigrationSet
  let progress: Progress?
  /// Whether the copies that steps ask for are made.
  var makesBackups = true
  /// Losses that are allowed beside those that the steps' authors allowed, such as `User.city`.
  var allowedLosses: Set<String> = []
  /// What the Swift types of the last model take; empty where a program runs steps without classes.
  var readers: [String: ValueReader] = [:]

  // MARK: A new store

  /// Fills an empty file. Without seeds it is created straight from the last model; with seeds by running all
  /// steps, because a seed is written for the model of its own step.
  func createStore() throws {
    let model = try set.model(at: set.version)
    let hasSeeds = set.steps.contains {
      $0.operations.contains { if case .seed = $0 { true } else { false } }
    }
    try withoutForeignKeys {
      try connection.transaction(.exclusive) {
        try OwnTables(connection).create()
        var replayed = Schema()
        var audit = try RowAudit(connection, readers: readers, model: nil)
        for step in set.steps {
          let start = Date()
          if hasSeeds {
            let compiled = try step.compiled(from: replayed, engine: .current)
            // What a step requires of rows, it requires of those that were there before it.
            try run(compiled.parts.filter { !$0.isRequirement }, of: step, &audit)
            replayed = compiled.model
          }
          try record(step, kind: "created", since: start, model: hasSeeds ? replayed : model)
        }
        if !hasSeeds { for table in model.tables { try create(table, model) } }
        try audit.finish(model)
        try finish(model, generation: 1)
      }
    }
  }

  private func create(_ table: TableInfo, _ model: Schema) throws {
    try connection.execute(sql: table.createSQL(model.layout(ofTable: table.name)))
    for index in table.indexes { try connection.execute(sql: table.indexSQL(index)) }
  }

  // MARK: An existing store

  /// Runs all pending steps.
  /// A copy that a step asks for is made under the lock, before the first of them, and removed again when the
  /// steps fail: the store is then what the copy is.
  /// - Throws: ``StoreError``, and `CancellationError` when `progress` is cancelled; the store is then as
  ///   it was.
  func migrate() throws -> MigrationOutcome {
    let history = try StoreHistory.read(connection)
    try history.check(against: set, file: connection.path)
    guard history.version < set.version || history.format < FileFormat.current else {
      MigrationLeavings.remove(of: connection.file)
      return MigrationOutcome()
    }
    try checkLosses(from: history)
    try checkSpace(from: history)
    let mark = MigrationMark(connection.file.path)
    defer { withExtendedLifetime(mark) {} }
    var outcome = MigrationOutcome()
    do {
      try withoutForeignKeys {
        try connection.transaction(.immediate) {
          // Another process may have migrated while this one waited for the lock.
          let found = try StoreHistory.read(connection)
          let history = try changeFormat(of: found)
          try history.check(against: set, file: connection.path)
          guard history.version < set.version else { return }
          outcome.backup = try backup(from: history, format: found.format)
          outcome.steps = try migrate(from: history, format: found.format)
          if let backup = outcome.backup { try MigrationBackup.complete(backup.path, of: connection.path) }
        }
      }
    } catch {
      if let backup = outcome.backup { MigrationBackup.remove(backup.path) }
      throw error
    }
    // Who makes no copies keeps those that are there.
    if let backup = outcome.backup { MigrationBackup.prune(of: connection.file, keeping: backup.path) }
    return outcome
  }

  private func backup(from history: StoreHistory, format: Int) throws -> URL? {
    guard makesBackups,
      try set.compiled(after: history.version, format: format).contains(where: \.wantsBackup)
    else { return nil }
    let path = try MigrationBackup.make(of: connection, version: history.version) { try checkCancelled() }
    return URL(fileURLWithPath: path)
  }

  /// - Parameter format: The format of the file when the run began.
  private func migrate(from history: StoreHistory, format: Int) throws -> [Int] {
    var model = try set.model(at: history.version)
    let drift = SchemaDifference.lines(found: try tables(of: model), expected: model.tables)
    guard drift.isEmpty else { throw StoreError.schemaDrift(file: connection.path, differences: drift) }
    var audit = try RowAudit(connection, readers: readers, model: model)
    let pending = set.steps[history.version...]
    progress?.totalUnitCount = Int64(pending.count)
    progress?.completedUnitCount = 0
    for step in pending {
      try checkCancelled()
      model = try run(step, from: model, format: format, &audit)
      progress?.completedUnitCount += 1
    }
    try audit.finish(model)
    if let reason = try audit.brokenReferences(model), let step = pending.last {
      throw step.failed(step.operations.last ?? .seed(""), reason)
    }
    try finish(model, generation: history.generation + 1)
    return pending.map(\.number)
  }

  private func run(
    _ step: MigrationStep, from model: Schema, format: Int, _ audit: inout RowAudit
  ) throws -> Schema {
    let start = Date()
    return try connection.savepoint {
      let compiled = try step.compiled(from: model, engine: .current, format: format)
      try run(compiled.parts, of: step, &audit)
      try raiseHighWaterMarks(compiled.model)
      try record(step, kind: "migration", since: start, model: compiled.model)
      return compiled.model
    }
  }

  // MARK: Around the steps

  /// Inside a transaction SQLite ignores `foreign_keys = OFF` without a word, and dropping a table would then
  /// delete the rows that refer to it. So it is set before, and read back.
  private func withoutForeignKeys<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.executeScript("PRAGMA foreign_keys = OFF")
    guard try connection.value("PRAGMA foreign_keys") == 0 else {
      throw SQLError.verificationFailed(
        file: connection.path, reason: "foreign keys could not be switched off")
    }
    do {
      let result = try body()
      try restoreForeignKeys()
      return result
    } catch {
      try? restoreForeignKeys()
      throw error
    }
  }

  private func restoreForeignKeys() throws {
    try connection.executeScript("PRAGMA foreign_keys = ON")
    guard try connection.value("PRAGMA foreign_keys") == 1 else {
      throw SQLError.verificationFailed(
        file: connection.path, reason: "foreign keys could not be switched on")
    }
  }

  func tables(of model: Schema) throws -> [TableInfo] {
    try SchemaDifference.found(model.tables, in: connection)
  }

  /// Checks that the tables are those of the model, and writes down what the store is now.
  private func finish(_ model: Schema, generation: Int64) throws {
    try raiseHighWaterMarks(model)
    let found = try tables(of: model)
    let differences = SchemaDifference.lines(found: found, expected: model.tables)
    guard differences.isEmpty,
      SchemaDifference.physicalHash(found) == SchemaDifference.physicalHash(model.tables)
    else {
      throw StoreError.schemaDrift(file: connection.path, differences: differences)
    }
    let reader = set.steps.map(\.reader).max() ?? set.version
    try write([
      (.format, .integer(Int64(FileFormat.current))), (.version, .integer(Int64(set.version))),
      (.modelHash, .text(model.meaningHash)), (.modelJSON, .text(model.json)),
      (.physicalHash, .text(SchemaDifference.physicalHash(found))),
      (.minimumReader, .integer(Int64(reader))), (.generation, .integer(generation)),
    ])
    if generation == 1 { try write([(.createdBy, .text("ObjectVault, \(Engine.current)"))]) }
    try connection.setUserVersion(set.version)
  }

  /// Writes down what the store is, and gives one that has none its identity.
  func write(_ values: [(entry: MetaTable.Entry, value: SQLValue)]) throws {
    let meta = MetaTable(connection: connection)
    try meta.write(values)
    try meta.writeIfMissing(.storeID, .text(UUID().uuidString))
  }

  private func record(_ step: MigrationStep, kind: String, since start: Date, model: Schema) throws {
    let applied = AppliedStep(
      number: step.number, name: step.name, kind: kind, checksum: step.checksum,
      appliedAt: StoreHistory.now(), milliseconds: Int(Date().timeIntervalSince(start) * 1000),
      app: StoreHistory.program, engine: "\(Engine.current)", text: step.canonicalText)
    try HistoryTable(connection: connection).append(
      .init(
        step: applied, modelHash: model.meaningHash,
        down: step.down.map { $0.map(\.description).joined(separator: "\n") }, tool: "ObjectVault"))
  }

  func checkCancelled() throws {
    if progress?.isCancelled == true { throw CancellationError() }
  }
}
