// How dates are stored: SQLite has no type for them.

public import Foundation

/// What a `Date` becomes in a column, and back.
///
/// A setting of the connection (``Connection/Configuration/dates``), because a file should hold one kind.
public enum DateStrategy: Sendable {
  /// Seconds since 1970-01-01 as a real, as SQLite's own date functions take with `unixepoch`. The default.
  /// Steps of about a quarter of a microsecond.
  case secondsSince1970
  /// Milliseconds since 1970-01-01 as an integer, rounded.
  case millisecondsSince1970
  /// Seconds since 2001-01-01 as a real: exact, what `Date` itself holds and what `ObjectVault` stores.
  case secondsSinceReferenceDate
  /// ISO 8601 text in UTC with milliseconds, `2026-11-20T20:15:02.500Z`: sorts as text, readable in a shell.
  case iso8601
  /// A format of the caller's own.
  /// - Parameters:
  ///   - encode: The stored form.
  ///   - decode: Back again; nil when the value is none of that form.
  case custom(encode: @Sendable (Date) -> SQLValue, decode: @Sendable (SQLValue) -> Date?)

  /// Text by a formatter of Foundation's, which must be left alone afterwards.
  public static func formatted(_ formatter: DateFormatter) -> DateStrategy {
    let formatter = UncheckedFormatter(formatter: formatter)
    return .custom(
      encode: { .text(formatter.formatter.string(from: $0)) },
      decode: { $0.string.flatMap { formatter.formatter.date(from: $0) } })
  }

  func value(of date: Date) -> SQLValue {
    switch self {
    case .secondsSince1970: .real(date.timeIntervalSince1970)
    case .millisecondsSince1970:
      // Beyond the integers' range (292 million years) the nearest end.
      .integer(Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) ?? (date > .now ? .max : .min))
    case .secondsSinceReferenceDate: .real(date.timeIntervalSinceReferenceDate)
    case .iso8601: .text(date.formatted(Self.iso))
    case .custom(let encode, _): encode(date)
    }
  }

  func date(of value: SQLValue) -> Date? {
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

// Safe to share: DateFormatter may be used from several threads as long as nobody changes it, and the
// documentation of `formatted(_:)` asks for that.
private struct UncheckedFormatter: @unchecked Sendable {
  let formatter: DateFormatter
}
