// Ids as values in SQL.

public import CipherSQLite

extension ObjectID: SQLConvertible {
  /// Returns the number of the row.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .integer(rowID) }
  /// Creates the id of a number. It has no mark of a store.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> ObjectID? {
    if case .integer(let rowID) = value { ObjectID(rowID: rowID) } else { nil }
  }
}
