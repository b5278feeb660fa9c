// Runs each step in a transaction of its own, for large stores: a late failure must not undo the work of
// all steps. After a failure, a cancellation or a kill, the store is in the state after the last committed
// step.

internal import CipherSQLite

/// The state after a committed step.
private struct CommittedStep {
  let storeState: StoreState
  let audit: RowAudit?
  /// The remaining work; nil when the run is finished.
  let rest: MigrationWork?
}

extension MigrationRunner {
  /// Brings the store to a goal, one step per transaction. The copy is made before the first step and kept
  /// once this step is committed.
  ///
  /// Between two steps other processes may read, write and migrate, so the history is read again under each
  /// lock. The remaining steps are compiled again only when another process has changed the tables.
  /// - Returns: The outcome, including that of earlier attempts of the run, and the status of the store.
  func runEachStep(_ goal: MigrationGoal) throws -> (outcome: MigrationOutcome, storeState: StoreState) {
    var rest: MigrationWork?
    while true {
      var outcome = record.outcome
      let former = outcome.backup
      let step = try inTransaction(&outcome) { try runNextStep(goal, rest: rest, outcome: &$0) }
      // Recorded only if this transaction committed steps. Then a later error reports exactly the committed
      // ones.
      if outcome.steps != record.outcome.steps || outcome.takenBack != record.outcome.takenBack {
        record.commit(
          outcome, audit: step.audit, version: step.storeState.version, generation: step.storeState.generation
        )
      }
      // Removes the replaced copies now, and not at the end of the run: the new copy is complete, even if
      // a later step stops the run.
      if outcome.backup != former {
        step.storeState.copies.removeLeaving(beside: connection.file)
      }
      guard step.rest != nil else { return (outcome, step.storeState) }
      rest = step.rest
    }
  }

  /// Runs the next step, inside the transaction.
  /// - Parameter rest: The work that remained after the step before.
  private func runNextStep(_ goal: MigrationGoal, rest: MigrationWork?, outcome: inout MigrationOutcome)
    throws -> CommittedStep
  {
    try checkCancelled()
    let history = try StoreHistory.read(connection)
    let audit = try record.audit?.following(stepsSince(history, goal))
    try requireDirection(goal, history: history, audit: audit)
    if !record.hasSteps { outcome.startVersion = history.version }
    let work =
      try rest.flatMap { history.generation == record.lastGeneration ? $0 : nil } ?? work(goal, history)
    guard !work.isNothing else {
      return CommittedStep(storeState: history.storeState, audit: audit, rest: nil)
    }
    if !record.hasSteps { outcome.backup = try backup(before: work, history) }
    let (next, left) = work.split(set, history)
    let written = try run(next, generation: history.generation + 1, after: audit, isLast: left == nil)
    try complete(record.hasSteps ? nil : outcome.backup, history, isLast: left == nil)
    outcome.takenBack += next.back.map(\.step.number)
    outcome.steps += next.ahead.map(\.step.number)
    return CommittedStep(storeState: try StoreHistory.read(connection).storeState, audit: written, rest: left)
  }

  /// Returns the remaining work for a store that another process may have changed, after making the checks
  /// that precede a step.
  private func work(_ goal: MigrationGoal, _ history: StoreHistory) throws -> MigrationWork {
    let work = try history.work(goal, with: set, file: connection.path)
    try checkTransforms(of: work)
    try checkLosses(of: work)
    // Checks all remaining steps now: an obstacle to a later one would stop the run at a version in
    // between.
    try checkObstacles(to: work)
    if let progress {
      record.meter.begin(progress, rows: try RowForecast.rowsOfParts(of: work.steps, in: connection))
    }
    return work
  }

  /// The steps that another process ran between two steps of this run; empty unless the goal is the latest
  /// version. The audit follows their renamings.
  private func stepsSince(_ found: StoreHistory, _ goal: MigrationGoal) throws -> [CompiledStep] {
    guard goal == .latest, let left = record.lastVersion, found.version > left else { return [] }
    return try set.prefix(found.version).compiled(after: left)
  }

  /// Refuses to go on when another process moved the store in the opposite direction: two such runs would
  /// never end.
  private func requireDirection(_ goal: MigrationGoal, history: StoreHistory, audit: RowAudit?) throws {
    let left = record.lastVersion
    record.found(version: history.version, audit)
    guard let left, goal == .latest ? history.version < left : history.version > left else { return }
    throw StoreError.steppedBack(file: connection.path, left: left, found: history.version)
  }
}

extension MigrationWork {
  /// Splits off the first step. The rest is nil when nothing follows. Folded steps stay together, because
  /// there is no version between them.
  /// - Parameter history: The store before the step.
  fileprivate func split(_ set: MigrationSet, _ history: StoreHistory) -> (
    next: MigrationWork, rest: MigrationWork?
  ) {
    if let first = back.first {
      // No step at hand leads up from a version within a fold, so the run must not be stopped there.
      guard back.count > 1, first.step.number > set.foldedVersion else { return (self, nil) }
      // The remaining compiled steps are kept: they may differ from the steps at hand.
      let version = first.step.number - 1
      let next = MigrationWork(
        model: model, back: [first], version: version, minimumReader: min(version, history.minimumReader))
      return (
        next,
        MigrationWork(
          model: first.model, back: Array(back.dropFirst()), version: self.version,
          minimumReader: minimumReader)
      )
    }
    let end = max(history.version + 1, set.foldedVersion)
    let steps = ahead.prefix { $0.step.number <= end }
    guard let last = steps.last, steps.count < ahead.count else { return (self, nil) }
    let next = MigrationWork(
      model: model, ahead: Array(steps), version: end, minimumReader: set.prefix(end).minimumReader)
    return (
      next,
      MigrationWork(
        model: last.model, ahead: Array(ahead.dropFirst(steps.count)), version: version,
        minimumReader: minimumReader)
    )
  }
}
