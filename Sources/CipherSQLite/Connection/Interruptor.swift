// Interruption of a connection's statement by another thread.

private import CSQLCipher

/// A handle with which another thread can stop a running statement. It may outlive its connection, and does
/// nothing once the connection is closed.
public struct Interruptor: Sendable {
  @safe private struct State {
    /// The connection's handle while it is open.
    var handle: OpaquePointer?
    // The number of requests. The engine does not check its own interrupt flag while it waits for a lock;
    // our busy handler checks whether this number has changed. The flag would not do: the engine clears it
    // when no statement runs.
    var count = 0
  }

  // Shared by all copies. The handle is only used under the lock, and detach() clears it under the lock
  // before the connection closes it. So the handle is open whenever it is used here.
  private let state: Locked<State>

  init(_ handle: OpaquePointer?) { state = unsafe Locked(State(handle: handle)) }

  /// Ends the running statement with ``SQLError/interrupted``: at once; while it waits for a lock, within
  /// 20 ms, or when the closure of ``Connection/onBusy(_:)`` returns.
  public func interrupt() {
    state.withLock { state in
      state.count += 1
      // The only call that SQLite permits from another thread, as long as the handle is open.
      if let handle = unsafe state.handle { unsafe sqlite3_interrupt(handle) }
    }
  }

  /// How often an interruption was requested.
  var count: Int { state.withLock { $0.count } }

  /// Removes the handle. Called before the connection closes it.
  func detach() { state.withLock { unsafe $0.handle = nil } }
}
