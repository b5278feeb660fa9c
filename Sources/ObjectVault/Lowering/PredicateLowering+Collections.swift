// Calculations, strings, lists, ranges and members in a #Predicate.

internal import CipherSQLite
internal import Foundation

// MARK: Calculations

extension PredicateExpressions.ArithmeticOperator {
  fileprivate var word: UInt {
    switch self {
    case .add: 0
    case .subtract: 1
    case .multiply: 2
    @unknown default: 3
    }
  }
}
extension PredicateExpressions.Arithmetic: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let operation: ArithmeticOperator =
      switch op {
      case .add: .add
      case .subtract: .subtract
      case .multiply: .multiply
      @unknown default: .add
      }
    return .operand(.arithmetic(try lowering.operand(lhs), operation, try lowering.operand(rhs)))
  }
  func note(in shape: inout PredicateShape) {
    shape.note(op.word)
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
extension PredicateExpressions.FloatDivision: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .operand(.arithmetic(try lowering.operand(lhs), .divide, try lowering.operand(rhs)))
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
extension PredicateExpressions.IntDivision: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .operand(.arithmetic(try lowering.operand(lhs), .divide, try lowering.operand(rhs)))
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
extension PredicateExpressions.IntRemainder: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .operand(.arithmetic(try lowering.operand(lhs), .remainder, try lowering.operand(rhs)))
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
extension PredicateExpressions.UnaryMinus: LowerableExpression where Wrapped: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let zero = PredicateValue(type: .int, stored: .integer(0))
    return .operand(.arithmetic(.value(zero), .subtract, try lowering.operand(wrapped)))
  }
  func note(in shape: inout PredicateShape) {
    wrapped.note(in: &shape)
  }
}

// MARK: Strings, lists, ranges, members

extension PredicateExpressions.CollectionContainsCollection: LowerableExpression
where Base: LowerableExpression, Other: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(
      .comparison(try lowering.operand(base), .contains, try lowering.operand(other), []), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    base.note(in: &shape)
    other.note(in: &shape)
  }
}
extension PredicateExpressions.SequenceStartsWith: LowerableExpression
where Base: LowerableExpression, Prefix: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(
      .comparison(try lowering.operand(base), .beginsWith, try lowering.operand(prefix), []), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    base.note(in: &shape)
    prefix.note(in: &shape)
  }
}
extension PredicateExpressions.SequenceContains: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    switch try sequence.lower(in: &lowering) {
    case .list(let values):
      return .condition(.isIn(try lowering.operand(element), values.map { .value($0) }, []), isNil: nil)
    case .range(let low, let high, let isClosed):
      return .condition(try within(element, low, high, isClosed, &lowering), isNil: nil)
    case .path(let path):
      // The members of a to-many, by their ids.
      let member = PropertyPath(depth: lowering.depth + 1, [])
      let element = try lowering.operand(element)
      return .condition(.quantified(.any, path, .comparison(.path(member), .equal, element, [])), isNil: nil)
    case .operand, .guarded, .condition:
      throw Lowering.unsupported("contains on something that is no list")
    }
  }
  func note(in shape: inout PredicateShape) {
    sequence.note(in: &shape)
    element.note(in: &shape)
  }
}
extension PredicateExpressions.SequenceContainsWhere: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(try overMembers(.any, sequence, variable.key, test, &lowering), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    sequence.note(in: &shape)
    shape.note(variable.key)
    test.note(in: &shape)
  }
}
extension PredicateExpressions.SequenceAllSatisfy: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(try overMembers(.all, sequence, variable.key, test, &lowering), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    sequence.note(in: &shape)
    shape.note(variable.key)
    test.note(in: &shape)
  }
}

private func overMembers(
  _ quantifier: Quantifier, _ sequence: some LowerableExpression, _ key: PredicateExpressions.VariableID,
  _ test: some LowerableExpression,
  _ lowering: inout Lowering
) throws -> PredicateNode {
  guard case .path(let path) = try sequence.lower(in: &lowering) else {
    throw Lowering.unsupported("contains(where:) and allSatisfy are for to-many relationships")
  }
  lowering.depth += 1
  defer { lowering.depth -= 1 }
  lowering.variables[key] = .path(PropertyPath(depth: lowering.depth, []))
  return .quantified(quantifier, path, try lowering.condition(test))
}

extension PredicateExpressions.Range: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .range(try lowering.operand(lower), try lowering.operand(upper), isClosed: false)
  }
  func note(in shape: inout PredicateShape) {
    lower.note(in: &shape)
    upper.note(in: &shape)
  }
}
extension PredicateExpressions.ClosedRange: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .range(try lowering.operand(lower), try lowering.operand(upper), isClosed: true)
  }
  func note(in shape: inout PredicateShape) {
    lower.note(in: &shape)
    upper.note(in: &shape)
  }
}
extension PredicateExpressions.RangeExpressionContains: LowerableExpression
where RangeExpression: LowerableExpression, Element: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    guard case .range(let low, let high, let isClosed) = try range.lower(in: &lowering) else {
      throw Lowering.unsupported("a range without two bounds")
    }
    return .condition(try within(element, low, high, isClosed, &lowering), isNil: nil)
  }
  func note(in shape: inout PredicateShape) {
    range.note(in: &shape)
    element.note(in: &shape)
  }
}

private func within(
  _ element: some LowerableExpression, _ low: PredicateOperand, _ high: PredicateOperand, _ isClosed: Bool,
  _ lowering: inout Lowering
) throws -> PredicateNode {
  let element = try lowering.operand(element)
  if isClosed { return .between(element, low, high) }
  return .and([.comparison(element, .greaterOrEqual, low, []), .comparison(element, .less, high, [])])
}
