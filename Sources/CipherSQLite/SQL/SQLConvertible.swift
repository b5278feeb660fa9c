// Swift values as parameters and columns.

public import Foundation

/// A type whose values can be bound to a parameter and read from a column.
///
/// The standard types conform; `nil` is NULL. An enum with a raw value of one of them conforms by saying so:
/// ```swift
/// enum Mood: String, SQLConvertible { case calm, cross }
/// ```
public protocol SQLConvertible: Sendable {
  /// The value as SQLite stores it.
  func sqlValue(dates: DateStrategy) -> SQLValue
  /// The Swift value of a column; nil when the column holds nothing of the kind.
  static func from(_ value: SQLValue, dates: DateStrategy) -> Self?
}

extension SQLValue: SQLConvertible {
  /// Itself.
  public func sqlValue(dates: DateStrategy) -> SQLValue { self }
  /// Itself.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> SQLValue? { value }
}

extension SQLConvertible where Self: FixedWidthInteger {
  /// An integer. Values above `Int64.max` become reals, as they do in SQLite.
  public func sqlValue(dates: DateStrategy) -> SQLValue {
    Int64(exactly: self).map { .integer($0) } ?? .real(Double(self))
  }
  /// The integer when it fits; a real when it is whole and fits.
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
  /// A real.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .real(Double(self)) }
  /// A real or an integer, rounded to the type.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Self? { value.double.map { Self($0) } }
}
extension Double: SQLConvertible {}
extension Float: SQLConvertible {}

extension Bool: SQLConvertible {
  /// 1 or 0.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .integer(self ? 1 : 0) }
  /// An integer; everything but 0 is true, as in SQLite.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Bool? {
    if case .integer(let value) = value { value != 0 } else { nil }
  }
}

extension String: SQLConvertible {
  /// Text.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .text(self) }
  /// Text.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> String? { value.string }
}

extension Substring: SQLConvertible {
  /// Text.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .text(String(self)) }
  /// Text.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Substring? {
    value.string.map { $0[...] }
  }
}

extension Data: SQLConvertible {
  /// Bytes.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .blob(self) }
  /// Bytes.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Data? {
    if case .blob(let value) = value { value } else { nil }
  }
}

extension UUID: SQLConvertible {
  /// Text of 36 characters, upper case.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .text(uuidString) }
  /// Text of 36 characters, or 16 bytes.
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
  /// Text.
  public func sqlValue(dates: DateStrategy) -> SQLValue { .text(absoluteString) }
  /// Text that is a URL.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> URL? {
    value.string.flatMap { URL(string: $0) }
  }
}

extension Date: SQLConvertible {
  /// As the connection's ``DateStrategy`` says.
  public func sqlValue(dates: DateStrategy) -> SQLValue { dates.value(of: self) }
  /// As the connection's ``DateStrategy`` says.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Date? { dates.date(of: value) }
}

extension Optional: SQLConvertible where Wrapped: SQLConvertible {
  /// NULL for nil.
  public func sqlValue(dates: DateStrategy) -> SQLValue { self?.sqlValue(dates: dates) ?? .null }
  /// nil for NULL.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Wrapped?? {
    if value.isNull { return .some(nil) }
    return Wrapped.from(value, dates: dates).map { .some($0) }
  }
}

extension SQLConvertible where Self: RawRepresentable, RawValue: SQLConvertible {
  /// The raw value.
  public func sqlValue(dates: DateStrategy) -> SQLValue { rawValue.sqlValue(dates: dates) }
  /// The case of that raw value.
  public static func from(_ value: SQLValue, dates: DateStrategy) -> Self? {
    RawValue.from(value, dates: dates).flatMap { Self(rawValue: $0) }
  }
}
