// Optionals of a #Predicate: chaining, unwrapping and `??`.

internal import CipherSQLite

extension PredicateReader {
  mutating func flatMap(_ variable: Int) throws -> Lowered {
    var base = try next()
    var outer: PredicateNode?
    if case .guarded(let operand, let isNil) = base { (base, outer) = (.operand(operand), isNil) }
    variables[variable] = base
    let result = try next()
    let wrapped = try base.operand()
    var isNil = PredicateNode.comparison(wrapped, .equal, .value(.null), [])
    if let outer { isNil = .or([outer, isNil]) }
    switch result {
    case .condition(let node, let inner):
      return .condition(node, isNil: inner.map { .or([isNil, $0]) } ?? isNil)
    case .guarded(let operand, let inner): return .guarded(operand, isNil: .or([isNil, inner]))
    case .operand(let operand) where outer != nil || !self.isNil(operand, with: wrapped):
      return .guarded(operand, isNil: isNil)
    case .operand, .path, .part, .list, .range, .filtered: return result
    }
  }

  /// Returns whether an operand is always nil when `base` is nil.
  private func isNil(_ operand: PredicateOperand, with base: PredicateOperand) -> Bool {
    if operand == base { return true }
    switch operand {
    case .path(let path), .count(let path):
      guard case .path(let start) = base, path.depth == start.depth else { return false }
      return path.names.starts(with: start.names.withoutType)
    case .arithmetic(let left, _, let right): return isNil(left, with: base) || isNil(right, with: base)
    case .call(_, let arguments): return arguments.contains { isNil($0, with: base) }
    case .coalesce(let left, let right): return isNil(left, with: base) && isNil(right, with: base)
    case .value, .variable: return constant(operand)?.stored.isNull == true
    case .aggregate(let members): return isNil(.path(members.path), with: base)
    case .conditional(_, let left, let right): return isNil(left, with: base) && isNil(right, with: base)
    case .cast(let inner, _), .position(let inner, _): return isNil(inner, with: base)
    case .list: return false
    }
  }

  mutating func coalesce() throws -> Lowered {
    let (first, second) = (try next(), try next())
    if case .condition(let node, let isNil) = first {
      guard case .operand(let operand) = second, let value = constant(operand) else {
        throw Self.unsupported("after a condition, ?? must be followed by true or false")
      }
      guard let isNil else { return first }
      let isTrue = value.stored == .integer(1)
      return .condition(isTrue ? .or([node, isNil]) : .and([node, .not(isNil)]), isNil: nil)
    }
    return .operand(.coalesce(try first.operand(), try second.operand()))
  }
}
