// A limit on the number of queries in a test.

private import CipherSQLite
public import ObjectVault

/// The error for more queries than a test allows.
public struct QueryLimitExceeded: Error, Sendable, Hashable {
  /// The number of queries that were allowed.
  public let limit: Int
  /// The number of queries that were made.
  public let queries: Int
  /// The number of queries that fetched one row, or the members of one object, because a property was
  /// read.
  public let faultsFired: Int
  /// The number of rows that the queries returned.
  public let rows: Int
}

extension QueryLimitExceeded: CustomStringConvertible {
  /// The numbers, and what to do when objects were fetched one by one.
  public var description: String {
    "\(counted(queries, "query was", plural: "queries were")) made, but only \(limit) "
      + "\(limit == 1 ? "is" : "are") allowed; they returned \(counted(rows, "row"))."
      + (faultsFired == 0
        ? ""
        : " \(faultsFired) of them fetched one object or one set each, when a property was read: prefetch it.")
  }
}

extension ObjectContext {
  /// Runs `body`, and throws when the context makes more than `limit` queries, for example one for each
  /// object.
  ///
  /// ```swift
  /// let cities = try context.withQueryLimit(2) {
  ///   try context.fetch(Status.self).prefetch(\.user).all().map(\.user?.city)
  /// }
  /// ```
  /// Saves are not counted, except for the queries that they make. Queries of other contexts are not
  /// counted.
  /// - Parameters:
  ///   - limit: The largest number of queries that is allowed.
  ///   - body: The code that queries the context.
  /// - Returns: The result of `body`.
  /// - Throws: ``QueryLimitExceeded`` after `body` has completed; the errors of `body`.
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
