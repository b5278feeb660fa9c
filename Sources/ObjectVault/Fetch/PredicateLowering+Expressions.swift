// One extension for each expression type of #Predicate that has a meaning in SQL.

internal import CipherSQLite
internal import Foundation

extension PredicateExpressions.Variable: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    guard let bound = lowering.variables[key] else { throw Lowering.unsupported("a variable has no binding") }
    return bound
  }
}

extension PredicateExpressions.Value: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered { try lowered(value) }
}

extension PredicateExpressions.NilLiteral: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered { .operand(.value(.null)) }
}

/// A captured value.
private func lowered(_ value: Any) throws -> Lowered {
  if let value = value as? any AttributeValue { return .operand(.value(try PredicateValue(value))) }
  if let id = value as? any AnyObjectID { return .operand(.value(.id(id.rowID))) }
  if let object = value as? ManagedObject { return .operand(.value(.id(object.rowID))) }
  if let list = value as? any Collection { return .list(try list.map { try constant($0) }) }
  if let range = value as? any BoundedRange { return try range.lowered() }
  if let optional = value as? any AnyOptional {
    return try optional.anyValue.map { try lowered($0) } ?? .operand(.value(.null))
  }
  throw Lowering.unsupported("\(type(of: value)) is no attribute type; conform it to AttributeValue")
}

private func constant(_ value: Any) throws -> PredicateValue {
  guard case .operand(.value(let constant)) = try lowered(value) else {
    throw Lowering.unsupported("\(type(of: value)) is no attribute type; conform it to AttributeValue")
  }
  return constant
}

private protocol AnyObjectID { var rowID: Int64 { get } }
extension ObjectID: AnyObjectID {}

private protocol AnyOptional { var anyValue: Any? { get } }
extension Optional: AnyOptional { fileprivate var anyValue: Any? { self } }

private protocol BoundedRange { func lowered() throws -> Lowered }
extension ClosedRange: BoundedRange {
  fileprivate func lowered() throws -> Lowered {
    .range(.value(try constant(lowerBound)), .value(try constant(upperBound)), isClosed: true)
  }
}
extension Range: BoundedRange {
  fileprivate func lowered() throws -> Lowered {
    .range(.value(try constant(lowerBound)), .value(try constant(upperBound)), isClosed: false)
  }
}

/// A to-many's Swift type, for its `count` and `isEmpty`.
private protocol MemberSet {
  static var countPath: AnyKeyPath { get }
  static var isEmptyPath: AnyKeyPath { get }
}
// Every set, though only those of managed objects are asked: with that condition the compiler of Swift 6.3
// stops at the key paths.
extension Set: MemberSet {
  fileprivate static var countPath: AnyKeyPath { \Set<Element>.count }
  fileprivate static var isEmptyPath: AnyKeyPath { \Set<Element>.isEmpty }
}

extension PredicateExpressions.KeyPath: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let base = try lowering.lower(root)
    if let object = Root.Output.self as? ManagedObject.Type {
      guard case .path(var path) = base else {
        throw Lowering.unsupported("a property of something computed")
      }
      let names = KeyPathResolver.names(keyPath, root: object)
      guard !names.isEmpty else {
        throw Lowering.unsupported("\(object) has a property here that is not declared with a wrapper")
      }
      path.names += names
      return .path(path)
    }
    if let set = Root.Output.self as? any MemberSet.Type, case .path(let path) = base {
      if keyPath == set.countPath { return .operand(.count(path)) }
      if keyPath == set.isEmptyPath {
        return .condition(.quantified(.none, path, .constant(true)), isNil: nil)
      }
    }
    if keyPath == \String.isEmpty, case .path(let path) = base {
      return .condition(.comparison(.path(path), .equal, .value(try PredicateValue("")), []), isNil: nil)
    }
    throw Lowering.unsupported("a property of \(Root.Output.self) has no counterpart in SQL")
  }
}

// MARK: Logic

extension PredicateExpressions.Conjunction: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(.and([try lowering.condition(lhs), try lowering.condition(rhs)]), isNil: nil)
  }
}
extension PredicateExpressions.Disjunction: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(.or([try lowering.condition(lhs), try lowering.condition(rhs)]), isNil: nil)
  }
}
extension PredicateExpressions.Negation: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(.not(try lowering.condition(wrapped)), isNil: nil)
  }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(try equality(lhs, rhs, &lowering), isNil: nil)
  }
}
extension PredicateExpressions.NotEqual: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let equal = try equality(lhs, rhs, &lowering)
    if case .comparison(let left, .equal, let right, let options) = equal {
      return .condition(.comparison(left, .notEqual, right, options), isNil: nil)
    }
    return .condition(.not(equal), isNil: nil)
  }
}

