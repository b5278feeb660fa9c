// Cancellation of a call on a connection. It interrupts the statements of that call only,
// never those of a later call.

private import Synchronization

/// A call on a connection that another thread can cancel.
package final class CancellableRun: Sendable {
  private struct State {
    var interruptor: Interruptor?
  }
  private let state = Locked(State())
  // Not protected by the lock, because a context checks it at each write of a property.
  private let wasCancelled = Atomic<Bool>(false)

  package init() {}

  /// Interrupts the statement that is running, if there is one. A statement that starts later in this run
  /// ends when it next checks for cancellation; a short one may finish before that.
  package func cancel() {
    state.withLock { state in
      wasCancelled.store(true, ordering: .releasing)
      state.interruptor?.interrupt()
    }
  }

  package var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

  /// Throws if the run was cancelled.
  /// - Throws: `CancellationError`.
  package func check() throws {
    if isCancelled { throw CancellationError() }
  }

  /// Runs `body`; a cancellation during it interrupts the connection of `interruptor`.
  /// - Throws: `CancellationError` if the run was cancelled before `body`, or before `body` threw;
  ///   otherwise what `body` throws.
  func interrupting<Result>(_ interruptor: Interruptor, _ body: () throws -> Result) throws -> Result {
    let outer = state.withLock { state in
      defer { state.interruptor = interruptor }
      return state.interruptor
    }
    defer { state.withLock { $0.interruptor = outer } }
    try check()
    do { return try body() } catch {
      // After a cancellation, `CancellationError` replaces the error that the interruption caused.
      try check()
      throw error
    }
  }
}

extension CancellableRun {
  /// Runs `body` on a queue while the task is suspended. Cancelling the task cancels
  /// the run that `body` receives.
  /// - Parameters:
  ///   - start: Receives a closure, and schedules it on a queue.
  ///   - body: The work.
  /// - Throws: What `body` throws.
  package static func perform<Result: Sendable>(
    by start: @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (CancellableRun) throws -> Result
  ) async throws -> Result {
    let running = CancellableRun()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { done in
        start { done.resume(with: Swift.Result { try body(running) }) }
      }
    } onCancel: {
      running.cancel()
    }
  }
}
