// The commits of a store as an asynchronous sequence.

/// An element of ``StoreChanges``: a commit, a gap, or the news that others have committed.
public enum StoreChange: Sendable, Hashable {
  /// A commit, with its changes.
  case committed(ChangeSet)
  /// Commits that the consumer does not get: they were not recorded, or were discarded because too many
  /// changes were queued. Read the data again: what was computed from earlier commits is outdated.
  case missed(commits: Int)
  /// Another process, or another store that is open on the file, has committed, once or several times. What
  /// changed is not known: read the data again.
  case changedElsewhere

  /// The number of changed objects, links and places.
  var count: Int { if case .committed(let changes) = self { changes.count } else { 0 } }
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
