// The error of ObjectContext.withQueryLimit.

private import CipherSQLite

/// The error for more queries than ``ObjectContext/withQueryLimit(_:_:)`` allows.
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
  /// The relationships and lazy attributes that were read one by one for each object, the one with the
  /// most queries first.
  public let relationships: [Relationship]

  /// A relationship, or a lazy attribute, that was read by a query for each object.
  public struct Relationship: Sendable, Hashable {
    /// The entity that has it.
    public let entity: String
    /// Its name.
    public let name: String
    /// The number of queries.
    public let queries: Int
  }
}

extension QueryLimitExceeded: CustomStringConvertible {
  /// The numbers, the relationships that were read one by one, and what to do.
  public var description: String {
    let numbers =
      "\(counted(queries, "query was", plural: "queries were")) made, but only \(limit) "
      + "\(limit == 1 ? "is" : "are") allowed; they returned \(counted(rows, "row"))."
    if faultsFired == 0 { return numbers + " Replace fetches that differ in a value by one, with IN." }
    let known = relationships.prefix(3).map { each in
      " \(each.entity).\(each.name) was read by \(counted(each.queries, "query", plural: "queries")), one for each "
        + "object: add .prefetch(\\.\(each.name)) to the fetch of \(each.entity)."
    }
    let rest = faultsFired - relationships.prefix(3).reduce(0) { $0 + $1.queries }
    return numbers + known.joined()
      + (rest > 0
        ? " \(rest) of them fetched one object or one set each, when a property was read: prefetch it." : "")
  }
}
