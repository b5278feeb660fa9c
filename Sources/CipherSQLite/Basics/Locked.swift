// A value protected by a lock. This is not `Synchronization.Mutex`, because the thread sanitizer does not
// understand a `Mutex` and reports every access to the value in it.

private import Foundation

// Safe to share: the value is only accessed in withLock.
/// A value that only one thread at a time can access.
package final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  /// Calls `body` with exclusive access to the value. Must not be called again from `body`.
  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
