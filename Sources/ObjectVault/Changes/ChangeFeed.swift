// The listeners of a store's commits, and the delivery of commits to them.

internal import CipherSQLite

/// Delivers each commit to all listeners, in the order of the commits.
final class ChangeFeed: Sendable {
  private struct State {
    var number: Int64 = 0
    var listeners: [ObjectIdentifier: Listener] = [:]
    var isEnded = false
    /// Begins to look for commits of other connections; nil where there cannot be any.
    var makeWatch: (@Sendable () -> CommitWatch?)?
    /// Exists while there are listeners.
    var watch: CommitWatch?

    struct Listener { weak var queue: ChangeQueue? }

    func queues(except author: ChangeQueue?) -> [ChangeQueue] {
      listeners.values.compactMap { $0.queue === author ? nil : $0.queue }
    }

    mutating func endWatch() {
      watch?.cancel()
      watch = nil
    }
  }
  private let state = Locked(State())

  /// Whether there are listeners: without any, saves do not record changes.
  var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

  /// Delivers a commit. The writer calls it after the commit and before the next one.
  /// - Parameter author: The queue of the context that has committed, which does not get it.
  func publish(_ changes: ChangeSet, store: String?, except author: ChangeQueue? = nil) {
    guard !changes.isEmpty else { return }
    let (queues, number) = state.withLock { state in
      state.number += 1
      return (state.queues(except: author), state.number)
    }
    var numbered = changes
    numbered.commit = ChangeSet.Commit(store: store, number: number)
    for queue in queues { queue.add(.committed(numbered)) }
  }

  /// Tells the listeners if another connection has committed since the last call. Called on the writer's
  /// queue, also at the beginning of each write: so the listeners learn of that commit before the write's.
  func findOthersCommits(_ connection: Connection) {
    guard isHeard, (try? connection.othersHaveCommitted()) == true else { return }
    for queue in state.withLock({ $0.listeners.values.compactMap(\.queue) }) { queue.add(.changedElsewhere) }
  }

  /// Sets how commits of other connections are found while there are listeners.
  func watch(by make: @escaping @Sendable () -> CommitWatch?) { state.withLock { $0.makeWatch = make } }

  /// Counts a commit that was not recorded because there was no listener when it began.
  func skip(except author: ChangeQueue?) {
    let queues = state.withLock { state in
      state.number += 1
      return state.queues(except: author)
    }
    for queue in queues { queue.add(.missed(commits: 1)) }
  }

  func listen(_ queue: ChangeQueue) {
    let isEnded = state.withLock { state in
      guard !state.isEnded else { return true }
      state.listeners[ObjectIdentifier(queue)] = State.Listener(queue: queue)
      if state.watch == nil { state.watch = state.makeWatch?() }
      return false
    }
    if isEnded { queue.end() }
  }

  func leave(_ queue: ObjectIdentifier) {
    state.withLock { state in
      state.listeners[queue] = nil
      if state.listeners.isEmpty { state.endWatch() }
    }
  }

  /// Ends the feed: there are no more commits.
  func end() {
    let queues = state.withLock { state in
      state.isEnded = true
      state.endWatch()
      defer { state.listeners = [:] }
      return state.listeners.values.compactMap(\.queue)
    }
    for queue in queues { queue.end() }
  }
}
