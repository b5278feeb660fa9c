// The operators of calculations in predicates.

/// A calculation. Overflow and division by zero give nil. Integer by integer divides as integers.
public enum ArithmeticOperator: String, Sendable, Hashable, Codable {
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
