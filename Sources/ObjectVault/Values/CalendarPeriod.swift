// The days, weeks, months and years of a time zone, by which dates are grouped.

internal import CipherSQLite
private import Foundation

/// A part of the calendar, by whose beginning objects are grouped:
/// `grouped(byStartOf: .month, of: \.sentAt, .count)`.
///
/// The calendar is that of ISO 8601: Gregorian, with weeks that begin on Monday.
public enum CalendarPeriod: String, Sendable, Hashable, Codable, CaseIterable {
  /// From midnight to midnight; 23 or 25 hours when the clock is changed.
  case day
  /// From Monday to Sunday.
  case week
  /// A month of a year.
  case month
  /// From 1 January to 31 December.
  case year
}

/// The periods of one kind in one time zone.
final class CalendarPeriods: Sendable {
  /// The beginning and the end of a period, in seconds since 2001-01-01 UTC.
  private typealias Interval = (start: Double, end: Double)

  private static let all = Locked<[String: CalendarPeriods]>([:])
  /// The highest number of periods that are kept; 50,000 days are 137 years.
  private static let capacity = 50_000
  /// Dates more than this many seconds, about 6,300 years, before or after 2001 have no period.
  private static let farthest = 2.0e11

  private let component: Calendar.Component
  private let calendar: Calendar
  /// The periods that were asked for, by their beginnings: Foundation takes microseconds to find one.
  private let known = Locked<[Interval]>([])

  /// Returns the periods of a text such as `month Europe/Berlin`; nil for another text. Without a time zone
  /// it is UTC.
  static func named(_ text: String) -> CalendarPeriods? {
    if let periods = all.withLock({ $0[text] }) { return periods }
    let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
    guard let period = parts.first.flatMap(CalendarPeriod.init),
      let zone = TimeZone(identifier: parts.count > 1 ? parts[1] : "GMT")
    else { return nil }
    let periods = CalendarPeriods(period, zone)
    all.withLock { all in
      // The texts come from the program. The limit is for a program that builds them from its input.
      if all.count >= 100 { all.removeAll() }
      all[text] = periods
    }
    return periods
  }

  private init(_ period: CalendarPeriod, _ zone: TimeZone) {
    component =
      switch period {
      case .day: .day
      case .week: .weekOfYear
      case .month: .month
      case .year: .year
      }
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = zone
    self.calendar = calendar
  }

  /// Returns the beginning of the period with a date, both in seconds since 2001-01-01 UTC; nil for a date
  /// that is too far away.
  func start(of seconds: Double) -> Double? {
    guard abs(seconds) < Self.farthest else { return nil }
    return known.withLock { known in
      var (low, high) = (0, known.count)
      // The number of periods that begin at the date or before it.
      while low < high {
        let middle = (low + high) / 2
        if known[middle].start <= seconds { low = middle + 1 } else { high = middle }
      }
      if low > 0, seconds < known[low - 1].end { return known[low - 1].start }
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      guard let found = calendar.dateInterval(of: component, for: date) else { return nil }
      let interval = Interval(
        found.start.timeIntervalSinceReferenceDate, found.end.timeIntervalSinceReferenceDate)
      guard interval.start <= seconds, seconds < interval.end else { return interval.start }
      if known.count >= Self.capacity {
        known = [interval]
      } else {
        known.insert(interval, at: low)
      }
      return interval.start
    }
  }
}
