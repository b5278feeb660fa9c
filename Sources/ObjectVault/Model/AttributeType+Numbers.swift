// What calculations and functions give: the same for SQL and for evaluation in memory.

extension AttributeType {
  /// The type of what a function gives.
  init?(_ kind: PredicateFunction.Kind?) {
    switch kind {
    case .text: self = .string
    case .integer: self = .int
    case .number: self = .double
    case nil: return nil
    }
  }

  /// What a calculation on numbers of two types gives; nil stands for nil.
  static func common(_ a: AttributeType?, _ b: AttributeType?) -> AttributeType? {
    guard let a, let b else { return a ?? b }
    if a.numberKind == .decimal || b.numberKind == .decimal { return .decimal }
    return a.isInteger && b.isInteger ? .int : .double
  }
}
