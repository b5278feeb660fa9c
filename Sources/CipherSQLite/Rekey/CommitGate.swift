// Whether a change of the key may still be given up: decided in one place, for the thread that changes it and for
// another one that wants to stop it and has to say what is true.

/// The moment before which a change can be stopped, and after which it has happened.
package final class CommitGate: Sendable {
  /// How far the change is.
  package enum Phase: Sendable {
    /// Nothing of it is in force, and it can be stopped.
    case working
    /// It was stopped, or failed, and will not come into force.
    case stopped
    /// It comes into force at this moment: whether it has, only the file tells.
    case committing
    /// It is in force.
    case committed
  }

  private let phase = Locked(Phase.working)
  private let fullness = Locked(false)

  package init() {}

  /// Stops the change where that is still possible. From then on it cannot go on to its commit.
  /// - Returns: How far it is.
  @discardableResult
  package func stop() -> Phase {
    phase.withLock { phase in
      if phase == .working { phase = .stopped }
      return phase
    }
  }

  /// How far the change is.
  package var current: Phase { phase.withLock { $0 } }

  /// Asked before the commit.
  /// - Returns: `false` when it was stopped.
  func mayCommit() -> Bool {
    phase.withLock { phase in
      if phase == .working { phase = .committing }
      return phase != .stopped
    }
  }

  /// Begins another change after one that is in force. One that was stopped stays stopped.
  package func beginNext() {
    phase.withLock { if $0 == .committed { $0 = .working } }
  }

  func didCommit() { phase.withLock { $0 = .committed } }

  /// Whether a write of the engine has failed for want of room: it may report success all the same.
  var isDiskFull: Bool { fullness.withLock { $0 } }

  func didFindDiskFull() { fullness.withLock { $0 = true } }

  /// The engine reported a failure: it has given the change up.
  func didFail() { phase.withLock { $0 = .stopped } }
}
