// How another thread stops what a connection is doing.

private import CSQLCipher

/// Stops a running statement from another thread.
///
/// Valid while the connection is open; whoever keeps it makes sure of that (the pool does, by its lease).
public struct Interruptor: @unchecked Sendable {
  // Safe to share: sqlite3_interrupt is the one call that SQLite allows from another thread.
  let handle: OpaquePointer?
  // The engine does not look at its own mark while it waits for a lock; our waiting looks at this.
  let count: Locked<Int>

  /// Makes the running statement end with ``SQLError/interrupted``, at once or, while it waits for another's lock,
  /// within 20 ms.
  public func interrupt() {
    count.withLock { $0 += 1 }
    if let handle { sqlite3_interrupt(handle) }
  }
}
