// Ids among the constants of a request: those of another store are refused, whatever plan serves the request.

internal import CipherSQLite

extension StoreMark {
  /// - Throws: ``StoreError/predicate(_:)`` when a constant of the request is an id of another store.
  func check(_ request: FetchParameters, on entity: EntityMapping) throws {
    guard isKnown else { return }
    for condition in request.conditions {
      // Of the values of a template none is copied to be asked.
      if condition.template != nil,
        condition.values.indices.allSatisfy({ admits(condition.values[$0].store) })
      {
        continue
      }
      // A small tree whose parts stand in it many times is as large as a walk through it is long. What is too large, the
      // compiler refuses.
      if condition.template == nil, (try? condition.node.check()) == nil { continue }
      guard let value = condition.firstValue(where: { !admits($0.store) }),
        case .integer(let id) = value.stored
      else { continue }
      let error = PredicateError(
        "\(value.entity ?? "") \(id) is an id of another store; fetch the object in this one and compare with that",
        entity: entity.name, place: value.place)
      throw StoreError.predicate(condition.format.map { error.located(in: $0) } ?? error)
    }
  }
}

extension FetchCondition {
  /// The first constant for which `test` holds. Those of a template are of the first predicate of its shape.
  fileprivate func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    template == nil ? node.firstValue(where: test) : values.first(where: test)
  }
}

extension PredicateNode {
  /// Without recursion: the tree may be as deep as memory allows.
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
