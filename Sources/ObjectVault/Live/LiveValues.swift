// Live values: what a closure reads, again after each commit that can matter.

internal import CipherSQLite

extension Store {
  /// What a closure reads, now and again after each commit that can change it.
  ///
  /// ```swift
  /// let titles = store.observe { context in
  ///   try context.fetch(Item.self).sorted(by: \.title).values(\.title)
  /// }
  /// for try await titles in titles {
  ///   if titles.isEmpty { break }
  /// }
  /// ```
  ///
  /// The first element comes at once. The tables and columns that the closure reads are noted, also those of
  /// relationships, conditions and SQL: a commit that changes others causes no read. Commits of other
  /// contexts, other processes and ``ObjectContext/execute(_:)`` count; after one of another process the
  /// closure always runs. An element that equals the one before is left out if its type is `Equatable`.
  ///
  /// Each element is of one snapshot. A consumer that is slower than the commits gets the newest state; at
  /// most 10,000 changes wait for it. The sequence ends when the store is closed, or released with all its
  /// contexts, or when the task is cancelled; an error of the closure is thrown to the consumer and ends its
  /// loop. Rows that triggers write and values of ``ObjectContext/metadata`` are not observed.
  ///
  /// While a consumer exists, each save of the store records its changes.
  /// - Parameters:
  ///   - interval: The shortest time between two reads; what is committed meanwhile is one element.
  ///   - read: Reads; its result cannot contain objects: see ``Persistable/snapshot()``.
  /// - Returns: A sequence; each of its iterators is a consumer of its own.
  public func observe<Value: Sendable>(
    interval: Duration = .zero, _ read: @escaping @Sendable (ObjectContext) throws -> Value
  ) -> LiveValues<Value> {
    LiveValues(store: self, interval: interval, read: read)
  }
}

/// What a closure reads, again after each commit that can change it: see ``Store/observe(interval:_:)``.
public struct LiveValues<Value: Sendable>: AsyncSequence, Sendable {
  /// A result of the closure.
  public typealias Element = Value
  /// An error of the closure.
  public typealias Failure = any Error

  private weak let store: Store?
  private let interval: Duration
  private let read: @Sendable (ObjectContext) throws -> Value

  init(store: Store, interval: Duration, read: @escaping @Sendable (ObjectContext) throws -> Value) {
    (self.store, self.interval, self.read) = (store, interval, read)
  }

  /// Returns an iterator, which notices the commits from now on.
  public func makeAsyncIterator() -> Iterator {
    Iterator(feed: store.map { LiveFeed(of: $0, interval: interval) }, read: read)
  }

  /// The iterator of ``LiveValues``.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    fileprivate let feed: LiveFeed?
    fileprivate let read: @Sendable (ObjectContext) throws -> Value
    /// What the last read has used; nil if the next one cannot be left out.
    private var region: ObservedRegion?
    private var latest: Value?

    fileprivate init(feed: LiveFeed?, read: @escaping @Sendable (ObjectContext) throws -> Value) {
      (self.feed, self.read) = (feed, read)
    }

    /// Waits for the next result.
    /// - Returns: The result; nil at the end of the sequence.
    /// - Throws: The errors of the closure and of ``Store/read(_:)``.
    public mutating func next() async throws -> Value? {
      guard let feed else { return nil }
      while true {
        if let region {
          if await feed.changes(where: region.isTouched).isEmpty { return nil }
        } else {
          _ = feed.takeArrived()
        }
        region = nil
        guard let (value, region) = try await feed.read(read) else { return nil }
        self.region = region
        if let latest, areEqual(latest, and: value) == true { continue }
        latest = value
        return value
      }
    }
  }
}
