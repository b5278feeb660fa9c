// How a cancellation reaches a statement that runs, and never one that somebody else runs afterwards.

private import Synchronization

/// One call on a connection that may be cancelled from another thread.
package final class CancellableRun: Sendable {
  private struct State {
    var interruptor: Interruptor?
  }
  private let state = Locked(State())
  // Beside the lock, because a context asks at each write of a property.
  private let wasCancelled = Atomic<Bool>(false)

  package init() {}

  /// Interrupts the statement that is running, if there is one; what comes later is refused.
  package func cancel() {
    state.withLock { state in
      wasCancelled.store(true, ordering: .releasing)
      state.interruptor?.interrupt()
    }
  }

  package var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

  /// - Throws: `CancellationError` when the call was cancelled.
  package func check() throws {
    if isCancelled { throw CancellationError() }
  }

  /// Runs `body`, in which a cancellation interrupts what `interruptor` stops.
  /// - Throws: `CancellationError` when cancelled before or meanwhile; else what `body` throws.
  func interrupting<Result>(_ interruptor: Interruptor, _ body: () throws -> Result) throws -> Result {
    state.withLock { $0.interruptor = interruptor }
    defer { state.withLock { $0.interruptor = nil } }
    try check()
    do { return try body() } catch {
      // Whatever the interrupted statement made of it, the cause is the cancellation.
      try check()
      throw error
    }
  }
}

extension CancellableRun {
  /// Runs `body` elsewhere while the task waits; cancelling the task cancels the run that `body` is given.
  /// - Parameter start: Starts the work that it is given, on a queue.
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
