// The listeners of a store's commits, and the delivery of commits to them.

internal import CipherSQLite

/// Delivers each commit to all listeners, in the order of the commits.
final class ChangeFeed: Sendable {
  private struct State {
    var number: Int64 = 0
    var listeners: [ObjectIdentifier: Listener] = [:]
    var isEnded = false

    struct Listener { weak var queue: ChangeQueue? }
  }
  private let state = Locked(State())

  /// Whether there are listeners: without any, saves do not record changes.
  var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

  /// Delivers a commit. The writer calls it after the commit and before the next one.
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

  /// Counts a commit that was not recorded because there was no listener when it began.
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

  /// Ends the feed: there are no more commits.
  func end() {
    let queues = state.withLock { state in
      state.isEnded = true
      defer { state.listeners = [:] }
      return state.listeners.values.compactMap(\.queue)
    }
    for queue in queues { queue.end() }
  }
}
