// Live results: what a request finds, again after each commit that can change it, with the difference.

internal import CipherSQLite

extension Store {
  /// What a request finds, now and again after each commit that can change it, with the difference from the
  /// result before.
  ///
  /// ```swift
  /// let items = Item.request.sorted(by: \.title)
  /// for try await result in store.observe(items, values: \.title) {
  ///   let change = result.difference
  ///   if change.deletions.isEmpty == false { break }
  /// }
  /// ```
  ///
  /// As ``observe(interval:_:)``, and faster for long lists: after a commit of this store that changes a few
  /// objects, only these are read. That holds if the condition and `values` use nothing but properties of the
  /// fetched objects, the sort uses attributes, and the request has no offset. With a limit, the whole window
  /// is read again when objects leave it. In all other cases everything is read again and compared; a result
  /// that does not differ is left out.
  /// - Parameters:
  ///   - request: What to fetch. Objects that compare equal are in the order of their ids.
  ///   - interval: The shortest time between two reads; what is committed meanwhile is one element.
  ///   - values: Returns what to keep of an object. If the type is not `Equatable`, an object counts as
  ///     updated when its row was written, or whenever `values` reads other objects.
  /// - Returns: A sequence; each of its iterators is a consumer of its own.
  public func observe<Object: ManagedObject, Value: Sendable>(
    _ request: ObjectRequest<Object>, interval: Duration = .zero,
    values: @escaping @Sendable (Object) throws -> Value
  ) -> LiveResults<Object, Value> {
    LiveResults(store: self, interval: interval, plan: LivePlan(request, values))
  }
}

/// A result of a live request.
public struct LiveResult<Value: Sendable>: Sendable {
  /// What is kept of each object, in the order of the request.
  public let values: [Value]
  /// The ids of the objects: ``ObjectID/rowID``.
  public let rowIDs: [Int64]
  /// How the result differs from the one before. In the first result, all objects are insertions.
  public let difference: LiveDifference
}

/// What a request finds, again after each commit that can change it: see
/// ``Store/observe(_:interval:values:)``.
public struct LiveResults<Object: ManagedObject, Value: Sendable>: AsyncSequence, Sendable {
  /// A result of the request.
  public typealias Element = LiveResult<Value>
  /// An error of the request.
  public typealias Failure = any Error

  private weak let store: Store?
  private let interval: Duration
  private let plan: LivePlan<Object, Value>

  fileprivate init(store: Store, interval: Duration, plan: LivePlan<Object, Value>) {
    (self.store, self.interval, self.plan) = (store, interval, plan)
  }

  /// Returns an iterator, which notices the commits from now on.
  public func makeAsyncIterator() -> Iterator {
    Iterator(feed: store.map { LiveFeed(of: $0, interval: interval) }, plan: plan)
  }

  /// The iterator of ``LiveResults``.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private let feed: LiveFeed?
    private let plan: LivePlan<Object, Value>
    private var list = LiveList<Value>()
    /// What the last whole read has used; nil if the next one must be whole.
    private var region: ObservedRegion?
    private var isFirst = true

    fileprivate init(feed: LiveFeed?, plan: LivePlan<Object, Value>) {
      (self.feed, self.plan) = (feed, plan)
    }

    /// Waits for the next result.
    /// - Returns: The result; nil at the end of the sequence.
    /// - Throws: ``StoreError/predicate(_:)`` and the other errors of a fetch; the errors of `values`.
    public mutating func next() async throws -> LiveResult<Value>? {
      guard let feed else { return nil }
      while true {
        var changes: [StoreChange] = []
        if let region {
          changes = await feed.changes(where: region.isTouched)
          if changes.isEmpty { return nil }
        }
        guard let difference = try await update(after: changes, feed) else { return nil }
        if difference.isEmpty, !isFirst { continue }
        isFirst = false
        return LiveResult(values: list.values, rowIDs: list.ids, difference: difference)
      }
    }

    /// Reads what has changed.
    /// - Returns: The difference; nil at the end of the sequence.
    private mutating func update(
      after changes: [StoreChange], _ feed: LiveFeed
    ) async throws -> LiveDifference? {
      let former = region
      // If this fails or is cancelled, the next read is a whole one.
      region = nil
      if let former, let difference = try await updateParts(after: changes, of: former, feed) {
        return difference
      }
      _ = feed.takeArrived()
      let plan = plan
      guard let (list, region) = try await feed.read({ try plan.list($0) }) else { return nil }
      let difference = list.difference(from: self.list, versionsTell: region.hasOneTable && list.isAlone)
      (self.list, self.region) = (list, region)
      return difference
    }

    /// Reads the changed objects alone, in the state of the last commit that was taken.
    /// - Returns: The difference; nil if that cannot be done.
    private mutating func updateParts(
      after changes: [StoreChange], of region: ObservedRegion, _ feed: LiveFeed
    ) async throws -> LiveDifference? {
      guard list.isAlone else { return nil }
      var changes = changes
      // A commit may arrive between the changes that were taken and the read.
      for _ in 0..<3 {
        let number = feed.deliveredNumber
        changes += feed.takeArrived()
        guard let changed = plan.changedIDs(changes, region), changed.count <= Swift.max(64, list.count / 4)
        else {
          return nil
        }
        let latest = Swift.max(number, changes.last?.number ?? 0)
        let plan = plan
        let read = try await feed.read { context in
          context.isStateOf(commit: latest) ? try plan.entries(context, ids: changed) : nil
        }
        guard let (found, other) = read else { return nil }
        guard let found else { continue }
        // The values of a new object may need others, which the values so far did not.
        guard found.isAlone else { return nil }
        guard
          let (list, difference) = list.replacing(
            changed, by: found.entries, limit: plan.request.parameters.limit,
            in: plan.order(region.mapping.schema))
        else { return nil }
        self.list = list
        // The values of a new object may have used tables that were not read before.
        var region = region
        region.formUnion(other)
        self.region = region
        return difference
      }
      return nil
    }
  }
}
