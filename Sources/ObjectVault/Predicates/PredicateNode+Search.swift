// Looks for a constant in a tree.

internal import CipherSQLite

extension PredicateNode {
  /// Returns the first constant for which `test` is true.
  ///
  /// Searches without recursion, because the tree may be as deep as memory allows.
  func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    var nodes = [self]
    while let node = nodes.popLast() {
      let operands: [PredicateOperand]
      switch node {
      case .constant: continue
      case .and(let parts), .or(let parts):
        nodes += parts
        continue
      case .not(let inner), .quantified(_, _, let inner):
        nodes.append(inner)
        continue
      case .truth(let operand): operands = [operand]
      case .comparison(let left, _, let right, _): operands = [left, right]
      case .between(let operand, let low, let high): operands = [operand, low, high]
      case .isIn(let operand, let list, _):
        if let found = operand.firstValue(where: test) { return found }
        operands = list
      }
      for operand in operands { if let found = operand.firstValue(where: test) { return found } }
    }
    return nil
  }
}

extension PredicateOperand {
  fileprivate func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    if case .value(let value) = self { return test(value) ? value : nil }
    var operands = [self]
    while let operand = operands.popLast() {
      switch operand {
      case .value(let value): if test(value) { return value }
      case .variable, .path, .count: break
      case .arithmetic(let left, _, let right), .coalesce(let left, let right): operands += [right, left]
      case .call(_, let arguments): operands += arguments.reversed()
      }
    }
    return nil
  }
}
