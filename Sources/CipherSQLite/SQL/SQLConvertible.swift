// Conversion between Swift values and SQLite values, for parameters and columns.

public import Foundation

/// A type whose values can be bound to a parameter and read from a column.
///
/// The standard types conform, and so do their optionals: nil is NULL. If the raw value of an enum
/// conforms, the enum only has to declare its conformance:
/// ```swift
/// enum Mood: String, SQLConvertible { case calm, cross }
/// ```
public protocol SQLConvertible: Sendable {
  /// Returns the value as SQLite stores it.
  /// - Parameter dates: The strategy for dates.
  /// - Returns: The stored value.
  func sqlValue(dates: DateStrategy) -> SQLValue
  /// Returns the Swift value of a column; nil when the column's value cannot be converted.
  /// - Parameters:
  ///   - value: The column's value.
  ///   - dates: The strategy for dates.
  /// - Returns: The Swift value.
  static func from(_ value: SQLValue, dates: DateStrategy) -> Self?
}

extension SQLValue: SQLConvertible {
  /// Returns the value unchanged.
  public func sqlValue(dates: DateStrategy) -> SQLValue { self }
  /// Returns the value unchanged.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> SQLValue? { value }
}

extension SQLConvertible where Self: FixedWidthInteger {
  /// Returns an integer. Values above `Int64.max` become reals, as in SQLite.
  public func sqlValue(dates: DateStrategy) -> SQLValue {
    Int64(exactly: self).map { .integer($0) } ?? .real(Double(self))
  }
  /// Returns an integer that is in range, or a real that is whole and in range.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Self? {
    switch value {
    case .integer(let value): Self(exactly: value)
    case .real(let value): Self(exactly: value)
    default: nil
    }
  }
}
extension Int: SQLConvertible {}
extension Int8: SQLConvertible {}
extension Int16: SQLConvertible {}
extension Int32: SQLConvertible {}
extension Int64: SQLConvertible {}
extension UInt: SQLConvertible {}
extension UInt8: SQLConvertible {}
extension UInt16: SQLConvertible {}
extension UInt32: SQLConvertible {}
extension UInt64: SQLConvertible {}

extension SQLConvertible where Self: BinaryFloatingPoint {
  /// Returns a real.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .real(Double(self)) }
  /// Returns a real or an integer, rounded to the type.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Self? { value.double.map { Self($0) } }
}
extension Double: SQLConvertible {}
extension Float: SQLConvertible {}

extension Bool: SQLConvertible {
  /// Returns 1 or 0.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .integer(self ? 1 : 0) }
  /// Returns an integer as a Boolean; all integers but 0 are true, as in SQLite. nil for other values.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Bool? {
    if case .integer(let value) = value { value != 0 } else { nil }
  }
}

extension String: SQLConvertible {
  /// Returns text.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .text(self) }
  /// Returns text.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> String? { value.string }
}

extension Substring: SQLConvertible {
  /// Returns text.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .text(String(self)) }
  /// Returns text.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Substring? {
    value.string.map { $0[...] }
  }
}

extension Data: SQLConvertible {
  /// Returns a blob.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .blob(self) }
  /// Returns the bytes of a blob.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Data? {
    if case .blob(let value) = value { value } else { nil }
  }
}

extension UUID: SQLConvertible {
  /// Returns text of 36 characters, upper case.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .text(uuidString) }
  /// Parses text of 36 characters, or a blob of 16 bytes.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> UUID? {
    switch value {
    case .text(let text): UUID(uuidString: text)
    case .blob(let data) where data.count == 16:
      unsafe data.withUnsafeBytes { unsafe UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    default: nil
    }
  }
}

extension URL: SQLConvertible {
  /// Returns the absolute URL as text.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .text(absoluteString) }
  /// Parses text that is a URL.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> URL? {
    value.string.flatMap { URL(string: $0) }
  }
}

extension Date: SQLConvertible {
  /// Returns the stored form that the connection's ``DateStrategy`` defines.
  public func sqlValue(dates: DateStrategy) -> SQLValue { dates.value(of: self) }
  /// Decodes the stored form that the connection's ``DateStrategy`` defines.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Date? { dates.date(of: value) }
}

extension Optional: SQLConvertible where Wrapped: SQLConvertible {
  /// Returns NULL for nil.
  public func sqlValue(dates: DateStrategy) -> SQLValue { self?.sqlValue(dates: dates) ?? .null }
  /// Returns `.some(nil)` for NULL; nil for a value that cannot be converted to `Wrapped`.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Wrapped?? {
    if value.isNull { return .some(nil) }
    return Wrapped.from(value, dates: dates).map { .some($0) }
  }
}

extension SQLConvertible where Self: RawRepresentable, RawValue: SQLConvertible {
  /// Returns the raw value's stored form.
  public func sqlValue(dates: DateStrategy) -> SQLValue { rawValue.sqlValue(dates: dates) }
  /// Returns the case that has the raw value.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Self? {
    RawValue.from(value, dates: dates).flatMap { Self(rawValue: $0) }
  }
}
