// One SQLite value, as a column contains it and a parameter accepts it.

public import Foundation

/// A value as SQLite stores it: one of its five storage classes.
public enum SQLValue: Sendable, Hashable {
  /// No value.
  case null
  /// A signed 64-bit integer.
  case integer(Int64)
  /// A 64-bit floating-point number. SQLite stores NaN as NULL.
  case real(Double)
  /// UTF-8 text; may contain NUL.
  case text(String)
  /// Bytes.
  case blob(Data)

  /// The integer, or the truncated real; nil for text, bytes and NULL, and for a real that is out of range.
  public var int64: Int64? {
    switch self {
    case .integer(let value): value
    case .real(let value): Int64(exactly: value.rounded(.towardZero))
    default: nil
    }
  }

  /// The number as a `Double`, or nil for text, bytes and NULL.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .real(let value): value
    default: nil
    }
  }

  /// The text; nil for any other storage class.
  public var string: String? {
    if case .text(let value) = self { value } else { nil }
  }

  /// Whether this is NULL.
  public var isNull: Bool { self == .null }
}

// It does not conform to `ExpressibleByNilLiteral`: otherwise `connection.value(…) != nil` would compare
// with NULL, and not check whether there is a row.
extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
  /// Creates an integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Creates a real.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// Creates text.
  public init(stringLiteral value: String) { self = .text(value) }
}
