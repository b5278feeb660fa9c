// The listeners of a store's commits, and the delivery of commits to them.

internal import CipherSQLite

/// Delivers each commit to all listeners, in the order of the commits.
final class ChangeFeed: Sendable {
  private struct State {
    var number: Int64 = 0
    var listeners: [ObjectIdentifier: Listener] = [:]
    /// The latest commit that all listeners have got; nil before the first.
    var delivered: Delivered?
    /// Returns the state that the writer sees; nil where it is not known.
    var writerState: (@Sendable () -> SharedState?)?
    var isEnded = false
    /// Begins to look for commits of other connections; nil where there cannot be any.
    var makeWatch: (@Sendable () -> CommitWatch?)?
    /// Exists while there are listeners.
    var watch: CommitWatch?

    struct Listener { weak var queue: ChangeQueue? }

    /// The queues of the listeners. A caller releases them outside of the lock: the end of the last
    /// reference to a queue takes the lock.
    var queues: [ChangeQueue] { listeners.values.compactMap(\.queue) }

    mutating func endWatch() {
      watch?.cancel()
      watch = nil
    }
  }
  private let state = Locked(State())

  /// Whether there are listeners: without any, saves do not record changes.
  var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

  /// Delivers a commit. The writer calls it after the commit and before the next one.
  /// - Parameters:
  ///   - author: The queue of the context that has committed, which does not get it.
  ///   - isPartOfGroup: Whether other changes are in the same commit. Its state of the file is known only
  ///     once all of them were delivered: ``didCommitGroup()``.
  func publish(
    _ changes: ChangeSet, store: String?, except author: ChangeQueue? = nil, isPartOfGroup: Bool = false
  ) {
    guard !changes.isEmpty else { return }
    let (queues, number) = state.withLock { state in
      state.number += 1
      return (state.queues, state.number)
    }
    var numbered = changes
    numbered.commit = ChangeSet.Commit(store: store, number: number)
    for queue in queues where queue !== author { queue.add(.committed(numbered)) }
    if !isPartOfGroup { didDeliver(number) }
  }

  /// Reports to the listeners that another connection has committed, if one has since the last call. Called
  /// on the writer's queue, also at the beginning of each write: so the listeners learn of that commit before
  /// the write's own.
  func findOthersCommits(_ connection: Connection) {
    guard isHeard, connection.othersHaveCommitted() else { return }
    for queue in state.withLock(\.queues) { queue.add(.changedElsewhere) }
  }

  /// Sets how commits of other connections are found while there are listeners, and how the state of the
  /// writer is read on its queue.
  func watch(
    by make: @escaping @Sendable () -> CommitWatch?, writerState: @escaping @Sendable () -> SharedState?
  ) {
    state.withLock { ($0.makeWatch, $0.writerState) = (make, writerState) }
  }

  /// Counts a commit that was not recorded because there was no listener when it began.
  /// - Parameter isPartOfGroup: Whether other changes are in the same commit.
  func skip(except author: ChangeQueue?, isPartOfGroup: Bool = false) {
    let (queues, number) = state.withLock { state in
      state.number += 1
      return (state.queues, state.number)
    }
    for queue in queues where queue !== author { queue.add(.missed(commits: 1)) }
    if !isPartOfGroup { didDeliver(number) }
  }

  /// Notes that all changes of a commit were delivered that consists of several writes.
  func didCommitGroup() { didDeliver(state.withLock { $0.number }) }

  /// A commit that all listeners have got.
  struct Delivered {
    let number: Int64
    /// The state of the file right after it; nil if it is not known.
    let state: SharedState?
  }

  /// The latest commit that all listeners have got; nil before the first.
  var delivered: Delivered? { state.withLock { $0.delivered } }

  private func didDeliver(_ number: Int64) {
    guard let read = state.withLock({ $0.listeners.isEmpty ? nil : $0.writerState }) else { return }
    let delivered = Delivered(number: number, state: read())
    state.withLock { $0.delivered = delivered }
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
      return state.queues
    }
    for queue in queues { queue.end() }
  }
}