/// `==`. A condition from optional chaining is true, false or nil, and may be compared with a constant.
private func equality(_ left: Any, _ right: Any, _ lowering: inout Lowering) throws -> PredicateNode {
  switch (try lowering.lower(left), try lowering.lower(right)) {
  case (.condition(let node, let isNil), .operand(.value(let value))),
    (.operand(.value(let value)), .condition(let node, let isNil)):
    return equality(node, isNil, value)
  case (.condition(let a, nil), .condition(let b, nil)):
    return .or([.and([a, b]), .and([.not(a), .not(b)])])
  case (let a, let b):
    return .comparison(try operand(a), .equal, try operand(b), [])
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

private func operand(_ lowered: Lowered) throws -> PredicateOperand {
  switch lowered {
  case .operand(let operand): return operand
  case .path(let path): return .path(path)
  default: throw Lowering.unsupported("a list, a range or a condition cannot be compared with ==")
  }
}

extension PredicateExpressions.Comparison: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let comparison: ComparisonOperator =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: .less
      }
    return .condition(
      .comparison(try lowering.operand(lhs), comparison, try lowering.operand(rhs), []), isNil: nil)
  }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let base = try lowering.lower(wrapped)
    lowering.variables[variable.key] = base
    let result = try lowering.lower(transform)
    guard case .condition(let node, let inner) = result else { return result }
    let isNil = PredicateNode.comparison(try operand(base), .equal, .value(.null), [])
    return .condition(node, isNil: inner.map { .or([isNil, $0]) } ?? isNil)
  }
}
extension PredicateExpressions.ForcedUnwrap: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered { try lowering.lower(inner) }
}
extension PredicateExpressions.NilCoalesce: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let (first, second) = (try lowering.lower(lhs), try lowering.lower(rhs))
    if case .condition(let node, let isNil) = first {
      guard case .operand(.value(let value)) = second else {
        throw Lowering.unsupported("?? after a condition takes true or false")
      }
      let isTrue = value.stored == .integer(1)
      guard let isNil else { return first }
      let combined: PredicateNode = isTrue ? .or([node, isNil]) : .and([node, .not(isNil)])
      return .condition(combined, isNil: nil)
    }
    return .operand(.coalesce(try operand(first), try operand(second)))
  }
}

// MARK: Calculations

extension PredicateExpressions.Arithmetic: LowerableExpression {
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
}
extension PredicateExpressions.FloatDivision: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .operand(.arithmetic(try lowering.operand(lhs), .divide, try lowering.operand(rhs)))
  }
}
extension PredicateExpressions.IntDivision: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .operand(.arithmetic(try lowering.operand(lhs), .divide, try lowering.operand(rhs)))
  }
}
extension PredicateExpressions.IntRemainder: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .operand(.arithmetic(try lowering.operand(lhs), .remainder, try lowering.operand(rhs)))
  }
}
extension PredicateExpressions.UnaryMinus: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let zero = PredicateValue(type: .int, stored: .integer(0))
    return .operand(.arithmetic(.value(zero), .subtract, try lowering.operand(wrapped)))
  }
}

// MARK: Strings, lists, ranges, members

extension PredicateExpressions.CollectionContainsCollection: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(
      .comparison(try lowering.operand(base), .contains, try lowering.operand(other), []), isNil: nil)
  }
}
extension PredicateExpressions.SequenceStartsWith: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(
      .comparison(try lowering.operand(base), .beginsWith, try lowering.operand(prefix), []), isNil: nil)
  }
}
extension PredicateExpressions.SequenceContains: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    switch try lowering.lower(sequence) {
    case .list(let values):
      return .condition(.isIn(try lowering.operand(element), values.map { .value($0) }, []), isNil: nil)
    case .range(let low, let high, let isClosed):
      return .condition(try within(element, low, high, isClosed, &lowering), isNil: nil)
    case .path(let path):
      // The members of a to-many, by their ids.
      let member = PropertyPath(depth: lowering.depth + 1, [])
      let element = try lowering.operand(element)
      return .condition(.quantified(.any, path, .comparison(.path(member), .equal, element, [])), isNil: nil)
    case .operand, .condition: throw Lowering.unsupported("contains on something that is no list")
    }
  }
}
extension PredicateExpressions.SequenceContainsWhere: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(try overMembers(.any, sequence, variable.key, test, &lowering), isNil: nil)
  }
}
extension PredicateExpressions.SequenceAllSatisfy: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .condition(try overMembers(.all, sequence, variable.key, test, &lowering), isNil: nil)
  }
}

private func overMembers(
  _ quantifier: Quantifier, _ sequence: Any, _ key: PredicateExpressions.VariableID, _ test: Any,
  _ lowering: inout Lowering
) throws -> PredicateNode {
  guard case .path(let path) = try lowering.lower(sequence) else {
    throw Lowering.unsupported("contains(where:) and allSatisfy are for to-many relationships")
  }
  lowering.depth += 1
  defer { lowering.depth -= 1 }
  lowering.variables[key] = .path(PropertyPath(depth: lowering.depth, []))
  return .quantified(quantifier, path, try lowering.condition(test))
}

extension PredicateExpressions.Range: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .range(try lowering.operand(lower), try lowering.operand(upper), isClosed: false)
  }
}
extension PredicateExpressions.ClosedRange: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    .range(try lowering.operand(lower), try lowering.operand(upper), isClosed: true)
  }
}
extension PredicateExpressions.RangeExpressionContains: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    guard case .range(let low, let high, let isClosed) = try lowering.lower(range) else {
      throw Lowering.unsupported("a range without two bounds")
    }
    return .condition(try within(element, low, high, isClosed, &lowering), isNil: nil)
  }
}

private func within(
  _ element: Any, _ low: PredicateOperand, _ high: PredicateOperand, _ isClosed: Bool,
  _ lowering: inout Lowering
) throws -> PredicateNode {
  let element = try lowering.operand(element)
  if isClosed { return .between(element, low, high) }
  return .and([.comparison(element, .greaterOrEqual, low, []), .comparison(element, .less, high, [])])
}
