// The state of a connection that waits for a lock, or is asked to stop.

internal import Dispatch

/// What a connection knows of its waiting.
struct Waiting {
  /// When the lock was first met that is being waited for.
  var since = DispatchTime.now()
  /// How long was waited in vain, until the error that says so is made.
  var seconds = 0.0
  /// By what other threads ask the statement to stop, and how often they had before it began to wait.
  let interruptor: Interruptor
  var interruptsBefore = 0
  /// Called when the waiting for a lock begins: whoever has it may be waiting for one of ours.
  var letsGo: (() -> Void)?
  var wasInterrupted = false
  /// The call that is running, which may be cancelled.
  var run: CancellableRun?
}
