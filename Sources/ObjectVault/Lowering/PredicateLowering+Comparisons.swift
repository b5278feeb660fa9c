// Logic and comparisons of #Predicate.

internal import CipherSQLite
internal import Foundation

// MARK: Logic

extension PredicateExpressions.Conjunction: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    // `a && b && c` is one list, not a tree as deep as it is long.
    let (left, right) = (try lowering.condition(lhs), try lowering.condition(rhs))
    if case .and(let parts) = left { return .condition(.and(parts + [right]), isNil: nil) }
    return .condition(.and([left, right]), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
extension PredicateExpressions.Disjunction: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let (left, right) = (try lowering.condition(lhs), try lowering.condition(rhs))
    if case .or(let parts) = left { return .condition(.or(parts + [right]), isNil: nil) }
    return .condition(.or([left, right]), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
extension PredicateExpressions.Negation: LowerableExpression where Wrapped: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(.not(try lowering.condition(wrapped)), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    wrapped.note(in: &shape)
  }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(try equality(lhs, rhs, &lowering), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
extension PredicateExpressions.NotEqual: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let equal = try equality(lhs, rhs, &lowering)
    if case .comparison(let left, .equal, let right, let options) = equal {
      return .condition(.comparison(left, .notEqual, right, options), isNil: nil)
    }
    return .condition(.not(equal), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}

/// `==`. A condition from optional chaining is true, false or nil, and may be compared with a constant.
private func equality(
  _ left: some LowerableExpression, _ right: some LowerableExpression, _ lowering: inout Lowering
) throws -> PredicateNode {
  switch (try left.lower(in: &lowering), try right.lower(in: &lowering)) {
  case (.condition(let node, let isNil), .operand(.value(let value))),
    (.operand(.value(let value)), .condition(let node, let isNil)):
    return equality(node, isNil, value)
  case (.condition(let a, nil), .condition(let b, nil)):
    return .or([.and([a, b]), .and([.not(a), .not(b)])])
  case (.guarded(let a, let isNil), let other), (let other, .guarded(let a, let isNil)):
    let b = try other.operand()
    let isOtherNil = PredicateNode.comparison(b, .equal, .value(.null), [])
    return .or([.and([.not(isNil), .comparison(a, .equal, b, [])]), .and([isNil, isOtherNil])])
  case (let a, let b):
    return .comparison(try a.operand(), .equal, try b.operand(), [])
  }
}

private func equality(_ node: PredicateNode, _ isNil: PredicateNode?, _ value: PredicateValue)
  -> PredicateNode
{
  switch value.stored {
  case .null: isNil ?? .constant(false)
  case .integer(1): .and([node] + (isNil.map { [.not($0)] } ?? []))
  default: .and([.not(node)] + (isNil.map { [.not($0)] } ?? []))
  }
}

extension PredicateExpressions.ComparisonOperator {
  fileprivate var word: UInt {
    switch self {
    case .lessThan: 0
    case .lessThanOrEqual: 1
    case .greaterThan: 2
    case .greaterThanOrEqual: 3
    @unknown default: 4
    }
  }
}
extension PredicateExpressions.Comparison: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let comparison: ComparisonOperator =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: .less
      }
    let (left, right) = (try lhs.lower(in: &lowering), try rhs.lower(in: &lowering))
    // What should be nil is never less nor greater.
    switch (left, right) {
    case (.guarded(let a, let isNil), let b):
      return .condition(.and([.not(isNil), .comparison(a, comparison, try b.operand(), [])]), isNil: nil)
    case (let a, .guarded(let b, let isNil)):
      return .condition(.and([.not(isNil), .comparison(try a.operand(), comparison, b, [])]), isNil: nil)
    case (let a, let b):
      return .condition(.comparison(try a.operand(), comparison, try b.operand(), []), isNil: nil)
    }
  }
  func note(in shape: inout PredicateShape) {
    shape.note(op.word)
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
