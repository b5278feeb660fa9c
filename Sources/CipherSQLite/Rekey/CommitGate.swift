// Whether a change of the key can still be abandoned. One place decides it, both for the thread that
// changes the key and for another thread that wants to stop it and must report what happened.

/// The point of a change before which it can be stopped, and after which it is in effect.
package final class CommitGate: Sendable {
  /// The progress of a change.
  package enum Phase: Sendable {
    /// Nothing of it is in effect, and it can be stopped.
    case working
    /// It was stopped, or failed, and will not take effect.
    case stopped
    /// It is being committed: only the file shows whether it is in effect.
    case committing
    /// It is in effect.
    case committed
  }

  private let phase = Locked(Phase.working)
  private let fullness = Locked(false)

  package init() {}

  /// Stops the change where that is still possible. A stopped change cannot proceed to its commit.
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
  /// - Returns: `false` when it was stopped.
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

  /// Whether a write of the engine failed because the disk is full: the engine may report success all the
  /// same.
  var isDiskFull: Bool { fullness.withLock { $0 } }

  func didFindDiskFull() { fullness.withLock { $0 = true } }

  /// Marks the change as stopped, after the engine reported a failure.
  func didFail() { phase.withLock { $0 = .stopped } }
}
