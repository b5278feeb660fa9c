// The parameters of a fetch, which a request collects and the compiler turns into SQL.

internal import CipherSQLite

/// The conditions, the order and the window of a fetch.
struct FetchParameters: Sendable {
  struct SortKey: Sendable, Hashable, Codable {
    let names: [String]
    let isDescending: Bool
  }
  var conditions: [FetchCondition] = []
  var sort: [SortKey] = []
  var prefetch: [[String]] = []
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
  /// The error of an invalid key path, which the fetch throws when it runs.
  var failure: StoreError?

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
