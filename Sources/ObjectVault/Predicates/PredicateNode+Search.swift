// Looks for constants and names in a tree.

internal import CipherSQLite

extension PredicateNode {
  /// Returns the first constant for which `test` is true.
  ///
  /// Searches without recursion, because the tree may be as deep as memory allows.
  func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    var nodes = [self]
    while let node = nodes.popLast() {
      nodes += node.conditions
      if case .isIn(let operand, let list, _) = node {
        // Most elements of a long list are constants, which are tested without a copy of the list.
        if let found = operand.firstValue(where: test, conditions: &nodes) { return found }
        for element in list {
          if let found = element.firstValue(where: test, conditions: &nodes) { return found }
        }
        continue
      }
      for operand in node.operands {
        if let found = operand.firstValue(where: test, conditions: &nodes) { return found }
      }
    }
    return nil
  }
}

extension PredicateNode {
  /// The names of the fetched object's properties at which paths begin.
  var namesOfOwnProperties: Set<String> {
    var names: Set<String> = []
    var nodes = [self]
    while let node = nodes.popLast() {
      nodes += node.conditions
      var operands = node.operands
      while let operand = operands.popLast() {
        var first = operand.names?.first
        if case .count(let path) = operand, path.depth == 0 { first = path.names.first }
        if let name = first {
          if case .element(let array, _) = PathStep(name) { names.insert(array) } else { names.insert(name) }
        }
        operands += operand.parts
        if let condition = operand.condition { nodes.append(condition) }
      }
    }
    return names
  }
}

extension PredicateOperand {
  /// Returns the first constant for which `test` is true, and adds the conditions that the operand contains
  /// to `conditions`.
  fileprivate func firstValue(
    where test: (PredicateValue) -> Bool, conditions: inout [PredicateNode]
  ) -> PredicateValue? {
    if case .value(let value) = self { return test(value) ? value : nil }
    var operands = [self]
    while let operand = operands.popLast() {
      if case .value(let value) = operand, test(value) { return value }
      operands += operand.parts.reversed()
      if let condition = operand.condition { conditions.append(condition) }
    }
    return nil
  }
}
