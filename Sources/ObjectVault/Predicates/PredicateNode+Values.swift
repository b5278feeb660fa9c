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
    mapping({ $0.replacing(body) }, { $0.replacing(body) })
  }
}

extension PredicateOperand {
  fileprivate func replacing(_ body: (PredicateValue) -> PredicateValue) -> PredicateOperand {
    if case .value(let value) = self { return .value(body(value)) }
    return mapping({ $0.replacing(body) }, { $0.replacing(body) })
  }
}
