// A stack for what a step may hold. The engine reads an expression by recursion, up to 1000 levels deep (SQLITE_MAX_EXPR_DEPTH),
// which takes more than the 512 KiB that threads of a program may have, and those of Dispatch on some systems.

internal import CipherSQLite
private import Dispatch

/// Blocking work on threads of their own with large stacks, away from the pool that tasks share.
enum AmpleStack {
  private static let bytes = 8 << 20

  /// Returns when `body` has ended.
  static func waiting<Result>(for body: @escaping () throws -> Result) throws -> Result {
    // Safe to share: the calling thread touches neither before the end is signalled, and the other one neither afterwards.
    nonisolated(unsafe) var result: Swift.Result<Result, any Error>?
    nonisolated(unsafe) let body = body
    let end = DispatchSemaphore(value: 0)
    OwnThread.start(stackBytes: bytes) {
      unsafe result = Swift.Result { try unsafe body() }
      end.signal()
    }
    end.wait()
    // There is one: `body` ends no other way.
    guard let result = unsafe result else { throw CancellationError() }
    return try result.get()
  }

  static func running<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws
    -> Result
  {
    try await withCheckedThrowingContinuation { done in
      OwnThread.start(stackBytes: bytes) { done.resume(with: Swift.Result { try body() }) }
    }
  }
}
