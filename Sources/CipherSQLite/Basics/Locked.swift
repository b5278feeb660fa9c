// A value behind a lock. Not Synchronization.Mutex: the thread sanitizer cannot see into that one, and reports
// every access to what it guards.

private import Foundation

// Safe to share: the value is reached through withLock alone.
/// A value that one thread at a time may touch.
package final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  /// Lends the value for the length of the call. Must not be called from inside itself.
  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
