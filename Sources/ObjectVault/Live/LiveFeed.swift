// What a consumer of live results waits for and reads.

internal import CipherSQLite

/// The commits that one consumer of live results has not seen, and the reads that they cause.
final class LiveFeed: Sendable {
  // A sequence does not keep the store open.
  private weak let store: Store?
  private let queue: ChangeQueue
  private let interval: Duration
  private let latest = Locked<ContinuousClock.Instant?>(nil)

  /// How many changes may wait for a consumer. With more, it reads everything again.
  private static let capacity = 10_000

  init(of store: Store, interval: Duration) {
    (self.store, self.interval) = (store, min(interval, .seconds(1_000_000_000)))
    queue = ChangeQueue(store.core.feed, capacity: Self.capacity)
  }

  /// Waits for a change that may matter, and until the interval since the last read is over.
  /// - Returns: The change, and those that arrived meanwhile; none at the end.
  func changes(where isRelevant: (StoreChange) -> Bool) async -> [StoreChange] {
    while let change = await queue.next() {
      guard isRelevant(change) else { continue }
      if let latest = latest.withLock({ $0 }) { await pause(until: latest.advanced(by: interval)) }
      return [change] + queue.takeUndelivered()
    }
    return []
  }

  /// Waits until a moment, the end of the feed or of the task.
  private func pause(until moment: ContinuousClock.Instant) async {
    while ContinuousClock.now < moment, !queue.isEnded, !Task.isCancelled {
      let next = ContinuousClock.now.advanced(by: .milliseconds(50))
      try? await Task.sleep(until: min(moment, next), clock: .continuous)
    }
  }

  /// Takes the changes that have arrived, without waiting.
  func takeArrived() -> [StoreChange] { queue.takeUndelivered() }

  /// Runs a read on one snapshot, and returns what it has read.
  /// - Returns: nil if the store was closed, or the task was cancelled.
  func read<Result: Sendable>(
    _ body: @escaping @Sendable (ObjectContext) throws -> Result
  ) async throws -> (result: Result, region: ObservedRegion)? {
    guard let (core, pool) = store.map({ ($0.core, $0.pool) }) else { return nil }
    latest.withLock { $0 = .now }
    let work = ReadingWork(core: core, pool: pool)
    do {
      let (result, region) = try await pool.read { connection in
        try connection.trackingReads { try work.run(on: connection, body) }
      }
      return (result, ObservedRegion(region, mapping: core.mapping))
    } catch is CancellationError where Task.isCancelled {
      return nil
    } catch SQLError.closed {
      return nil
    }
  }

  /// The number of the latest commit whose change is in the queue or was taken from it.
  var deliveredNumber: Int64 { store?.core.feed.delivered?.number ?? 0 }
}

/// Returns whether two values are equal; nil if their type cannot tell.
func areEqual<Value>(_ one: Value, and other: Value) -> Bool? {
  func isOther<Known: Equatable>(_ one: Known) -> Bool { one == (other as? Known) }
  return (one as? any Equatable).map { isOther($0) }
}
