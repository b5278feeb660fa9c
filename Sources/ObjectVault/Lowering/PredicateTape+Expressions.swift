// The words that each expression of a #Predicate writes, and its fields in memory. An expression that is
// not listed here causes an error that names it. Captured values are in PredicateTape+Values.

internal import Foundation

// MARK: Logic

extension PredicateExpressions.Conjunction: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.conjunction, lhs, and: rhs) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.Disjunction: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.disjunction, lhs, and: rhs) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.Negation: TapedExpression where Wrapped: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.negation, wrapped) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.wrapped, at: offset)
  }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.equal, lhs, and: rhs) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.NotEqual: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.notEqual, lhs, and: rhs) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.Comparison: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    switch op {
    case .lessThan: try tape.write(.less, lhs, and: rhs)
    case .lessThanOrEqual: try tape.write(.lessOrEqual, lhs, and: rhs)
    case .greaterThan: try tape.write(.greater, lhs, and: rhs)
    case .greaterThanOrEqual: try tape.write(.greaterOrEqual, lhs, and: rhs)
    @unknown default: throw PredicateReader.unsupported("the comparison \(op) has no counterpart in SQL")
    }
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addOperator(\Self.op, at: offset)
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}

// MARK: Calculations

extension PredicateExpressions.Arithmetic: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    switch op {
    case .add: try tape.write(.add, lhs, and: rhs)
    case .subtract: try tape.write(.subtract, lhs, and: rhs)
    case .multiply: try tape.write(.multiply, lhs, and: rhs)
    @unknown default: throw PredicateReader.unsupported("the calculation \(op) has no counterpart in SQL")
    }
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addOperator(\Self.op, at: offset)
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.FloatDivision: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.divide, lhs, and: rhs) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.IntDivision: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.divide, lhs, and: rhs) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.IntRemainder: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.remainder, lhs, and: rhs) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.UnaryMinus: TapedExpression where Wrapped: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.unaryMinus, wrapped) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.wrapped, at: offset)
  }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.optionalFlatMap, over: variable.key, wrapped, and: transform)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addVariable(\Self.variable.key, at: offset)
    layout.addFields(\Self.wrapped, \Self.transform, at: offset)
  }
}
extension PredicateExpressions.ForcedUnwrap: TapedExpression where Inner: TapedExpression {
  // An unwrapping writes no word: it changes no result, and the first word of a tape, which is the type
  // of the whole expression, already includes the unwrapping.
  func write(on tape: inout PredicateTape) throws { try inner.write(on: &tape) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.inner, at: offset)
  }
}
extension PredicateExpressions.NilCoalesce: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.nilCoalesce, lhs, and: rhs) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lhs, \Self.rhs, at: offset)
  }
}
extension PredicateExpressions.NilLiteral: TapedExpression {
  func write(on tape: inout PredicateTape) throws { tape.write(.nilLiteral) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {}
}

// MARK: Strings, lists, ranges, members

extension PredicateExpressions.CollectionContainsCollection: TapedExpression
where Base: TapedExpression, Other: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.collectionContainsCollection, base, and: other)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.base, \Self.other, at: offset)
  }
}
extension PredicateExpressions.StringContainsRegex: TapedExpression
where Subject: TapedExpression, Regex: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.stringContainsRegex, subject, and: regex)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.subject, \Self.regex, at: offset)
  }
}
extension PredicateExpressions.SequenceStartsWith: TapedExpression
where Base: TapedExpression, Prefix: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.sequenceStartsWith, base, and: prefix) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.base, \Self.prefix, at: offset)
  }
}
extension PredicateExpressions.SequenceContains: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.sequenceContains, sequence, and: element)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.sequence, \Self.element, at: offset)
  }
}
extension PredicateExpressions.SequenceContainsWhere: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.sequenceContainsWhere, over: variable.key, sequence, and: test)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addVariable(\Self.variable.key, at: offset)
    layout.addFields(\Self.sequence, \Self.test, at: offset)
  }
}
extension PredicateExpressions.SequenceAllSatisfy: TapedExpression
where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.sequenceAllSatisfy, over: variable.key, sequence, and: test)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addVariable(\Self.variable.key, at: offset)
    layout.addFields(\Self.sequence, \Self.test, at: offset)
  }
}
extension PredicateExpressions.Range: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.range, lower, and: upper) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lower, \Self.upper, at: offset)
  }
}
extension PredicateExpressions.ClosedRange: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.closedRange, lower, and: upper) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.lower, \Self.upper, at: offset)
  }
}
extension PredicateExpressions.RangeExpressionContains: TapedExpression
where RangeExpression: TapedExpression, Element: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.rangeExpressionContains, range, and: element)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.range, \Self.element, at: offset)
  }
}

