// Threads with large stacks, for work that compiles deep SQL expressions. The engine reads an expression
// by recursion, up to 1000 levels deep (SQLITE_MAX_EXPR_DEPTH). That needs more than 512 KiB of stack.
// Threads that an app creates, and Dispatch's on some systems, may have only 512 KiB.

internal import CipherSQLite
private import Dispatch

/// Runs blocking work on its own threads with large stacks, away from the thread pool that tasks share.
enum LargeStackThread {
  private static let bytes = 8 << 20

  /// Runs `body` on a new thread with a large stack. The calling thread is blocked until `body` ends.
  /// - Returns: What `body` returns.
  static func runBlocking<Result>(_ body: @escaping () throws -> Result) throws -> Result {
    // Safe to share: the calling thread does not use `result` and `body` before the end is signalled, and
    // the other thread does not use them afterwards.
    nonisolated(unsafe) var result: Swift.Result<Result, any Error>?
    nonisolated(unsafe) let body = body
    let end = DispatchSemaphore(value: 0)
    DedicatedThread.start(stackBytes: bytes) {
      unsafe result = Swift.Result { try unsafe body() }
      end.signal()
    }
    end.wait()
    // There is always a result: `body` cannot end in another way.
    guard let result = unsafe result else { throw CancellationError() }
    return try result.get()
  }

  /// Runs `body` on a new thread with a large stack. The calling task is suspended until `body` ends.
  /// - Returns: What `body` returns.
  static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { done in
      DedicatedThread.start(stackBytes: bytes) { done.resume(with: Swift.Result { try body() }) }
    }
  }
}
