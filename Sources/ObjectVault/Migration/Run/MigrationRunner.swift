// How steps run: one algorithm, both engines, the whole chain in one transaction, or each step in its own where that is asked
// for (MigrationRunner+EachStep).
// What a run has to do is a MigrationWork. What is asked before the first step is in MigrationRunner+Conditions, the statements of
// a step in MigrationRunner+Parts; RowAudit checks what they did to rows. A new store is made in MigrationRunner+Creation, and
// MigrationRunner+Books writes down what was done.

package import CipherSQLite
package import Foundation

/// Runs steps on one connection. The caller sees to it that nobody else uses the connection.
package struct MigrationRunner {
  let connection: Connection
  let set: MigrationSet
  let progress: Progress?
  /// Whether the copies that steps ask for are made.
  var makesBackups = true
  /// Losses that are allowed beside those that the steps' authors allowed, such as `User.city`.
  var allowedLosses: Set<String> = []
  /// What the Swift types of the last model take; empty where a program runs steps without classes.
  var readers: [String: ValueReader] = [:]
  /// Whether each step is committed by itself.
  var commitsEachStep = false
  /// What it may come to; more is refused before the first step. nil for whatever it takes.
  var limit: MigrationLimit?
  /// Whether what persons wrote about rows is only read, in an empty database in memory: see ``SQLTrial``.
  var isTrial = false
  /// What the run has done, this attempt at it and earlier ones.
  var record = RunRecord()
  let texts = SchemaTexts()
  /// The ids of rows that data blocks insert.
  let ids = InsertedIDs()
  /// What functions of the app could not throw through the engine.
  let failures = ConversionFailures()

  /// Runs all pending steps.
  package func migrate() throws -> MigrationOutcome { try run(.latest) }

  /// The same, and what whoever opens the store goes by from then on: that of the moment at which it was found to have all steps,
  /// or got them. What another process makes of it the moment after is told to whoever works with it, and not taken for this.
  func migrateToOpen() throws -> (outcome: MigrationOutcome, standing: StoreStanding) { try settle(.latest) }

  /// Does what a goal comes to.
  /// A copy that a step asks for is made under the lock, before the first of them, and removed again when the
  /// steps fail: the store is then what the copy is.
  /// - Throws: ``StoreError``, and `CancellationError` when `progress` is cancelled; the store is then as
  ///   it was.
  func run(_ goal: MigrationGoal) throws -> MigrationOutcome { try settle(goal).outcome }

  private func settle(_ goal: MigrationGoal) throws -> (outcome: MigrationOutcome, standing: StoreStanding) {
    defer { set.dropCompilation() }
    // Of one moment: another process may run the same steps meanwhile.
    let (history, work) = try connection.transaction(.deferred) { try foreseen(goal) }
    guard !work.isNothing else {
      MigrationLeavings.remove(of: connection.file)
      var outcome = record.outcome
      if !record.hasSteps { outcome.startVersion = history.version }
      return (record.end(outcome, version: history.version), history.standing)
    }
    try registerConversions()
    let (outcome, standing) = try withoutForeignKeys {
      // Steps that run again are there in either case: halves of that are no use.
      try commitsEachStep && !goal.isAgain ? runEachStep(goal) : runAll(goal, history, work)
    }
    return (record.end(outcome, version: standing.version), standing)
  }

  /// The work of a goal, as it is before the lock.
  /// - Throws: What refuses it.
  private func foreseen(_ goal: MigrationGoal) throws -> (history: StoreHistory, work: MigrationWork) {
    let history = try StoreHistory.read(connection)
    let work = try history.work(goal, with: set, file: connection.path)
    guard !work.isNothing else { return (history, work) }
    try checkTransforms(of: work)
    try checkLosses(of: work)
    try checkCost(of: work, history)
    try checkSpace(for: work)
    return (history, work)
  }

  /// - Parameters:
  ///   - former: The store before the lock.
  ///   - planned: The work, as it was planned before the lock.
  private func runAll(_ goal: MigrationGoal, _ former: StoreHistory, _ planned: MigrationWork) throws -> (
    outcome: MigrationOutcome, standing: StoreStanding
  ) {
    var outcome = MigrationOutcome()
    let standing = try inTransaction(&outcome) {
      try run(goal, former, planned, &$0)
      return try StoreHistory.read(connection).standing
    }
    // Who makes no copies keeps those that are there.
    if outcome.backup != nil { standing.copies.removeLeaving(beside: connection.file) }
    return (outcome, standing)
  }

  /// Runs `body` under the write lock, with the store marked from there to the commit. A copy that it made goes again when it
  /// fails.
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
        // Nobody is waited for any more.
        progress?.setUserInfoObject(nil, forKey: .storeIsWaitingFor)
        return try body(&outcome)
      }
    } catch {
      if let backup = outcome.backup, backup != former { MigrationBackup.remove(backup.path) }
      throw error
    }
  }

  /// Inside the transaction.
  private func run(
    _ goal: MigrationGoal, _ former: StoreHistory, _ planned: MigrationWork, _ outcome: inout MigrationOutcome
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

  /// Names a copy that is whole, and has the store remember it.
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
      // Making one would remove what a killed run has left of its own.
      MigrationBackup.removeUnfinished(of: connection.file)
      return nil
    }
    let path = try MigrationBackup.make(of: connection, version: history.version) { try checkCancelled() }
    return URL(fileURLWithPath: path)
  }

  /// - Parameters:
  ///   - former: What went along with the steps that this run has committed before; nil where all run together.
  ///   - isLast: Whether no other step of the run follows.
  /// - Returns: What went along with these.
  @discardableResult
  func run(
    _ work: MigrationWork, generation: Int64, behind former: RowAudit? = nil, isLast: Bool = true
  ) throws -> RowAudit {
    var model = work.model
    let drift = SchemaDifference.lines(
      found: try layout(of: model), expected: model.layout, repairing: model, before: work.steps)
    guard drift.isEmpty else { throw StoreError.schemaDrift(file: connection.path, differences: drift) }
    try checkObstacles(to: work)
    // Rows that somebody else inserted may go with their tables, and their ids stay taken.
    try raiseHighWaterMarks(model)
    var audit = try RowAudit(connection, readers: readers, model: model, behind: former)
    let foreign = try ForeignFit(model, connection)
    for compiled in work.back {
      do {
        try run(compiled, leadsBack: true, &audit) { try takeBack(compiled.step, since: $0) }
      } catch StoreError.rowsRefused(let step, let name, let operation, let reason) {
        // No file has the operation where the way back follows from the step.
        throw StoreError.rowsRefused(
          step: step, name: name, operation: operation,
          reason: reason + "; this is on the way back: the step's [down] can say what becomes of such rows")
      } catch StoreError.migrationFailed(let step, let name, let operation, let reason) {
        throw StoreError.migrationFailed(
          step: step, name: name, operation: operation, reason: "\(reason); this is on the way back")
      }
      model = compiled.model
    }
    for compiled in work.ahead {
      let before = model
      try run(compiled, leadsBack: false, &audit) {
        try record(compiled.step, kind: "migration", since: $0, from: before, to: compiled.model)
      }
      model = compiled.model
    }
    if isLast { try audit.finish(model) }
    if let reason = try audit.brokenReferences(model), let step = work.steps.last?.step {
      // Whatever did it, it was not seen behind the part that did.
      throw step.failed("the end of all steps", reason)
    }
    try foreign.requireFit(model, connection)
    try finish(
      model, version: work.version, minimumReader: work.minimumReader, generation: generation)
    return audit
  }

  /// - Parameter record: Writes down what was done; gets the time of its beginning.
  private func run(
    _ compiled: CompiledStep, leadsBack: Bool, _ audit: inout RowAudit, _ record: (Date) throws -> Void
  ) throws {
    try checkCancelled()
    let start = Date()
    self.record.meter.beginStep()
    do {
      try connection.savepoint {
        try run(compiled.parts, of: compiled.step, &audit)
        try record(start)
      }
    } catch StoreError.idsExhausted(let entity) {
      let operations = compiled.step.operations.map(\.summary).joined(separator: "; ")
      throw compiled.step.failed(operations, Self.noIDLeft(entity))
    }
    self.record.meter.endStep()
    self.record.ran(compiled.step, leadsBack: leadsBack, seconds: Date().timeIntervalSince(start))
  }

  // MARK: Around the steps

  /// Inside a transaction SQLite ignores `foreign_keys = OFF` without a word, and dropping a table would then
  /// delete the rows that refer to it. So it is set before, and read back.
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

  /// - Throws: `CancellationError` when the progress was cancelled, or the call that runs on the connection.
  func checkCancelled() throws {
    if progress?.isCancelled == true { throw CancellationError() }
    try connection.run?.check()
  }
}

extension MigrationRunner {
  /// A runner that makes stores, with every other setting as it is declared.
  package init(connection: Connection, set: MigrationSet, progress: Progress?) {
    self.init(connection: connection, set: set, progress: progress, makesBackups: true)
  }
}
