// The operators of calculations in predicates, all that there is to say of each in one entry. The symbol of an operator
// is its name in the program that `vault_math` runs.

/// A calculation. Overflow and division by zero give nil. Integer by integer divides as integers.
public enum ArithmeticOperator: String, Sendable, Hashable, Codable, CaseIterable {
  /// The sum.
  case add = "+"
  /// The difference.
  case subtract = "-"
  /// The product.
  case multiply = "*"
  /// The quotient.
  case divide = "/"
  /// The remainder, with the sign of the dividend.
  case remainder = "%"
}

extension ArithmeticOperator {
  struct Entry: Sendable {
    /// As the format language writes it; nil for what it cannot write.
    let word: String?
    /// Whether it binds as tightly as a product.
    let isProduct: Bool
    let integers: @Sendable (Int64, Int64) -> (partialValue: Int64, overflow: Bool)
    let reals: @Sendable (Double, Double) -> Double
  }

  /// Decimals are calculated in DecimalText.
  var entry: Entry {
    switch self {
    case .add:
      Entry(word: "+", isProduct: false, integers: { $0.addingReportingOverflow($1) }, reals: { $0 + $1 })
    case .subtract:
      Entry(
        word: "-", isProduct: false, integers: { $0.subtractingReportingOverflow($1) }, reals: { $0 - $1 })
    case .multiply:
      Entry(
        word: "*", isProduct: true, integers: { $0.multipliedReportingOverflow(by: $1) }, reals: { $0 * $1 })
    case .divide:
      Entry(word: "/", isProduct: true, integers: { $0.dividedReportingOverflow(by: $1) }, reals: { $0 / $1 })
    case .remainder:
      // A per cent sign begins a placeholder.
      Entry(
        word: nil, isProduct: true, integers: { $0.remainderReportingOverflow(dividingBy: $1) },
        reals: { $0.truncatingRemainder(dividingBy: $1) })
    }
  }

  /// By the word that the format language has for it.
  init?(word: String) {
    guard let found = Self.allCases.first(where: { $0.entry.word == word }) else { return nil }
    self = found
  }
}
