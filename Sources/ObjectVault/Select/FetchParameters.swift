// The parameters of a fetch, which a request collects and the compiler turns into SQL.

internal import CipherSQLite

/// The conditions, the order and the window of a fetch.
struct FetchParameters: Sendable {
  var conditions: [FetchCondition] = []
  var sort: [SortKey] = []
  var prefetch: [[String]] = []
  /// The names of the properties that the request names as those to be fetched; nil for all.
  var only: [String]?
  var limit: Int?
  var offset = 0
  /// Whether equal rows of values are returned once.
  var isDistinct = false
  /// The slot of an indexed property: only the first row of each group of rows with equal values is
  /// found.
  var firstsOf: Int?
  /// Whether objects of descendants are found, too.
  var includesSubentities = true
  /// Whether the rows that ``Connection/withPendingRows(_:_:)`` sets are excluded.
  var excludesPending = false
  /// The store of the ids whose order the sort has.
  var storeOfOrder = StoreFingerprint.unknown
  /// The error of an invalid key path, which the fetch throws when it runs.
  var failure: StoreError?

  /// The names of the properties that are fetched, also those that prefetches need, and those that are
  /// sorted by: with pending changes, rows are merged by them. nil for all.
  var fetchedNames: [String]? {
    only.map { $0 + (prefetch + sort.compactMap(\.value.names)).compactMap(\.first) }
  }

  /// The sort with one more key for each key that ignores something, so that values which differ only in
  /// that have a fixed order; nil if it needs no more keys.
  var exactSort: [SortKey]? {
    let missing = sort.filter { !$0.options.isEmpty }
      .map { SortKey(value: $0.value, isDescending: $0.isDescending) }.filter { !sort.contains($0) }
    return missing.isEmpty ? nil : sort + missing
  }

  /// Returns the slots that are read; nil for all but lazy ones.
  /// - Throws: ``StoreError/predicate(_:)`` for a name that is no property.
  func slots(of entity: EntityMapping) throws -> [Int]? {
    guard let only, let fetchedNames else { return nil }
    _ = try entity.slots(of: only)
    return try entity.slots(of: fetchedNames.filter { entity.slot(named: $0) != nil })
  }

  /// Returns the slots of lazy attributes that the sort names, or also the conditions.
  func lazySlots(of entity: EntityMapping, inSortAlone: Bool = false) -> [Int] {
    guard !entity.lazySlots.isEmpty else { return [] }
    var names = Set(sort.compactMap(\.value.names).compactMap(\.first))
    for condition in inSortAlone ? [] : conditions { names.formUnion(condition.node.namesOfOwnProperties) }
    return entity.lazySlots.filter { names.contains(entity.slots[$0].name) }
  }

  /// Whether only a part of the results is fetched.
  var isWindow: Bool { limit != nil || offset > 0 }

  /// Whether a condition refers to an object without a row.
  var refersToNewObjects: Bool { conditions.contains { $0.refersToNewObjects } }

  /// Adds a condition.
  mutating func add(_ condition: consuming FetchCondition) {
    // An array of one element, which most requests have, is allocated at once and does not grow.
    if conditions.isEmpty { conditions = [condition] } else { conditions.append(condition) }
  }
}
