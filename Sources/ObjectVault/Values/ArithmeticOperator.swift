// The operators of calculations in predicates, with everything about each operator in one entry. The raw
// value of an operator is also its symbol in the programs that `vault_math` runs.

/// An operator of a calculation.
///
/// Overflow and division by zero give nil; dividing two integers gives an integer.
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
  /// The facts about one operator.
  struct Entry: Sendable {
    /// The operator in the format language.
    let word: String
    /// The operator as a function in the format language, in lower case.
    let selector: String
    /// Whether it has the precedence of multiplication.
    let isProduct: Bool
    let integers: @Sendable (Int64, Int64) -> (partialValue: Int64, overflow: Bool)
    let reals: @Sendable (Double, Double) -> Double
  }

  /// The facts about the operator. For decimals, `DecimalText` calculates instead of the closures.
  var entry: Entry {
    switch self {
    case .add:
      Entry(
        word: "+", selector: "add:to:", isProduct: false, integers: { $0.addingReportingOverflow($1) },
        reals: { $0 + $1 })
    case .subtract:
      Entry(
        word: "-", selector: "from:subtract:", isProduct: false,
        integers: { $0.subtractingReportingOverflow($1) }, reals: { $0 - $1 })
    case .multiply:
      Entry(
        word: "*", selector: "multiply:by:", isProduct: true,
        integers: { $0.multipliedReportingOverflow(by: $1) }, reals: { $0 * $1 })
    case .divide:
      Entry(
        word: "/", selector: "divide:by:", isProduct: true, integers: { $0.dividedReportingOverflow(by: $1) },
        reals: { $0 / $1 })
    case .remainder:
      // A single per cent sign begins a placeholder.
      Entry(
        word: "%%", selector: "modulus:by:", isProduct: true,
        integers: { $0.remainderReportingOverflow(dividingBy: $1) },
        reals: { $0.truncatingRemainder(dividingBy: $1) })
    }
  }

  /// Creates the operator that the format language writes as `word`; nil for any other word.
  init?(word: String) {
    guard let found = Self.allCases.first(where: { $0.entry.word == word }) else { return nil }
    self = found
  }

  /// Creates the operator that the format language writes as a function, such as `add:to:`, in upper or
  /// lower case; nil for any other name.
  init?(selector: String) {
    let name = selector.lowercased()
    guard let found = Self.allCases.first(where: { $0.entry.selector == name }) else { return nil }
    self = found
  }
}
