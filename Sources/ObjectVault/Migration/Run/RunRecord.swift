// The record of one run of steps, from its first attempt to its last. A run that commits each step may
// meet another process's lock after committed steps, wait and start again: the committed steps are
// reported all the same.

internal import CipherSQLite

/// The state that all attempts of one run share. Used on one thread.
final class RunRecord {
  /// What was committed. A run in one transaction has committed nothing until it ends.
  private(set) var outcome = MigrationOutcome()
  /// The audit of the committed steps: the last step checks what all of them wrote.
  private(set) var audit: RowAudit?
  /// The store's version when the run last read it; nil until a step is committed.
  private(set) var lastVersion: Int?
  /// The generation after the last committed step. When the store has another one, another process has
  /// changed its tables.
  private(set) var lastGeneration: Int64?
  /// The progress. It continues after the steps that earlier attempts committed.
  let meter = RunMeter()
  /// The steps that ran to their ends, in order, with their durations; also those of a run that failed.
  private(set) var finishedSteps: [MigrationRehearsal.Step] = []
  /// Whether the run has the store's write lock now, and so the store is marked as migrating.
  var holdsLock = false
  private var isOver = false

  /// Whether steps of this run are committed.
  var hasSteps: Bool { lastVersion != nil }

  func ran(_ step: MigrationStep, isRollback: Bool, seconds: Double) {
    finishedSteps.append(
      .init(number: step.number, name: step.name, isRollback: isRollback, seconds: seconds))
  }

  /// Records committed steps that do not end the run.
  func commit(_ outcome: MigrationOutcome, audit: RowAudit?, version: Int, generation: Int64) {
    (self.outcome, self.audit) = (outcome, audit)
    (lastVersion, lastGeneration) = (version, generation)
    self.outcome.version = version
    meter.keep()
  }

  /// Records the version of the store before the next step, read under the lock, because other processes
  /// may have changed it.
  /// - Parameter audit: The audit of the committed steps, with the names of that version. An attempt that
  ///   starts again does not see which steps other processes ran in between.
  func found(version: Int, _ audit: RowAudit?) {
    if hasSteps { (lastVersion, self.audit) = (version, audit) }
  }

  /// Ends the run. Later errors are not errors of the run.
  func end(_ outcome: MigrationOutcome, version: Int) -> MigrationOutcome {
    (self.outcome, isOver) = (outcome, true)
    self.outcome.version = version
    return self.outcome
  }

  /// Runs all attempts, and adds to an error which steps were committed before it. A cancellation is
  /// thrown unchanged, so that its requester, or a `Task`, recognizes it.
  /// - Throws: ``StoreError/stopped(atVersion:by:)`` after committed steps.
  func reportingCommittedSteps<Result>(_ attempts: () throws -> Result) throws -> Result {
    do { return try attempts() } catch {
      guard let lastVersion, !isOver, !(error is CancellationError) else { throw error }
      throw StoreError.stopped(atVersion: lastVersion, by: StoreError.Cause(error))
    }
  }
}
