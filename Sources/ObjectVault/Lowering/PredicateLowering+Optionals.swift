// Optionals of #Predicate: chaining, unwrapping, and values for nil.

internal import CipherSQLite
internal import Foundation

extension PredicateOperand {
  /// Whether it has no value where `base` has none.
  fileprivate func isNil(with base: PredicateOperand) -> Bool {
    if self == base { return true }
    switch self {
    case .path(let path), .count(let path):
      guard case .path(let start) = base, path.depth == start.depth else { return false }
      return path.names.starts(with: start.names)
    case .arithmetic(let left, _, let right): return left.isNil(with: base) || right.isNil(with: base)
    case .coalesce(let left, let right): return left.isNil(with: base) && right.isNil(with: base)
    case .value(let value): return value.stored.isNull
    }
  }
}

extension PredicateExpressions.OptionalFlatMap: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    var base = try wrapped.lower(in: &lowering)
    var outer: PredicateNode?
    if case .guarded(let operand, let isNil) = base { (base, outer) = (.operand(operand), isNil) }
    lowering.variables[variable.key] = base
    let result = try transform.lower(in: &lowering)
    let wrapped = try base.operand()
    var isNil = PredicateNode.comparison(wrapped, .equal, .value(.null), [])
    if let outer { isNil = .or([outer, isNil]) }
    switch result {
    case .condition(let node, let inner):
      return .condition(node, isNil: inner.map { .or([isNil, $0]) } ?? isNil)
    case .guarded(let operand, let inner): return .guarded(operand, isNil: .or([isNil, inner]))
    case .operand(let operand) where outer != nil || !operand.isNil(with: wrapped):
      return .guarded(operand, isNil: isNil)
    default: return result
    }
  }
  func note(in shape: inout PredicateShape) {
    wrapped.note(in: &shape)
    shape.note(variable.key)
    transform.note(in: &shape)
  }
}
extension PredicateExpressions.ForcedUnwrap: LowerableExpression where Inner: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered { try inner.lower(in: &lowering) }
  func note(in shape: inout PredicateShape) {
    inner.note(in: &shape)
  }
}
extension PredicateExpressions.NilCoalesce: LowerableExpression
where LHS: LowerableExpression, RHS: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let (first, second) = (try lhs.lower(in: &lowering), try rhs.lower(in: &lowering))
    if case .condition(let node, let isNil) = first {
      guard case .operand(.value(let value)) = second else {
        throw Lowering.unsupported("?? after a condition takes true or false")
      }
      let isTrue = value.stored == .integer(1)
      guard let isNil else { return first }
      let combined: PredicateNode = isTrue ? .or([node, isNil]) : .and([node, .not(isNil)])
      return .condition(combined, isNil: nil)
    }
    return .operand(.coalesce(try first.operand(), try second.operand()))
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
