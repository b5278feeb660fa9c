// Rules for values, which are checked in memory when an object is saved.

internal import CipherSQLite
private import Foundation

/// A rule that the values of an attribute must satisfy. nil satisfies every rule.
public struct CheckRule: Sendable {
  /// The rule in words, for error messages.
  let text: String
  /// Values at the limits of the rule, for generating test data; not all of them satisfy it.
  let samples: [SQLValue]
  /// Whether a value satisfies the rule.
  let holds: @Sendable (SQLValue) -> Bool

  /// Returns a rule for the length of a value: the characters of a string, or the bytes of data.
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

  /// Returns a rule for numbers: they must be from `range.lowerBound` to `range.upperBound`, both
  /// included.
  public static func range(_ range: ClosedRange<Double>) -> CheckRule {
    CheckRule(
      text: "must be from \(range.lowerBound) to \(range.upperBound)",
      samples: [.real(range.lowerBound.rounded(.up)), .real(range.upperBound.rounded(.down))]
    ) { value in
      // By value, as predicates compare: as a Double, 2^53 + 1 would equal 2^53.
      guard let lower = ValueArithmetic.compareNumbers(value, with: .real(range.lowerBound)),
        let upper = ValueArithmetic.compareNumbers(value, with: .real(range.upperBound))
      else { return true }
      return lower >= 0 && upper <= 0
    }
  }

  /// Returns a rule for strings: they must be one of these.
  public static func oneOf(_ values: [String]) -> CheckRule {
    CheckRule(text: "must be one of \(values.joined(separator: ", "))", samples: values.map(SQLValue.text)) {
      value in
      value.string.map { values.contains($0) } ?? true
    }
  }

  /// The rule that a string has at least one character that is not white space.
  public static let notBlank = CheckRule(text: "must not be blank", samples: ["a"]) { value in
    value.string.map { text in text.contains { !$0.isWhitespace } } ?? true
  }
}
