// How another thread stops what a connection is doing.

private import CSQLCipher

/// Stops a running statement from another thread. May be kept for longer than its connection is open, and does nothing
/// then.
public struct Interruptor: Sendable {
  private struct State {
    /// The connection's handle for as long as it is open.
    var handle: OpaquePointer?
    // The engine does not look at its own mark while it waits for a lock; our waiting looks at this. Counted, because
    // the engine forgets when nothing runs.
    var count = 0
  }

  // Shared by all copies. The handle is used under the lock alone, and detach() takes it away under the lock: so it is
  // open whenever it is used here.
  private let state: Locked<State>

  init(_ handle: OpaquePointer?) { state = Locked(State(handle: handle)) }

  /// Makes the running statement end with ``SQLError/interrupted``, at once or, while it waits for another's lock,
  /// within 20 ms.
  public func interrupt() {
    state.withLock { state in
      state.count += 1
      // The one call that SQLite allows from another thread, as long as the handle is open.
      if let handle = state.handle { sqlite3_interrupt(handle) }
    }
  }

  /// How often somebody asked the statement to stop.
  var count: Int { state.withLock { $0.count } }

  /// Called before the handle is closed.
  func detach() { state.withLock { $0.handle = nil } }
}
