// How dates are stored: SQLite has no type for them.

public import Foundation

/// The conversion between a `Date` and a column's value.
///
/// It is a setting of the connection (``Connection/Configuration/dates``), because a file should use one
/// format.
public enum DateStrategy: Sendable {
  /// Seconds since 1970-01-01 as a real, which SQLite's own date functions accept with `unixepoch`. The
  /// default. Resolution: about a quarter of a microsecond.
  case secondsSince1970
  /// Milliseconds since 1970-01-01 as an integer, rounded.
  case millisecondsSince1970
  /// Seconds since 2001-01-01 as a real. Exact, because `Date` itself has this form. `ObjectVault` stores
  /// dates in this form.
  case secondsSinceReferenceDate
  /// ISO 8601 text in UTC with milliseconds, `2026-11-20T20:15:02.500Z`: can be sorted as text and read in a
  /// shell.
  case iso8601
  /// A custom format.
  /// - Parameters:
  ///   - encode: Returns the stored form of a date.
  ///   - decode: Returns the date of a stored form; nil when the value is not in that form.
  case custom(encode: @Sendable (Date) -> SQLValue, decode: @Sendable (SQLValue) -> Date?)

  /// Text in the format of a Foundation formatter.
  /// - Parameter formatter: The formatter, which must not be changed afterwards.
  /// - Returns: The strategy.
  public static func formatted(_ formatter: DateFormatter) -> DateStrategy {
    let formatter = UncheckedFormatter(formatter: formatter)
    return .custom(
      encode: { .text(formatter.formatter.string(from: $0)) },
      decode: { $0.string.flatMap { formatter.formatter.date(from: $0) } })
  }

  package func value(of date: Date) -> SQLValue {
    switch self {
    case .secondsSince1970: .real(date.timeIntervalSince1970)
    case .millisecondsSince1970:
      // Outside the range of integers (292 million years), the nearest bound is stored.
      .integer(Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) ?? (date > .now ? .max : .min))
    case .secondsSinceReferenceDate: .real(date.timeIntervalSinceReferenceDate)
    case .iso8601: .text(date.formatted(Self.iso))
    case .custom(let encode, _): encode(date)
    }
  }

  package func date(of value: SQLValue) -> Date? {
    switch self {
    case .secondsSince1970: value.double.map { Date(timeIntervalSince1970: $0) }
    case .millisecondsSince1970: value.double.map { Date(timeIntervalSince1970: $0 / 1000) }
    case .secondsSinceReferenceDate: value.double.map { Date(timeIntervalSinceReferenceDate: $0) }
    case .iso8601: value.string.flatMap { try? Self.iso.parse($0) }
    case .custom(_, let decode): decode(value)
    }
  }

  private static let iso = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
}

// Safe to share: a DateFormatter may be used from several threads as long as no code changes it, and the
// documentation of `formatted(_:)` requires that.
private struct UncheckedFormatter: @unchecked Sendable {
  let formatter: DateFormatter
}
