// Stored values as text for people, for CSV, and for JSON. A value that does not have its attribute's
// type is written as what it is.

import CipherSQLite
import Foundation
import ObjectVault

enum CellText {
  /// Returns the text for CSV and for strings in JSON: dates in ISO 8601, data in base64.
  static func plain(_ value: SQLValue, _ type: AttributeType) -> String {
    let traits = type.traits
    return switch value {
    case .null: ""
    case .integer(let number) where traits.written == .date: date(Double(number))
    case .integer(let number) where traits.isTruth && (number == 0 || number == 1):
      number == 1 ? "true" : "false"
    case .integer(let number): "\(number)"
    case .real(let number) where traits.written == .date: date(number)
    // Printed as a Float: as a Double, 0.1 would be 0.10000000149011612, which has more digits than were
    // stored.
    case .real(let number)
    where traits.storage == .real(isSingle: true) && Float(number).isInfinite == number.isInfinite:
      "\(Float(number))"
    case .real(let number): "\(number)"
    case .text(let text): text
    case .blob(let data): data.base64EncodedString()
    }
  }

  /// Returns the text for a table: one line; data in hexadecimal digits, the first 32 bytes at most.
  static func cell(_ value: SQLValue, _ type: AttributeType) -> String {
    guard case .blob(let data) = value else { return visible(plain(value, type)) }
    let digits = data.prefix(32).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
    return data.count > 32 ? "\(digits)… (\(data.count) bytes)" : digits
  }

  /// Returns a text in which characters are escaped that would move the cursor or change the direction of
  /// a line.
  static func visible(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: \.isHidden) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.isHidden: result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  // MARK: JSON

  /// Returns the text for JSON: numbers as numbers, but decimals as strings, which keep their digits; a
  /// JSON attribute as the JSON that it contains.
  static func json(_ value: SQLValue, _ type: AttributeType) -> String {
    let (storage, isDate) = (type.traits.storage, type.traits.written == .date)
    return switch value {
    case .null: "null"
    case .integer where storage != .text(.decimal) && !isDate: plain(value, type)
    case .real(let number) where !isDate && number.isFinite: plain(value, type)
    case .text(let text) where storage == .text(.json): JSONText.compact(text) ?? quoted(text)
    default: quoted(plain(value, type))
    }
  }

  /// Returns a text as a string of JSON.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  // MARK: Dates

  /// Returns a date as ISO 8601 in UTC, with fractions down to microseconds.
  /// - Parameter seconds: The seconds from 2001-01-01.
  static func date(_ seconds: Double) -> String {
    // More than three million years: beyond any calendar.
    guard abs(seconds) < 1e14 else { return "\(seconds)" }
    var whole = Int(seconds.rounded(.down))
    var micros = Int(((seconds - Double(whole)) * 1e6).rounded())
    if micros == 1_000_000 { (whole, micros) = (whole + 1, 0) }
    let day = whole >= 0 ? whole / 86_400 : -((86_399 - whole) / 86_400)
    let second = whole - day * 86_400
    let (year, month, dayOfMonth) = civil(day + 11_323)
    let time = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
    return "\(four(year))-\(two(month))-\(two(dayOfMonth))T\(time)\(fraction(micros))Z"
  }

  private static func fraction(_ micros: Int) -> String {
    guard micros > 0 else { return "" }
    let digits = String(micros + 1_000_000).dropFirst()
    return "." + (micros % 1000 == 0 ? digits.prefix(3) : digits)
  }

  /// Returns the Gregorian date of a day counted from 1970-01-01. Years begin in March here, so that a
  /// leap day is the last day of its year.
  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func four(_ year: Int) -> String {
    let digits = String(abs(year))
    let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    return (year < 0 ? "-" : year > 9999 ? "+" : "") + padded
  }
}
