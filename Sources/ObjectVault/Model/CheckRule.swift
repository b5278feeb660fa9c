// Rules for values, checked in memory when an object is saved.

internal import CipherSQLite
private import Foundation

/// A rule that an attribute's value keeps. nil keeps every rule.
public struct CheckRule: Sendable {
  let text: String
  /// Values that the rule is about; not all of them keep it.
  let samples: [SQLValue]
  let holds: @Sendable (SQLValue) -> Bool

  /// A string of so many characters, or data of so many bytes.
  public static func length(_ range: ClosedRange<Int>) -> CheckRule {
    let lengths = [range.lowerBound, range.upperBound].filter { $0 <= 10_000 }
    let samples = lengths.flatMap { length in
      [SQLValue.text(String(repeating: "a", count: length)), .blob(Data(repeating: 1, count: length))]
    }
    return CheckRule(
      text: "must have a length of \(range.lowerBound) to \(range.upperBound)", samples: samples
    ) { value in
      switch value {
      case .text(let text): range.contains(text.count)
      case .blob(let data): range.contains(data.count)
      default: true
      }
    }
  }

  /// A number from `range.lowerBound` to `range.upperBound`, both included.
  public static func range(_ range: ClosedRange<Double>) -> CheckRule {
    CheckRule(
      text: "must be from \(range.lowerBound) to \(range.upperBound)",
      samples: [.real(range.lowerBound.rounded(.up)), .real(range.upperBound.rounded(.down))]
    ) { value in
      // By value, as predicates compare: a Double would take 2^53 + 1 for 2^53.
      guard let lower = ValueArithmetic.compareNumbers(value, .real(range.lowerBound)),
        let upper = ValueArithmetic.compareNumbers(value, .real(range.upperBound))
      else { return true }
      return lower >= 0 && upper <= 0
    }
  }

  /// One of these strings.
  public static func oneOf(_ values: [String]) -> CheckRule {
    CheckRule(text: "must be one of \(values.joined(separator: ", "))", samples: values.map(SQLValue.text)) {
      value in
      value.string.map { values.contains($0) } ?? true
    }
  }

  /// A string with at least one character that is no white space.
  public static let notBlank = CheckRule(text: "must not be blank", samples: ["a"]) { value in
    value.string.map { text in text.contains { !$0.isWhitespace } } ?? true
  }
}
