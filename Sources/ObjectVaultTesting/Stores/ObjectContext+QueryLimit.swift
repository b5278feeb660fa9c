// A bound on how often a test may ask the store.

private import CipherSQLite
public import ObjectVault

/// More was asked of a store than a test allows.
public struct QueryLimitExceeded: Error, Sendable, Hashable {
  /// How many queries were allowed.
  public let limit: Int
  /// How many there were.
  public let queries: Int
  /// How many of them fetched one row, or the members of one object, because a property was read.
  public let faultsFired: Int
  /// How many rows they gave.
  public let rows: Int
}

extension QueryLimitExceeded: CustomStringConvertible {
  /// The numbers, and what to do when objects were fetched one by one.
  public var description: String {
    "\(counted(queries, "query was", "queries were")) made, and \(limit) \(limit == 1 ? "is" : "are") allowed; they gave \(counted(rows, "row"))."
      + (faultsFired == 0
        ? ""
        : " \(faultsFired) of them fetched one object or one set each, when a property was read: prefetch it.")
  }
}

extension ObjectContext {
  /// Runs `body` and fails when the context asked the store more often than `limit` times: for each object once, say.
  ///
  /// ```swift
  /// let cities = try context.withQueryLimit(2) {
  ///   try context.fetch(Status.self).prefetch(\.user).all().map(\.user?.city)
  /// }
  /// ```
  /// Saves are not counted, but for what they ask. What other contexts do is not counted.
  /// - Throws: ``QueryLimitExceeded`` after `body` has run to its end; what `body` throws.
  public func withQueryLimit<Result>(_ limit: Int, _ body: () throws -> Result) throws -> Result {
    let before = statistics
    let result = try body()
    let queries = statistics.queries - before.queries
    guard queries > limit else { return result }
    throw QueryLimitExceeded(
      limit: limit, queries: queries, faultsFired: statistics.faultsFired - before.faultsFired,
      rows: statistics.rows - before.rows)
  }
}
