// Checks the ids among the constants of a request: ids of another store are rejected, whatever plan is
// used.

internal import CipherSQLite

extension StoreFingerprint {
  /// Checks that no constant of the request is an id of another store.
  /// - Throws: ``StoreError/predicate(_:)`` when a constant of the request is an id of another store.
  func check(_ request: FetchParameters, on entity: EntityMapping) throws {
    guard isKnown else { return }
    for condition in request.conditions {
      // The values of a template are checked in place, without copying.
      if condition.template != nil,
        condition.values.indices.allSatisfy({ admits(condition.values[$0].store) })
      {
        continue
      }
      // A small tree with shared parts may take very long to walk, so the limits are checked first. The
      // compiler rejects a tree beyond them.
      if condition.template == nil, (try? condition.node.check()) == nil { continue }
      guard let value = condition.firstValue(where: { !admits($0.store) }),
        case .integer(let id) = value.stored
      else { continue }
      let error = PredicateError(
        "\(value.entity ?? "") \(id) is an id of another store; fetch the object in this store and compare "
          + "with it",
        entity: entity.name, place: value.place)
      throw StoreError.predicate(condition.format.map { error.located(in: $0) } ?? error)
    }
  }
}

extension FetchCondition {
  /// Returns the first constant for which `test` is true. In a template the constants of the tree are
  /// those of the first predicate of its shape, so the captured values are used instead.
  fileprivate func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    template == nil ? node.firstValue(where: test) : values.first(where: test)
  }
}

extension PredicateNode {
  /// Searches without recursion, because the tree may be as deep as memory allows.
  fileprivate func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
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
