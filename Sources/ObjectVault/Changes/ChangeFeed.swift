// Who listens to a store's commits, and what waits for each of them.

internal import CipherSQLite

/// Hands each commit to all listeners, in the order of the commits.
final class ChangeFeed: Sendable {
  private struct State {
    var number: Int64 = 0
    var listeners: [ObjectIdentifier: Listener] = [:]
    var isEnded = false

    struct Listener { weak var queue: ChangeQueue? }
  }
  private let state = Locked(State())

  /// Whether anybody listens: what nobody hears is not put together.
  var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

  /// Called by the writer after a commit, before the next one.
  func publish(_ changes: ChangeSet, store: String?) {
    guard !changes.isEmpty else { return }
    let (queues, number) = state.withLock { state in
      state.number += 1
      return (state.listeners.values.compactMap(\.queue), state.number)
    }
    var numbered = changes
    numbered.commit = ChangeSet.Commit(store: store, number: number)
    for queue in queues { queue.add(numbered) }
  }

  /// A commit that was not written down, as nobody listened when it began.
  func skip() {
    let queues = state.withLock { state in
      state.number += 1
      return state.listeners.values.compactMap(\.queue)
    }
    for queue in queues { queue.miss() }
  }

  func listen(_ queue: ChangeQueue) {
    let isEnded = state.withLock { state in
      if !state.isEnded { state.listeners[ObjectIdentifier(queue)] = State.Listener(queue: queue) }
      return state.isEnded
    }
    if isEnded { queue.end() }
  }

  func leave(_ queue: ObjectIdentifier) { _ = state.withLock { $0.listeners.removeValue(forKey: queue) } }

  /// There are no more commits.
  func end() {
    let queues = state.withLock { state in
      state.isEnded = true
      defer { state.listeners = [:] }
      return state.listeners.values.compactMap(\.queue)
    }
    for queue in queues { queue.end() }
  }
}
