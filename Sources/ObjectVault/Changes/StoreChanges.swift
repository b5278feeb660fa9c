// The commits of a store as an asynchronous sequence.

/// An element of ``StoreChanges``: a commit, or a gap.
public enum StoreChange: Sendable, Hashable {
  /// A commit, with its changes.
  case committed(ChangeSet)
  /// Commits that the consumer does not get: they were not recorded, or were discarded because too many
  /// changes were queued. Read the data again: what was computed from earlier commits is outdated.
  case missed(commits: Int)
}

/// The commits of a store since the sequence was made, in order: see ``Store/changes(bufferingUpTo:)``.
///
/// A sequence is for one consumer: two iterators share its elements.
public struct StoreChanges: AsyncSequence, Sendable {
  private let queue: ChangeQueue

  init(_ queue: ChangeQueue) { self.queue = queue }

  /// The iterator of ``StoreChanges``.
  public struct Iterator: AsyncIteratorProtocol {
    let queue: ChangeQueue

    /// Waits for the next change.
    /// - Returns: The change; nil when the store is closed or the task is cancelled.
    public mutating func next() async -> StoreChange? { await queue.next() }
  }

  /// Takes the queued changes without waiting for more.
  package func takeUndelivered() -> [StoreChange] { queue.takeUndelivered() }

  /// Returns an iterator.
  public func makeAsyncIterator() -> Iterator { Iterator(queue: queue) }
}
