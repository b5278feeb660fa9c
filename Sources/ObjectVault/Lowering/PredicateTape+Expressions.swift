// What each expression of a #Predicate writes. What is in no line here is an error that names it. Captured values are
// in PredicateTape+Values.

internal import Foundation

// MARK: Logic

extension PredicateExpressions.Conjunction: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.conjunction, lhs, rhs) }
}
extension PredicateExpressions.Disjunction: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.disjunction, lhs, rhs) }
}
extension PredicateExpressions.Negation: TapedExpression where Wrapped: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.negation, wrapped) }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.equal, lhs, rhs) }
}
extension PredicateExpressions.NotEqual: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.notEqual, lhs, rhs) }
}
extension PredicateExpressions.Comparison: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    switch op {
    case .lessThan: try tape.write(.less, lhs, rhs)
    case .lessThanOrEqual: try tape.write(.lessOrEqual, lhs, rhs)
    case .greaterThan: try tape.write(.greater, lhs, rhs)
    case .greaterThanOrEqual: try tape.write(.greaterOrEqual, lhs, rhs)
    @unknown default: throw PredicateReader.unsupported("the comparison \(op) has no counterpart in SQL")
    }
  }
}

// MARK: Calculations

extension PredicateExpressions.Arithmetic: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    switch op {
    case .add: try tape.write(.add, lhs, rhs)
    case .subtract: try tape.write(.subtract, lhs, rhs)
    case .multiply: try tape.write(.multiply, lhs, rhs)
    @unknown default: throw PredicateReader.unsupported("the calculation \(op) has no counterpart in SQL")
    }
  }
}
extension PredicateExpressions.FloatDivision: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.divide, lhs, rhs) }
}
extension PredicateExpressions.IntDivision: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.divide, lhs, rhs) }
}
extension PredicateExpressions.IntRemainder: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.remainder, lhs, rhs) }
}
extension PredicateExpressions.UnaryMinus: TapedExpression where Wrapped: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.unaryMinus, wrapped) }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.optionalFlatMap, variable.key, wrapped, transform)
  }
}
extension PredicateExpressions.ForcedUnwrap: TapedExpression where Inner: TapedExpression {
  // The type of the whole says that it is here; it changes nothing.
  func write(on tape: inout PredicateTape) throws { try inner.write(on: &tape) }
}
extension PredicateExpressions.NilCoalesce: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.nilCoalesce, lhs, rhs) }
}
extension PredicateExpressions.NilLiteral: TapedExpression {
  func write(on tape: inout PredicateTape) throws { tape.write(.nilLiteral) }
}

// MARK: Strings, lists, ranges, members

extension PredicateExpressions.CollectionContainsCollection: TapedExpression
where Base: TapedExpression, Other: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.collectionContainsCollection, base, other)
  }
}
extension PredicateExpressions.SequenceStartsWith: TapedExpression
where Base: TapedExpression, Prefix: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.sequenceStartsWith, base, prefix) }
}
extension PredicateExpressions.SequenceContains: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.sequenceContains, sequence, element) }
}
extension PredicateExpressions.SequenceContainsWhere: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.sequenceContainsWhere, variable.key, sequence, test)
  }
}
extension PredicateExpressions.SequenceAllSatisfy: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.sequenceAllSatisfy, variable.key, sequence, test)
  }
}
extension PredicateExpressions.Range: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.range, lower, upper) }
}
extension PredicateExpressions.ClosedRange: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.closedRange, lower, upper) }
}
extension PredicateExpressions.RangeExpressionContains: TapedExpression
where RangeExpression: TapedExpression, Element: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.rangeExpressionContains, range, element) }
}

// MARK: Variables and properties

extension PredicateExpressions.Variable: TapedExpression {
  func write(on tape: inout PredicateTape) throws { tape.write(.variable, key) }
}
extension PredicateExpressions.KeyPath: TapedExpression where Root: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    tape.write(keyPath)
    try root.write(on: &tape)
  }
}

extension PredicateTape {
  /// An expression that makes a variable for its second part.
  fileprivate mutating func write(
    _ kind: Kind, _ variable: PredicateExpressions.VariableID, _ first: some TapedExpression,
    _ second: some TapedExpression
  ) throws {
    write(kind, variable)
    try first.write(on: &self)
    try second.write(on: &self)
  }

  fileprivate mutating func write(_ kind: Kind, _ part: some TapedExpression) throws {
    write(kind)
    try part.write(on: &self)
  }

  fileprivate mutating func write(
    _ kind: Kind, _ first: some TapedExpression, _ second: some TapedExpression
  ) throws {
    write(kind)
    try first.write(on: &self)
    try second.write(on: &self)
  }
}
