// Cancels the work on a store when its task or its `Progress` is cancelled. All asynchronous functions
// that create, open, plan or migrate a store use `cancellable`, so each of them reacts to either
// cancellation.

package import CipherSQLite
package import Foundation

/// Runs blocking work as ``LargeStackThread/run(_:)`` does, and cancels its run when the task or
/// `progress` is cancelled.
///
/// The app's own cancellation handler of the progress is still called, and is set again afterwards,
/// unless the progress or the task was cancelled. Cancelling the task also cancels the progress, so that
/// a view of the progress shows it.
/// - Parameters:
///   - run: The run to cancel.
///   - progress: A progress that is used by one run at a time.
///   - body: Gets the run, and must execute its statements in it.
package func cancellable<Result: Sendable>(
  _ run: CancellableRun = CancellableRun(), by progress: Progress? = nil,
  _ body: @escaping @Sendable (CancellableRun) throws -> Result
) async throws -> Result {
  try await withTaskCancellationHandler {
    try Task.checkCancellation()
    let listener = progress.map { ProgressListener($0, cancelling: run) }
    defer { listener?.end() }
    return try await LargeStackThread.run { try body(run) }
  } onCancel: {
    run.cancel()
    progress?.cancel()
  }
}

/// Observes the cancellation of a `Progress`. Replaces the progress's own handler, calls that handler
/// too, and sets it again at the end if nothing was cancelled.
private struct ProgressListener {
  private enum State { case listening, told, over }
  private let progress: Progress
  private let former: (@Sendable () -> Void)?
  private let state: Locked<State>

  init(_ progress: Progress, cancelling run: CancellableRun) {
    let (former, state) = (progress.cancellationHandler, Locked(State.listening))
    (self.progress, self.former, self.state) = (progress, former, state)
    // No handler is set: Foundation would call it immediately, and it would in turn call the app's
    // handler, which has been called already.
    guard !progress.isCancelled else {
      state.withLock { $0 = .told }
      run.cancel()
      return
    }
    progress.cancellationHandler = {
      let isOver = state.withLock { state in
        if state == .listening { state = .told }
        return state == .over
      }
      guard !isOver else { return }
      run.cancel()
      former?()
    }
  }

  func end() {
    let isTold = state.withLock { state in
      if state == .listening { state = .over }
      return state == .told
    }
    // After a cancellation this handler stays, and it still calls the former one: setting the former
    // handler again would call it a second time for the same cancellation.
    if !isTold { progress.cancellationHandler = former }
  }
}
