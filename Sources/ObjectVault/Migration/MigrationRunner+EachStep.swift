// Each step in a transaction of its own, for stores that are so large that nobody wants to lose the work of all steps with the
// last one: a failure, a cancellation or a kill leaves the store behind the last whole step.

internal import CipherSQLite

/// What stands behind one of the steps.
private struct StoodStep {
  let standing: StoreStanding
  let audit: RowAudit?
  let hasMore: Bool
}

extension MigrationRunner {
  /// Does what a goal comes to, a step at a time. The copy is made before the first one, and stands once that does.
  ///
  /// Between two steps others may read, write and migrate: the history is read anew under each lock.
  /// - Returns: What was done, by earlier attempts of the run too, and what the store goes by.
  func runEachStep(_ goal: MigrationGoal, _ mark: inout MigrationMark?) throws -> (
    outcome: MigrationOutcome, standing: StoreStanding
  ) {
    let plan = try StoreHistory.read(connection).work(goal, with: set, file: connection.path)
    if let progress { meter.begin(progress, rows: try RowForecast.rows(of: plan.steps, in: connection)) }
    while true {
      var outcome = record.outcome
      let former = outcome.backup
      let step = try inTransaction(&mark, &outcome) { try runNextStep(goal, &$0) }
      // Where nothing was left to be done, there is nothing that an error behind it would leave standing.
      if outcome.steps != record.outcome.steps || outcome.takenBack != record.outcome.takenBack {
        record.commit(outcome, audit: step.audit, version: step.standing.version)
      }
      // At once: who is stopped at a later step has made a copy as well.
      if outcome.backup != former {
        step.standing.copies.removeLeaving(beside: connection.file)
      }
      guard step.hasMore else { return (outcome, step.standing) }
      // Whoever gets the lock now marks the store himself.
      mark = nil
    }
  }

  /// Inside the transaction.
  private func runNextStep(_ goal: MigrationGoal, _ outcome: inout MigrationOutcome) throws -> StoodStep {
    try checkCancelled()
    let found = try StoreHistory.read(connection)
    try requireDirection(goal, found)
    let history = try changeFormat(of: found)
    let work = try history.work(goal, with: set, file: connection.path, format: found.format)
    if !record.hasSteps { outcome.startVersion = history.version }
    guard !work.isNothing else {
      return StoodStep(standing: history.standing, audit: record.audit, hasMore: false)
    }
    // Another process may have left other steps to do than there were before.
    try checkTransforms(of: work)
    try checkLosses(of: work)
    if !record.hasSteps { outcome.backup = try backup(before: work, history) }
    let next = try history.nextStep(of: work, goal, with: set, file: connection.path, format: found.format)
    let isLast = work.steps.count <= next.steps.count
    let audit = try run(next, generation: history.generation + 1, behind: record.audit, isLast: isLast)
    try complete(record.hasSteps ? nil : outcome.backup, history, isLast: isLast)
    outcome.takenBack += next.back.map(\.step.number)
    outcome.steps += next.ahead.map(\.step.number)
    return StoodStep(standing: try StoreHistory.read(connection).standing, audit: audit, hasMore: !isLast)
  }

  /// Two runs that lead a store to and fro would go on for as long as both live.
  private func requireDirection(_ goal: MigrationGoal, _ history: StoreHistory) throws {
    let left = record.lastVersion
    record.found(version: history.version)
    guard let left, goal == .latest ? history.version < left : history.version > left else { return }
    throw StoreError.steppedBack(file: connection.path, left: left, found: history.version)
  }
}

extension StoreHistory {
  /// The first step of a work, as a work of its own. Steps that were folded into one have no version between them.
  fileprivate func nextStep(
    of work: MigrationWork, _ goal: MigrationGoal, with set: MigrationSet, file: String, format: Int
  ) throws -> MigrationWork {
    if let first = work.back.first {
      // From a version within a fold nothing at hand leads up again: who is stopped shall not be left there.
      guard first.step.number > set.foldedVersion else { return work }
      // Those that go afterwards are not looked at again: they may be others than the steps at hand.
      let version = first.step.number - 1
      return MigrationWork(
        model: work.model, back: [first], version: version,
        minimumReader: work.back.count == 1 ? work.minimumReader : min(version, minimumReader))
    }
    let next = set.prefix(max(version + 1, set.foldedVersion))
    return try self.work(.latest, with: next, file: file, format: format)
  }
}
