// Dates as people write them in predicates: the unambiguous forms of ISO 8601. The calendar is calculated
// here and not by the system, so that a text means the same everywhere.

package import Foundation

/// Parses a text that names a moment.
enum DateText {
  /// Returns the seconds from 2001-01-01 00:00 UTC, as dates are stored; nil when the text is not a date.
  ///
  /// `YYYY-MM-DD` is midnight UTC. A time may follow after a `T` or a space: `HH:MM`, optionally seconds
  /// and a fraction, then `Z` or an offset. A time without either is rejected, because the moment would
  /// depend on the time zone.
  static func seconds(_ text: String) -> Double? {
    var rest = Array(text.utf8)[...]
    guard let year = number(4, &rest), take("-", &rest), let month = number(2, &rest), take("-", &rest),
      let day = number(2, &rest), year > 0, (1...12).contains(month), day > 0, day <= length(month, of: year)
    else { return nil }
    let midnight = days(year: year, month: month, day: day) * 86_400
    if rest.isEmpty { return Double(midnight) }
    guard take("T", &rest) || take(" ", &rest), let hour = number(2, &rest), hour < 24, take(":", &rest),
      let minute = number(2, &rest), minute < 60
    else { return nil }
    var (second, fraction) = (0, 0.0)
    if take(":", &rest) {
      guard let given = number(2, &rest), given < 60 else { return nil }
      second = given
      if take(".", &rest) {
        guard let given = self.fraction(&rest) else { return nil }
        fraction = given
      }
    }
    guard let offset = offset(&rest), rest.isEmpty else { return nil }
    return Double(midnight + hour * 3600 + minute * 60 + second - offset) + fraction
  }

  /// Returns a moment as `2024-05-01T18:30:00.250Z`, to the millisecond; nil outside the years 0001 to 9999.
  /// - Parameters:
  ///   - seconds: The seconds from 2001-01-01 00:00 UTC.
  ///   - rounding: How a fraction of a millisecond is rounded.
  static func text(_ seconds: Double, rounding: FloatingPointRoundingRule = .down) -> String? {
    let milliseconds = (seconds * 1000).rounded(rounding)
    guard abs(milliseconds) < 1e15 else { return nil }
    let (days, time) = Int(milliseconds).quotientAndRemainder(dividingBy: 86_400_000)
    let (day, rest) = time < 0 ? (days - 1, time + 86_400_000) : (days, time)
    guard let (year, month, number) = date(day) else { return nil }
    let padded = { (value: Int, width: Int) in
      let digits = "\(value)"
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let clock = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { padded($0, 2) }
    let fraction = rest % 1000 == 0 ? "" : ".\(padded(rest % 1000, 3))"
    return
      "\(padded(year, 4))-\(padded(month, 2))-\(padded(number, 2))T\(clock.joined(separator: ":"))\(fraction)Z"
  }

  /// Reads `Z`, `+02:00`, `+0200` or `+02` and returns the offset in seconds.
  private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
    if take("Z", &rest) { return 0 }
    let isBehind = take("-", &rest)
    guard isBehind || take("+", &rest), let hours = number(2, &rest), hours < 24 else { return nil }
    var minutes = 0
    if take(":", &rest) || !rest.isEmpty {
      guard let given = number(2, &rest), given < 60 else { return nil }
      minutes = given
    }
    return (hours * 3600 + minutes * 60) * (isBehind ? -1 : 1)
  }

  /// Reads the digits after a decimal point: 1 to 17, which is all that a double can hold.
  private static func fraction(_ rest: inout ArraySlice<UInt8>) -> Double? {
    let digits = rest.prefix { (0x30...0x39).contains($0) }
    guard (1...17).contains(digits.count) else { return nil }
    rest = rest.dropFirst(digits.count)
    return Double("0." + String(decoding: digits, as: UTF8.self))
  }

  private static func number(_ digits: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
    let part = rest.prefix(digits)
    guard part.count == digits, part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    rest = rest.dropFirst(digits)
    return part.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  private static func take(_ sign: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
    guard rest.first == UInt8(ascii: sign) else { return false }
    rest = rest.dropFirst()
    return true
  }

  // MARK: The Gregorian calendar

  private static func length(_ month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Returns the days from 2001-01-01 to a date. The calculation begins years in March, so that a leap
  /// day is the last day of its year.
  private static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 730_791
  }

  /// Returns the date that is a number of days after 2001-01-01; nil outside the years 1 to 9999.
  private static func date(_ number: Int) -> (year: Int, month: Int, day: Int)? {
    guard number >= days(year: 1, month: 1, day: 1), number <= days(year: 9999, month: 12, day: 31) else {
      return nil
    }
    // An estimate that is one or two years too high.
    var year = min(9999, 2001 + Int((Double(number) / 365.2425).rounded(.down)) + 1)
    while days(year: year, month: 1, day: 1) > number { year -= 1 }
    var month = 12
    while days(year: year, month: month, day: 1) > number { month -= 1 }
    return (year, month, number - days(year: year, month: month, day: 1) + 1)
  }
}

extension Date {
  /// Reads a date in the form of a predicate's literals: `2024-05-01` or `2024-05-01T18:30:00Z`; nil for any
  /// other text.
  package init?(dateText text: String) {
    guard let seconds = DateText.seconds(text) else { return nil }
    self.init(timeIntervalSinceReferenceDate: seconds)
  }
}
