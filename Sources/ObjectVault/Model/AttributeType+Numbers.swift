// The types of the results of calculations and functions, for SQL and for evaluation in memory.

extension AttributeType {
  /// Creates the result type of a function; nil when the function has the type of its operand.
  init?(_ kind: PredicateFunction.Kind?) {
    switch kind {
    case .text: self = .string
    case .integer: self = .int
    case .number: self = .double
    case nil: return nil
    }
  }

  /// Returns the type of a calculation with numbers of two types. A type is nil for the operand nil; the
  /// result then has the type of the other operand.
  static func common(_ a: AttributeType?, and b: AttributeType?) -> AttributeType? {
    guard let a, let b else { return a ?? b }
    if a.numberKind == .decimal || b.numberKind == .decimal { return .decimal }
    return a.isInteger && b.isInteger ? .int : .double
  }
}
