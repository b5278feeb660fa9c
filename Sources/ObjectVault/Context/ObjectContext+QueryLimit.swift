// A limit on the number of queries: it finds code that makes a query for each object.

extension ObjectContext {
  /// Runs `body`, and throws when the context makes more than `limit` queries, for example one for each
  /// object.
  ///
  /// ```swift
  /// let cities = try context.withQueryLimit(2) {
  ///   try context.fetch(Status.self).prefetch(\.user).all()
  ///     .map(\.user?.city)
  /// }
  /// ```
  /// Every statement that reads rows for the context is counted: fetches, prefetches, rows and members
  /// that are read because a property was accessed, and ``rows(_:includingPending:)``. Saves are not
  /// counted, except for the queries that they make. Queries of other contexts are not counted. Limits may
  /// be nested; each counts the queries of its own closure.
  /// - Parameters:
  ///   - limit: The largest number of queries that is allowed.
  ///   - body: The code that queries the context.
  /// - Returns: The result of `body`.
  /// - Throws: ``QueryLimitExceeded`` after `body` has completed; the errors of `body`.
  public func withQueryLimit<Result>(_ limit: Int, _ body: () throws -> Result) throws -> Result {
    let (before, outer) = (statistics, faultLog)
    faultLog = FaultLog()
    defer {
      let inner = faultLog
      faultLog = outer
      if let inner { faultLog?.add(inner) }
    }
    let result = try body()
    let queries = statistics.queries - before.queries
    guard queries > limit else { return result }
    throw QueryLimitExceeded(
      limit: limit, queries: queries, faultsFired: statistics.faultsFired - before.faultsFired,
      rows: statistics.rows - before.rows, relationships: faultLog?.relationships ?? [])
  }
}
