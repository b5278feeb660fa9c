// The state of a connection that waits for a lock or is being interrupted.

internal import Dispatch

/// A connection's wait for a lock, and its cancellation.
struct Waiting {
  /// When the wait for the current lock began.
  var since = DispatchTime.now()
  /// How long the last unsuccessful wait took, in seconds; reset when its error is created.
  var seconds = 0.0
  /// The handle with which other threads interrupt the statement.
  let interruptor: Interruptor
  /// How often an interruption had been requested when the wait for the current lock began. If the
  /// interruptor's count is another one now, the wait ends.
  var interruptCountAtStart = 0
  /// Called when a wait for a lock begins, to release locks of this connection: the holder of the lock may
  /// be waiting for one of them.
  var releasesLocks: (() -> Void)?
  var wasInterrupted = false
  /// The cancellable call that is running.
  var run: CancellableRun?
  /// Limits the waits of a call that needs a lock several times; nil outside of such a call.
  var limits: Limits?

  /// The waits of one call.
  struct Limits {
    /// Whether the call was stopped, so that a wait ends.
    let isStopped: () -> Bool
    /// Whether a wait has taken the whole timeout: the next one ends at once.
    var isSpent = false
  }
}