extension PredicateExpressions.Filter: TapedExpression where LHS: TapedExpression, RHS: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.filter, over: variable.key, sequence, and: filter)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addVariable(\Self.variable.key, at: offset)
    layout.addFields(\Self.sequence, \Self.filter, at: offset)
  }
}
extension PredicateExpressions.CollectionIndexSubscript: TapedExpression
where Wrapped: TapedExpression, Index: TapedExpression {
  // The index is part of the shape, because it is part of a path. So a form cannot recognize it.
  func write(on tape: inout PredicateTape) throws {
    guard let value = index as? PredicateExpressions.Value<Int>, let number = UInt32(exactly: value.value)
    else {
      throw PredicateReader.unsupported("an index of a list must be a constant that is not negative")
    }
    tape.write(
      index: UInt(number),
      JSONElement(collection: Wrapped.Output.self, type: Wrapped.Output.Element.self) {
        ($0 as? Wrapped.Output)?.first.map { ("[0]", $0) }
      })
    try wrapped.write(on: &tape)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) { layout.giveUp() }
}
extension PredicateExpressions.DictionaryKeySubscript: TapedExpression
where Wrapped: TapedExpression, Key: TapedExpression {
  // As the index of a list, the key is a part of a path.
  func write(on tape: inout PredicateTape) throws {
    guard let key = key as? PredicateExpressions.Value<String>, !key.value.isEmpty else {
      throw PredicateReader.unsupported("a key of a dictionary must be a constant string that is not empty")
    }
    tape.write(
      keyed: JSONElement(collection: Wrapped.Output.self, type: Value.self, key: key.value) {
        ($0 as? [String: Value])?.min { $0.key < $1.key }.map { (JSONPath.name(ofKey: $0.key), $0.value) }
      })
    try wrapped.write(on: &tape)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) { layout.giveUp() }
}
extension PredicateExpressions.SequenceMinimum: TapedExpression where Elements: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.minimum, elements) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.elements, at: offset)
  }
}
extension PredicateExpressions.SequenceMaximum: TapedExpression where Elements: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.maximum, elements) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.elements, at: offset)
  }
}

// MARK: Choices and casts

extension PredicateExpressions.Conditional: TapedExpression
where Test: TapedExpression, If: TapedExpression, Else: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.conditional, test)
    try trueBranch.write(on: &tape)
    try falseBranch.write(on: &tape)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.test, at: offset)
    layout.addFields(\Self.trueBranch, \Self.falseBranch, at: offset)
  }
}
extension PredicateExpressions.TypeCheck: TapedExpression where Input: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    try tape.write(.typeCheck, to: Desired.self, of: input)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.input, at: offset)
  }
}
extension PredicateExpressions.ConditionalCast: TapedExpression where Input: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.cast, to: Desired.self, of: input) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.input, at: offset)
  }
}
extension PredicateExpressions.ForceCast: TapedExpression where Input: TapedExpression {
  func write(on tape: inout PredicateTape) throws { try tape.write(.cast, to: Desired.self, of: input) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addFields(\Self.input, at: offset)
  }
}

// MARK: Variables and properties

extension PredicateExpressions.Variable: TapedExpression {
  func write(on tape: inout PredicateTape) throws { tape.write(.variable, key) }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addVariable(\Self.key, at: offset)
  }
}
extension PredicateExpressions.KeyPath: TapedExpression where Root: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    tape.write(keyPath)
    try root.write(on: &tape)
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addKeyPath(\Self.keyPath, at: offset)
    layout.addFields(\Self.root, at: offset)
  }
}

extension PredicateTape {
  /// Writes an expression that introduces a variable for its second part.
  fileprivate mutating func write(
    _ kind: Kind, over variable: PredicateExpressions.VariableID, _ first: some TapedExpression,
    and second: some TapedExpression
  ) throws {
    write(kind, variable)
    try first.write(on: &self)
    try second.write(on: &self)
  }

  /// Writes a cast of a part to a class.
  fileprivate mutating func write(
    _ kind: Kind, to type: (some Any).Type, of part: some TapedExpression
  ) throws {
    guard type is ManagedObject.Type else {
      throw PredicateReader.unsupported(
        "a cast to \(type) has no counterpart in SQL; objects can be cast to the classes of child entities")
    }
    write(kind, entity: "\(type)")
    try part.write(on: &self)
  }

  fileprivate mutating func write(_ kind: Kind, _ part: some TapedExpression) throws {
    write(kind)
    try part.write(on: &self)
  }

  fileprivate mutating func write(
    _ kind: Kind, _ first: some TapedExpression, and second: some TapedExpression
  ) throws {
    write(kind)
    try first.write(on: &self)
    try second.write(on: &self)
  }
}
