// The commits of a store as an asynchronous sequence.

/// What a listener of a store is told.
public enum StoreChange: Sendable, Hashable {
  /// A commit.
  case committed(ChangeSet)
  /// So many commits came while more was waiting than may wait: read anew what was made of earlier ones.
  case missed(commits: Int)
}

/// The commits of a store since the sequence was made, in their order: see ``Store/changes(bufferingUpTo:)``.
///
/// It is for one consumer: two iterators of one sequence share what comes.
public struct StoreChanges: AsyncSequence, Sendable {
  private let queue: ChangeQueue

  init(_ queue: ChangeQueue) { self.queue = queue }

  /// What waits for the next commit.
  public struct Iterator: AsyncIteratorProtocol {
    let queue: ChangeQueue

    /// The next commit; nil when the store is closed, or the task cancelled.
    public mutating func next() async -> StoreChange? { await queue.next() }
  }

  /// What waits now, taken without waiting for more.
  package func takeWaiting() -> [StoreChange] { queue.takeWaiting() }

  /// An iterator.
  public func makeAsyncIterator() -> Iterator { Iterator(queue: queue) }
}
