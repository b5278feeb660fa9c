// Each step in a transaction of its own, for stores that are so large that nobody wants to lose the work of all steps with the
// last one: a failure, a cancellation or a kill leaves the store behind the last whole step.

internal import CipherSQLite

/// What stands behind one of the steps.
private struct StoodStep {
  let standing: StoreStanding
  let audit: RowAudit?
  /// What is left of the work; nil where the run is over.
  let rest: MigrationWork?
}

extension MigrationRunner {
  /// Does what a goal comes to, a step at a time. The copy is made before the first one, and stands once that does.
  ///
  /// Between two steps others may read, write and migrate: the history is read anew under each lock. The steps that are left
  /// are compiled again where somebody else has changed the tables meanwhile, and not for each of them.
  /// - Returns: What was done, by earlier attempts of the run too, and what the store goes by.
  func runEachStep(_ goal: MigrationGoal) throws -> (outcome: MigrationOutcome, standing: StoreStanding) {
    var rest: MigrationWork?
    while true {
      var outcome = record.outcome
      let former = outcome.backup
      let step = try inTransaction(&outcome) { try runNextStep(goal, rest, &$0) }
      // Where nothing was left to be done, there is nothing that an error behind it would leave standing.
      if outcome.steps != record.outcome.steps || outcome.takenBack != record.outcome.takenBack {
        record.commit(
          outcome, audit: step.audit, version: step.standing.version, generation: step.standing.generation)
      }
      // At once: who is stopped at a later step has made a copy as well.
      if outcome.backup != former {
        step.standing.copies.removeLeaving(beside: connection.file)
      }
      guard step.rest != nil else { return (outcome, step.standing) }
      rest = step.rest
    }
  }

  /// Inside the transaction.
  /// - Parameter rest: What the step before left to be done.
  private func runNextStep(_ goal: MigrationGoal, _ rest: MigrationWork?, _ outcome: inout MigrationOutcome)
    throws -> StoodStep
  {
    try checkCancelled()
    let history = try StoreHistory.read(connection)
    let audit = try record.audit?.following(stepsSince(history, goal))
    try requireDirection(goal, history, audit)
    if !record.hasSteps { outcome.startVersion = history.version }
    let work =
      try rest.flatMap { history.generation == record.lastGeneration ? $0 : nil } ?? work(goal, history)
    guard !work.isNothing else { return StoodStep(standing: history.standing, audit: audit, rest: nil) }
    if !record.hasSteps { outcome.backup = try backup(before: work, history) }
    let (next, left) = work.split(set, history)
    let written = try run(next, generation: history.generation + 1, behind: audit, isLast: left == nil)
    try complete(record.hasSteps ? nil : outcome.backup, history, isLast: left == nil)
    outcome.takenBack += next.back.map(\.step.number)
    outcome.steps += next.ahead.map(\.step.number)
    return StoodStep(standing: try StoreHistory.read(connection).standing, audit: written, rest: left)
  }

  /// What is left to be done of a store that somebody else may have changed, with what is asked of it before a step runs.
  private func work(_ goal: MigrationGoal, _ history: StoreHistory) throws -> MigrationWork {
    let work = try history.work(goal, with: set, file: connection.path)
    try checkTransforms(of: work)
    try checkLosses(of: work)
    // Of all steps that are left: whoever is stopped at a later one is left behind an earlier one.
    try checkObstacles(to: work)
    if let progress {
      record.meter.begin(progress, rows: try RowForecast.rowsOfParts(of: work.steps, in: connection))
    }
    return work
  }

  /// The steps that another process ran between two of this run, on the way up: what was written has their names now.
  private func stepsSince(_ found: StoreHistory, _ goal: MigrationGoal) throws -> [CompiledStep] {
    guard goal == .latest, let left = record.lastVersion, found.version > left else { return [] }
    return try set.prefix(found.version).compiled(after: left)
  }

  /// Two runs that lead a store to and fro would go on for as long as both live.
  private func requireDirection(_ goal: MigrationGoal, _ history: StoreHistory, _ audit: RowAudit?) throws {
    let left = record.lastVersion
    record.found(version: history.version, audit)
    guard let left, goal == .latest ? history.version < left : history.version > left else { return }
    throw StoreError.steppedBack(file: connection.path, left: left, found: history.version)
  }
}

extension MigrationWork {
  /// The first step as a work of its own, and what is left behind it; nil where nothing is. Steps that were folded into one
  /// have no version between them.
  /// - Parameter history: The store before it.
  fileprivate func split(_ set: MigrationSet, _ history: StoreHistory) -> (
    next: MigrationWork, rest: MigrationWork?
  ) {
    if let first = back.first {
      // From a version within a fold nothing at hand leads up again: who is stopped shall not be left there.
      guard back.count > 1, first.step.number > set.foldedVersion else { return (self, nil) }
      // Those that go afterwards are not looked at again: they may be others than the steps at hand.
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
