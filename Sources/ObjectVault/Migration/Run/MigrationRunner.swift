// Runs steps: one algorithm for both engines, with the whole chain in one transaction, or each step in
// its own on request (MigrationRunner+EachStep).
// A MigrationWork is the work of a run. MigrationRunner+Conditions has the checks before the first step,
// MigrationRunner+Parts runs the statements of a step, and RowAudit checks their effect on rows.
// MigrationRunner+Creation creates new stores, and MigrationRunner+Bookkeeping records what was done.

package import CipherSQLite
package import Foundation

/// Runs steps on one connection. The caller ensures that the connection has no other user meanwhile.
package struct MigrationRunner {
  let connection: Connection
  let set: MigrationSet
  let progress: Progress?
  /// Whether the copies that steps request are made.
  var makesBackups = true
  /// Losses that are allowed in addition to those that the steps' authors allow, such as `User.city`.
  var allowedLosses: Set<String> = []
  /// The checks whether the Swift type of a property can represent a stored value, by `Entity.property`
  /// of the last model; empty where a program runs steps without classes.
  var readers: [String: ValueReader] = [:]
  /// Whether each step is committed in its own transaction.
  var commitsEachStep = false
  /// The maximum cost; a run that exceeds it is refused before the first step. nil for no limit.
  var limit: MigrationLimit?
  /// Whether the statistics of the tables are renewed.
  var keepsStatistics = true
  /// Whether SQL on rows is only prepared, in an empty in-memory database: see ``SQLTrial``.
  var isTrial = false
  /// What this attempt of the run and earlier ones have done.
  var record = RunRecord()
  let texts = SchemaTexts()
  /// The ids of rows that data blocks insert.
  let ids = InsertedIDs()
  /// Errors of the app's functions, which cannot be thrown through the engine.
  let failures = ConversionFailures()

  /// Runs all pending steps.
  package func migrate() throws -> MigrationOutcome { try run(.latest) }

  /// Runs all pending steps, for opening a store. The returned status is that of the transaction in which
  /// the store had all steps, or got them. A later change by another process is reported while the store is
  /// in use.
  func migrateToOpen() throws -> (outcome: MigrationOutcome, storeState: StoreState) { try settle(.latest) }

  /// Brings the store to a goal.
  ///
  /// A copy that a step requests is made under the lock, before the first step. It is removed again when
  /// its transaction fails, since the store then has the same content.
  /// - Throws: ``StoreError``, and `CancellationError` when `progress` is cancelled. If the run is one
  ///   transaction, the store is then unchanged.
  func run(_ goal: MigrationGoal) throws -> MigrationOutcome { try settle(goal).outcome }

  private func settle(_ goal: MigrationGoal) throws -> (outcome: MigrationOutcome, storeState: StoreState) {
    defer { set.dropCompilation() }
    // History and work come from one transaction: another process may run the same steps meanwhile.
    let (history, work) = try connection.transaction(.deferred) { try plannedWork(goal) }
    guard !work.isNothing else {
      MigrationLeavings.remove(of: connection.file)
      var outcome = record.outcome
      if !record.hasSteps { outcome.startVersion = history.version }
      return (record.end(outcome, version: history.version), history.storeState)
    }
    try registerConversions()
    let (outcome, storeState) = try withoutForeignKeys {
      // Steps that run again need one transaction: a rollback alone would be of no use.
      try commitsEachStep && !goal.isAgain ? runEachStep(goal) : runAll(goal, former: history, planned: work)
    }
    return (record.end(outcome, version: storeState.version), storeState)
  }

  /// Determines the work of a goal before the lock.
  /// - Throws: The error that refuses the run.
  private func plannedWork(_ goal: MigrationGoal) throws -> (history: StoreHistory, work: MigrationWork) {
    let history = try StoreHistory.read(connection)
    let work = try history.work(goal, with: set, file: connection.path)
    guard !work.isNothing else { return (history, work) }
    try checkTransforms(of: work)
    try checkLosses(of: work)
    try checkCost(of: work, history)
    try checkSpace(for: work)
    return (history, work)
  }

  /// Runs all steps in one transaction.
  /// - Parameters:
  ///   - former: The history before the lock.
  ///   - planned: The work, as it was planned before the lock.
  private func runAll(_ goal: MigrationGoal, former: StoreHistory, planned: MigrationWork) throws -> (
    outcome: MigrationOutcome, storeState: StoreState
  ) {
    var outcome = MigrationOutcome()
    let storeState = try inTransaction(&outcome) {
      try run(goal, former: former, planned: planned, outcome: &$0)
      return try StoreHistory.read(connection).storeState
    }
    // A run that makes no copy keeps the existing ones.
    if outcome.backup != nil { storeState.copies.removeLeaving(beside: connection.file) }
    return (outcome, storeState)
  }

  /// Runs `body` under the write lock. Until the commit the store is marked as migrating. If `body` fails,
  /// a copy that it made is removed.
  func inTransaction<Result>(
    _ outcome: inout MigrationOutcome, _ body: (inout MigrationOutcome) throws -> Result
  ) throws -> Result {
    let former = outcome.backup
    var mark: MigrationMark?
    defer {
      record.holdsLock = false
      withExtendedLifetime(mark) {}
    }
    do {
      return try connection.transaction(.immediate) {
        mark = MigrationMark(connection.file.path)
        record.holdsLock = true
        // The run no longer waits for another process.
        progress?.setUserInfoObject(nil, forKey: .storeIsWaitingFor)
        return try body(&outcome)
      }
    } catch {
      if let backup = outcome.backup, backup != former { MigrationBackup.remove(backup.path) }
      throw error
    }
  }

  /// Runs all steps, inside the transaction.
  private func run(
    _ goal: MigrationGoal, former: StoreHistory, planned: MigrationWork, outcome: inout MigrationOutcome
  ) throws {
    let history = try StoreHistory.read(connection)
    var work = planned
    // Another process may have migrated while this one waited for the lock.
    if history != former {
      work = try history.work(goal, with: set, file: connection.path)
      try checkTransforms(of: work)
      try checkLosses(of: work)
    }
    outcome.startVersion = history.version
    guard !work.isNothing else { return }
    outcome.backup = try backup(before: work, history)
    if let progress {
      record.meter.begin(progress, rows: try RowForecast.rowsOfParts(of: work.steps, in: connection))
    }
    try run(work, generation: history.generation + 1)
    outcome.takenBack = work.back.map(\.step.number)
    outcome.steps = work.ahead.map(\.step.number)
    try complete(outcome.backup, history, isLast: true)
  }

  /// Gives a complete copy its final name, and records it in the store.
  /// - Parameter isLast: Whether the run ends with this commit.
  func complete(_ backup: URL?, _ history: StoreHistory, isLast: Bool) throws {
    var copies = history.copies
    if let backup { copies.add(backup.path, of: connection.file, beginsRun: !isLast) }
    if isLast { copies.endRun() }
    if copies != history.copies { try copies.write(connection) }
    if let backup { try MigrationBackup.complete(backup.path, of: connection.path) }
  }

  func backup(before work: MigrationWork, _ history: StoreHistory) throws -> URL? {
    guard makesBackups, work.steps.contains(where: \.wantsBackup) else {
      // Removes the unfinished copy of a killed run. Otherwise making a copy does that.
      MigrationBackup.removeUnfinished(of: connection.file)
      return nil
    }
    let path = try MigrationBackup.make(of: connection, version: history.version) { try checkCancelled() }
    return URL(fileURLWithPath: path)
  }

  /// Runs the rollbacks and the steps of `work`, inside the transaction.
  /// - Parameters:
  ///   - former: The audit of the steps that this run has committed before; nil if all run in one
  ///     transaction.
  ///   - isLast: Whether no other step of the run follows.
  /// - Returns: The audit of these steps.
  @discardableResult
  func run(
    _ work: MigrationWork, generation: Int64, after former: RowAudit? = nil, isLast: Bool = true
  ) throws -> RowAudit {
    var model = work.model
    let drift = SchemaDifference.lines(
      found: try layout(of: model), expected: model.layout, repairing: model, before: work.steps)
    guard drift.isEmpty else { throw StoreError.schemaDrift(file: connection.path, differences: drift) }
    try checkObstacles(to: work)
    // Rows that another program inserted may be dropped with their tables, and their ids still count
    // as issued.
    try raiseHighWaterMarks(model)
    var audit = try RowAudit(connection, readers: readers, model: model, after: former)
    let foreign = try ForeignObjectCheck(model, connection)
    for compiled in work.back {
      do {
        try run(compiled, isRollback: true, audit: &audit) { try takeBack(compiled.step, since: $0) }
      } catch StoreError.rowsRefused(let step, let name, let operation, let reason) {
        // The operations of a derived rollback are in no file, so the error mentions the rollback.
        throw StoreError.rowsRefused(
          step: step, name: name, operation: operation,
          reason: reason
            + "; this happened during the rollback: the step's [down] can define what happens to such rows")
      } catch StoreError.migrationFailed(let step, let name, let operation, let reason) {
        throw StoreError.migrationFailed(
          step: step, name: name, operation: operation, reason: "\(reason); this happened during the rollback"
        )
      }
      model = compiled.model
    }
    for compiled in work.ahead {
      let before = model
      try run(compiled, isRollback: false, audit: &audit) {
        try record(compiled.step, kind: "migration", since: $0, from: before, to: compiled.model)
      }
      model = compiled.model
    }
    if isLast { try audit.finish(model) }
    if let reason = try audit.brokenReferences(model), let step = work.steps.last?.step {
      // Some operation broke a reference, and the check after its part did not find it.
      throw step.failed("the end of all steps", because: reason)
    }
    try foreign.requireFit(model, connection)
    try finish(
      model, version: work.version, minimumReader: work.minimumReader, generation: generation)
    return audit
  }

  /// Runs a compiled step.
  /// - Parameter record: Records what was done; receives the time at which the step began.
  private func run(
    _ compiled: CompiledStep, isRollback: Bool, audit: inout RowAudit, _ record: (Date) throws -> Void
  ) throws {
    try checkCancelled()
    let start = Date()
    self.record.meter.beginStep()
    do {
      try connection.savepoint {
        try run(compiled.parts, of: compiled.step, &audit)
        try followHistory(
          compiled, isRollback: isRollback,
          version: isRollback ? compiled.step.number - 1 : compiled.step.number)
        try record(start)
      }
    } catch StoreError.idsExhausted(let entity) {
      let operations = compiled.step.operations.map(\.summary).joined(separator: "; ")
      throw compiled.step.failed(operations, because: Self.noIDLeft(entity))
    }
    self.record.meter.endStep()
    self.record.ran(compiled.step, isRollback: isRollback, seconds: Date().timeIntervalSince(start))
  }

  // MARK: Around the steps

  /// Runs `body` with foreign keys disabled. Inside a transaction SQLite silently ignores `foreign_keys =
  /// OFF`, and dropping a table would then delete the rows that refer to it. So the setting is changed
  /// before the transaction, and read back.
  func withoutForeignKeys<Result>(_ body: () throws -> Result) throws -> Result {
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

  /// Checks for cancellation.
  /// - Throws: `CancellationError` when the progress was cancelled, or the call that runs on the connection.
  func checkCancelled() throws {
    if progress?.isCancelled == true { throw CancellationError() }
    try connection.run?.check()
  }
}

extension MigrationRunner {
  /// A runner for a new store or an imported file, with the default of every other setting.
  package init(connection: Connection, set: MigrationSet, progress: Progress?) {
    self.init(connection: connection, set: set, progress: progress, makesBackups: true)
  }
}
