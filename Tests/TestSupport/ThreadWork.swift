// Work on threads of its own, beside the tasks.

private import CipherSQLite
public import Dispatch
private import Foundation

/// Runs a blocking body on a thread of its own: tasks share as many threads as there are cores, and would
/// run one after another instead of concurrently.
public func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result
{
  try await ThreadWork(body).value
}

/// Work on a thread of its own, which starts with `init`. An `async let` starts when a thread of the tasks
/// is free: with many tests, that may be minutes later.
public final class ThreadWork<Value: Sendable>: Sendable {
  private enum State {
    case running
    case awaited(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
  }
  private let state = Locked(State.running)

  /// Starts the work at once.
  public init(_ body: @escaping @Sendable () throws -> Value) {
    Thread.detachNewThread { [self] in
      let result = Result { try body() }
      let awaiting = state.withLock { state -> CheckedContinuation<Value, any Error>? in
        defer { state = .ended(result) }
        return if case .awaited(let continuation) = state { continuation } else { nil }
      }
      awaiting?.resume(with: result)
    }
  }

  /// The result of the body; to be awaited once.
  public var value: Value {
    get async throws {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Value, any Error>? in
          if case .ended(let result) = state { return result }
          state = .awaited(continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    }
  }
}

/// Cancels a task once a semaphore signals that the task is at the right place.
///
/// Uses a thread of its own: those of the pool may be busy with other tests for minutes, in which an endless
/// statement would keep a core from them.
public func cancel<Value>(_ task: Task<Value, any Error>, when isThere: DispatchSemaphore) {
  Thread.detachNewThread {
    isThere.wait()
    task.cancel()
  }
}
