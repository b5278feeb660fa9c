// Each step in a transaction of its own, for stores that are so large that nobody wants to lose the work of all steps with the
// last one: a failure, a cancellation or a kill leaves the store behind the last whole step.

internal import CipherSQLite

extension MigrationRunner {
  /// Does what a goal comes to, a step at a time. The copy is made before the first one, and stands once that does.
  ///
  /// Between two steps others may read, write and migrate: the history is read anew under each lock.
  /// - Throws: ``StoreError/stopped(atVersion:by:)`` behind steps that stand.
  func runEachStep(
    _ goal: MigrationGoal, _ mark: inout MigrationMark?, _ outcome: inout MigrationOutcome
  ) throws -> StoreStanding {
    let plan = try StoreHistory.read(connection).work(goal, with: set, file: connection.path)
    if let progress { meter.begin(progress, rows: try RowForecast.rows(of: plan.steps, in: connection)) }
    var lastVersion: Int?
    var audit: RowAudit?
    while true {
      do {
        let standing = try inTransaction(&mark, &outcome) { try runNextStep(goal, &$0, &audit) }
        guard standing.hasMore else { return standing.standing }
        // Whoever gets the lock now marks the store himself.
        mark = nil
        lastVersion = standing.standing.version
      } catch let error as StoreError {
        throw lastVersion.map { .stopped(atVersion: $0, by: error) } ?? error
      }
    }
  }

  /// Inside the transaction.
  private func runNextStep(
    _ goal: MigrationGoal, _ outcome: inout MigrationOutcome, _ audit: inout RowAudit?
  ) throws -> (standing: StoreStanding, hasMore: Bool) {
    try checkCancelled()
    let found = try StoreHistory.read(connection)
    let history = try changeFormat(of: found)
    let work = try history.work(goal, with: set, file: connection.path, format: found.format)
    guard !work.isNothing else { return (history.standing, false) }
    // Another process may have left other steps to do than there were before.
    try checkTransforms(of: work)
    try checkLosses(of: work)
    let isFirst = outcome.steps.isEmpty && outcome.takenBack.isEmpty
    if isFirst { outcome.backup = try backup(before: work, history) }
    let next = try history.nextStep(of: work, goal, with: set, file: connection.path, format: found.format)
    let isLast = work.steps.count <= next.steps.count
    audit = try run(next, generation: history.generation + 1, behind: audit, isLast: isLast)
    if isFirst { try complete(outcome.backup, history) }
    outcome.takenBack += next.back.map(\.step.number)
    outcome.steps += next.ahead.map(\.step.number)
    return (try StoreHistory.read(connection).standing, !isLast)
  }
}

extension StoreHistory {
  /// The first step of a work, as a work of its own. Steps that were folded into one have no version between them.
  fileprivate func nextStep(
    of work: MigrationWork, _ goal: MigrationGoal, with set: MigrationSet, file: String, format: Int
  ) throws -> MigrationWork {
    if let first = work.back.first {
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
