// Decides whether a change of the key can still be stopped. Two threads depend on the decision: the one that
// changes the key, and the one that wants to stop the change and must report the outcome.

/// A gate that a change of the key passes at its commit: before, it can be stopped; afterwards, it is in
/// effect.
package final class CommitGate: Sendable {
  /// The progress of a change.
  package enum Phase: Sendable {
    /// The change is not in effect, and can be stopped.
    case working
    /// The change was stopped, or failed, and will not take effect.
    case stopped
    /// The change is being committed: only the file shows whether it is in effect.
    case committing
    /// The change is in effect.
    case committed
  }

  private let phase = Locked(Phase.working)
  private let foundDiskFull = Locked(false)

  package init() {}

  /// Stops the change if that is still possible. A stopped change cannot proceed to its commit.
  /// - Returns: The phase afterwards.
  @discardableResult
  package func stop() -> Phase {
    phase.withLock { phase in
      if phase == .working { phase = .stopped }
      return phase
    }
  }

  /// The present phase.
  package var current: Phase { phase.withLock { $0 } }

  /// Called before the commit; from then on the change cannot be stopped.
  /// - Returns: `false` when the change was stopped.
  func mayCommit() -> Bool {
    phase.withLock { phase in
      if phase == .working { phase = .committing }
      return phase != .stopped
    }
  }

  /// Begins another change after a committed one. A change that was stopped stays stopped.
  package func beginNext() {
    phase.withLock { if $0 == .committed { $0 = .working } }
  }

  func didCommit() { phase.withLock { $0 = .committed } }

  /// Whether a write of the engine failed because the disk is full. The engine may report success
  /// nevertheless.
  var isDiskFull: Bool { foundDiskFull.withLock { $0 } }

  func didFindDiskFull() { foundDiskFull.withLock { $0 = true } }

  /// Marks the change as stopped, after the engine reported a failure.
  func didFail() { phase.withLock { $0 = .stopped } }
}
