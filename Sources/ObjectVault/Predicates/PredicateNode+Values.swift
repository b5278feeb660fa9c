// Copies of a condition with other constants.

extension FetchCondition {
  /// Returns the condition with each constant replaced. The tree must not be deeper than
  /// ``PredicateNode/check()`` allows.
  func replacing(_ body: (PredicateValue) -> PredicateValue) -> FetchCondition {
    var copy = self
    if template == nil { copy.node = node.replacing(body) } else { copy.values = values.map(body) }
    return copy
  }
}

extension PredicateNode {
  fileprivate func replacing(_ body: (PredicateValue) -> PredicateValue) -> PredicateNode {
    switch self {
    case .constant: self
    case .and(let parts): .and(parts.map { $0.replacing(body) })
    case .or(let parts): .or(parts.map { $0.replacing(body) })
    case .not(let inner): .not(inner.replacing(body))
    case .truth(let operand): .truth(operand.replacing(body))
    case .comparison(let left, let comparison, let right, let options):
      .comparison(left.replacing(body), comparison, right.replacing(body), options)
    case .between(let operand, let low, let high):
      .between(operand.replacing(body), low.replacing(body), high.replacing(body))
    case .isIn(let operand, let list, let options):
      .isIn(operand.replacing(body), list.map { $0.replacing(body) }, options)
    case .quantified(let quantifier, let path, let inner):
      .quantified(quantifier, path, inner.replacing(body))
    }
  }
}

extension PredicateOperand {
  fileprivate func replacing(_ body: (PredicateValue) -> PredicateValue) -> PredicateOperand {
    switch self {
    case .value(let value): .value(body(value))
    case .variable, .path, .count: self
    case .arithmetic(let left, let operation, let right):
      .arithmetic(left.replacing(body), operation, right.replacing(body))
    case .call(let function, let arguments): .call(function, arguments.map { $0.replacing(body) })
    case .coalesce(let first, let second): .coalesce(first.replacing(body), second.replacing(body))
    }
  }
}
