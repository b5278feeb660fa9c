// What one run of steps has done, from its first attempt to its last. Who commits each step by itself may meet the lock of
// another process behind steps that stand, wait for it and begin anew: what stands is told all the same.

internal import CipherSQLite

/// Kept outside of the attempts of one run, and used on one thread.
final class RunRecord {
  /// What was committed. In one transaction that is nothing, until the run is over.
  private(set) var outcome = MigrationOutcome()
  /// What went along with the steps that stand: the last one asks of what all of them wrote.
  private(set) var audit: RowAudit?
  /// The store's version when the run last saw it; nil as long as no step stands.
  private(set) var lastVersion: Int?
  /// What the store's tables were changed to by the last step that stands: where it is another, somebody else changed them.
  private(set) var lastGeneration: Int64?
  /// Goes on where an earlier attempt left steps that stand.
  let meter = RunMeter()
  /// The steps that ran to their ends, in order, with how long each took; those of a run that failed, too.
  private(set) var laps: [MigrationRehearsal.Step] = []
  /// Whether the run has the store's write lock now, and with it the mark.
  var holdsLock = false
  private var isOver = false

  /// Whether steps of this run stand.
  var hasSteps: Bool { lastVersion != nil }

  func ran(_ step: MigrationStep, leadsBack: Bool, seconds: Double) {
    laps.append(.init(number: step.number, name: step.name, leadsBack: leadsBack, seconds: seconds))
  }

  /// Steps were committed that do not end the run.
  func commit(_ outcome: MigrationOutcome, audit: RowAudit?, version: Int, generation: Int64) {
    (self.outcome, self.audit) = (outcome, audit)
    (lastVersion, lastGeneration) = (version, generation)
    self.outcome.version = version
    meter.keep()
  }

  /// The version that the store has before the next step, read under the lock: others may have changed it since.
  /// - Parameter audit: What went along with the steps that stand, by the names of that version: an attempt that begins anew sees
  ///   no change of it any more.
  func found(version: Int, _ audit: RowAudit?) {
    if hasSteps { (lastVersion, self.audit) = (version, audit) }
  }

  /// The run has come to its end. What fails from now on is nothing of it.
  func end(_ outcome: MigrationOutcome, version: Int) -> MigrationOutcome {
    (self.outcome, isOver) = (outcome, true)
    self.outcome.version = version
    return self.outcome
  }

  /// Runs all attempts, and says of an error which steps stand before it. A cancellation stays what it is: whoever asked
  /// for it knows it by that, and a `Task` does.
  /// - Throws: ``StoreError/stopped(atVersion:by:)`` behind steps that stand.
  func telling<Result>(_ attempts: () throws -> Result) throws -> Result {
    do { return try attempts() } catch {
      guard let lastVersion, !isOver, !(error is CancellationError) else { throw error }
      throw StoreError.stopped(atVersion: lastVersion, by: StoreError.Cause(error))
    }
  }
}
