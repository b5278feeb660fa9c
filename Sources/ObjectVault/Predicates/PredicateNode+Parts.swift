// The parts of a tree, for code that visits all of it.

extension PredicateOperand {
  /// The operands that the operand is calculated from, in order. A condition that it contains is not among
  /// them: see ``condition``.
  package var parts: [PredicateOperand] {
    switch self {
    case .value, .variable, .path, .count, .aggregate: []
    case .arithmetic(let left, _, let right), .coalesce(let left, let right): [left, right]
    case .call(_, let arguments): arguments
    case .list(_, let elements): elements
    case .conditional(_, let first, let second): [first, second]
    case .cast(let inner, _), .position(let inner, _): [inner]
    }
  }

  /// The operands of `a ?? b ?? c`, of which the first one that is not nil is the value.
  var alternatives: [PredicateOperand] {
    var found: [PredicateOperand] = []
    var waiting = [self]
    while let next = waiting.popLast() {
      if case .coalesce(let first, let second) = next {
        waiting += [second, first]
      } else {
        found.append(next)
      }
    }
    return found
  }

  /// The condition that the operand contains; nil if there is none.
  package var condition: PredicateNode? {
    switch self {
    case .aggregate(let aggregate): aggregate.condition
    case .conditional(let condition, _, _): condition
    case .value, .variable, .path, .count, .arithmetic, .call, .coalesce, .list, .cast, .position: nil
    }
  }

  /// Returns the operand with each of its parts and its condition replaced.
  func mapping(
    _ part: (PredicateOperand) throws -> PredicateOperand,
    _ condition: (PredicateNode) throws -> PredicateNode
  ) rethrows -> PredicateOperand {
    switch self {
    case .value, .variable, .path, .count: return self
    case .arithmetic(let left, let operation, let right):
      return .arithmetic(try part(left), operation, try part(right))
    case .coalesce(let first, let second): return .coalesce(try part(first), try part(second))
    case .call(let function, let arguments): return .call(function, try arguments.map(part))
    case .list(let function, let elements): return .list(function, try elements.map(part))
    case .cast(let inner, let type): return .cast(try part(inner), type)
    case .position(let inner, let ids): return .position(try part(inner), ids)
    case .conditional(let test, let first, let second):
      return .conditional(try condition(test), try part(first), try part(second))
    case .aggregate(var aggregate):
      aggregate.condition = try condition(aggregate.condition)
      return .aggregate(aggregate)
    }
  }
}

extension PredicateNode {
  /// The operands that the node itself compares.
  package var operands: [PredicateOperand] {
    switch self {
    case .constant, .and, .or, .not, .quantified: []
    case .truth(let operand): [operand]
    case .comparison(let left, _, let right, _): [left, right]
    case .between(let operand, let low, let high): [operand, low, high]
    case .isIn(let operand, let list, _): [operand] + list
    }
  }

  /// The conditions that the node combines or applies to members.
  package var conditions: [PredicateNode] {
    switch self {
    case .and(let parts), .or(let parts): parts
    case .not(let inner), .quantified(_, _, let inner): [inner]
    case .constant, .truth, .comparison, .between, .isIn: []
    }
  }

  /// Returns the condition that is the first one where a test is true, and otherwise the second.
  static func either(_ first: PredicateNode, if test: PredicateNode, else second: PredicateNode)
    -> PredicateNode
  {
    .or([.and([test, first]), .and([.not(test), second])])
  }

  /// Returns the node with each of its operands and conditions replaced.
  func mapping(
    _ operand: (PredicateOperand) throws -> PredicateOperand,
    _ condition: (PredicateNode) throws -> PredicateNode
  ) rethrows -> PredicateNode {
    switch self {
    case .constant: return self
    case .and(let parts): return .and(try parts.map(condition))
    case .or(let parts): return .or(try parts.map(condition))
    case .not(let inner): return .not(try condition(inner))
    case .truth(let one): return .truth(try operand(one))
    case .comparison(let left, let comparison, let right, let options):
      return .comparison(try operand(left), comparison, try operand(right), options)
    case .between(let one, let low, let high):
      return .between(try operand(one), try operand(low), try operand(high))
    case .isIn(let one, let list, let options):
      return .isIn(try operand(one), try list.map(operand), options)
    case .quantified(let quantifier, let path, let inner):
      return .quantified(quantifier, path, try condition(inner))
    }
  }
}

extension PredicateNode {
  /// A condition on an object as a condition on a member: each path begins one depth further in.
  var inMembers: PredicateNode {
    if case .quantified(let quantifier, let path, let inner) = self {
      return .quantified(quantifier, path.inMembers, inner.inMembers)
    }
    return mapping({ $0.inMembers }, { $0.inMembers })
  }
}

extension PredicateOperand {
  fileprivate var inMembers: PredicateOperand {
    switch self {
    case .path(let path): return .path(path.inMembers)
    case .count(let path): return .count(path.inMembers)
    case .aggregate(var aggregate):
      aggregate.path = aggregate.path.inMembers
      aggregate.condition = aggregate.condition.inMembers
      return .aggregate(aggregate)
    default: return mapping({ $0.inMembers }, { $0.inMembers })
    }
  }
}

extension PropertyPath {
  fileprivate var inMembers: PropertyPath { PropertyPath(depth: depth + 1, names, place: place) }
}
