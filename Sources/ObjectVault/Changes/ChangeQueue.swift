// The queue of commits for one listener. Its size is bounded; commits that it discards are reported as
// missed.

internal import CipherSQLite

final class ChangeQueue: Sendable {
  private struct State {
    var waiting: [StoreChange] = []
    /// The number of elements of `waiting` that were taken already. Removing each one when it is taken
    /// would take quadratic time.
    var taken = 0
    /// The number of changes in the elements of `waiting` that were not taken yet.
    var size = 0
    var missed = 0
    var isEnded = false
    var readers: [(key: Int, continuation: CheckedContinuation<StoreChange?, Never>)] = []
    /// Readers that were cancelled before they began to wait.
    var cancelled: Set<Int> = []
    var nextKey = 0

    /// Queues a change. If the queue would exceed its capacity, its commits and this one become one gap.
    /// After a gap a reader has to read the data again, so it does not need the earlier changes.
    mutating func append(_ change: StoreChange, capacity: Int) {
      switch change {
      case .committed where size + change.count <= capacity:
        waiting.append(change)
        size += change.count
      case .committed: addGap(1)
      case .missed(let commits): addGap(commits)
      case .changedElsewhere:
        // Several commits of others, and one after a gap, have the same consequence as one.
        guard taken < waiting.count ? waiting.last != change : missed == 0 else { return }
        waiting.append(change)
      }
    }

    private mutating func addGap(_ commits: Int) {
      missed += commits + waiting[taken...].count { $0 != .changedElsewhere }
      (waiting, taken, size) = ([], 0, 0)
    }

    /// Takes the next change; nil when there is none.
    mutating func take() -> StoreChange? {
      if missed > 0 {
        defer { missed = 0 }
        return .missed(commits: missed)
      }
      guard taken < waiting.count else { return nil }
      let change = waiting[taken]
      taken += 1
      size -= change.count
      if taken == waiting.count { (waiting, taken) = ([], 0) }
      if taken > 64, taken * 2 > waiting.count {
        waiting.removeFirst(taken)
        taken = 0
      }
      return change
    }
  }
  private let state = Locked(State())
  private let capacity: Int
  private let feed: ChangeFeed
  /// Called after each change that was added.
  private let onAdd: (@Sendable () -> Void)?

  /// Makes a queue and adds it to the feed.
  /// - Parameters:
  ///   - capacity: How many changed objects, links and places may be queued.
  ///   - onAdd: Called after each change that was added, and at the end of the feed.
  init(_ feed: ChangeFeed, capacity: Int, onAdd: (@Sendable () -> Void)? = nil) {
    (self.feed, self.capacity, self.onAdd) = (feed, capacity, onAdd)
    feed.listen(self)
  }

  deinit { feed.leave(ObjectIdentifier(self)) }

  /// Passes a change to a waiting reader, or queues it.
  func add(_ change: StoreChange) {
    let reader = state.withLock { state -> CheckedContinuation<StoreChange?, Never>? in
      guard !state.isEnded else { return nil }
      if !state.readers.isEmpty { return state.readers.removeFirst().continuation }
      state.append(change, capacity: capacity)
      return nil
    }
    reader?.resume(returning: change)
    onAdd?()
  }

  /// Ends the queue. Waiting readers get nil; later ones get the queued changes first, then nil.
  func end() {
    let readers = state.withLock { state in
      state.isEnded = true
      defer { state.readers = [] }
      return state.readers
    }
    for reader in readers { reader.continuation.resume(returning: nil) }
    onAdd?()
  }

  /// Whether there will be no more changes.
  var isEnded: Bool { state.withLock { $0.isEnded } }

  /// Takes all queued changes.
  func takeUndelivered() -> [StoreChange] {
    state.withLock { state in
      var taken: [StoreChange] = []
      while let change = state.take() { taken.append(change) }
      return taken
    }
  }

  /// Waits for the next change. Returns nil at the end, and when the task is cancelled.
  func next() async -> StoreChange? {
    let key = state.withLock { state in
      state.nextKey += 1
      return state.nextKey
    }
    // If the task is cancelled while a change resumes it, `onCancel` has added the key.
    defer { state.withLock { _ = $0.cancelled.remove(key) } }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> StoreChange?? in
          if state.cancelled.remove(key) != nil { return .some(nil) }
          if let change = state.take() { return change }
          if state.isEnded { return .some(nil) }
          state.readers.append((key, continuation))
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let reader = state.withLock { state -> CheckedContinuation<StoreChange?, Never>? in
        guard let index = state.readers.firstIndex(where: { $0.key == key }) else {
          state.cancelled.insert(key)
          return nil
        }
        return state.readers.remove(at: index).continuation
      }
      reader?.resume(returning: nil)
    }
  }
}
