// Decimals as values in SQL.

public import CipherSQLite
public import Foundation

extension Decimal: SQLConvertible {
  /// Returns the digits as text, as attributes store them; NULL for NaN.
  public func sqlValue(dates: DateStrategy) -> SQLValue { (try? stored()) ?? .null }
  /// Reads digits or an integer.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Decimal? { Decimal(stored: value) }
}
