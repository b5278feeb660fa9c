// How a task that is cancelled, and a `Progress` that is, end the work on a store. Whatever makes, opens, plans or migrates
// one goes through here, so that none of them is deaf to either.

package import CipherSQLite
package import Foundation

/// Runs blocking work as ``AmpleStack/running(_:)`` does, and cancels its run when the task is cancelled, or `progress` is.
///
/// The app's own handler of the progress is called as ever, and is there again afterwards. A task that is cancelled cancels the
/// progress, too, so that who shows it sees it.
/// - Parameters:
///   - run: What is cancelled.
///   - progress: One for one run at a time.
///   - body: Is given the run, and has to run its statements in it.
package func cancellable<Result: Sendable>(
  _ run: CancellableRun = CancellableRun(), by progress: Progress? = nil,
  _ body: @escaping @Sendable (CancellableRun) throws -> Result
) async throws -> Result {
  try await withTaskCancellationHandler {
    try Task.checkCancellation()
    let listener = progress.map { ProgressListener($0, cancelling: run) }
    defer { listener?.end() }
    return try await AmpleStack.running { try body(run) }
  } onCancel: {
    run.cancel()
    progress?.cancel()
  }
}

/// Hears of the cancellation of a `Progress` in place of the handler that was there, which it calls, and puts back.
private struct ProgressListener {
  private enum State { case listening, told, over }
  private let progress: Progress
  private let former: (@Sendable () -> Void)?
  private let state: Locked<State>

  init(_ progress: Progress, cancelling run: CancellableRun) {
    let (former, state) = (progress.cancellationHandler, Locked(State.listening))
    (self.progress, self.former, self.state) = (progress, former, state)
    // Foundation calls a handler at once that is given to what is cancelled already, and the app's has been called before.
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
    // Ours stays with what was cancelled meanwhile, and goes on calling the former one: that would be called once more for the
    // same cancellation when it is put back.
    if !isTold { progress.cancellationHandler = former }
  }
}
