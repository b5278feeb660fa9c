// One extension for each expression type of #Predicate that has a meaning in SQL: values, key paths, logic,
// comparisons, optionals. The others are in PredicateLowering+Collections.

internal import CipherSQLite
internal import Foundation

extension PredicateExpressions.Variable: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    guard let bound = lowering.variables[key] else { throw Lowering.unsupported("a variable has no binding") }
    return bound
  }
  func note(in shape: inout PredicateShape) {
    shape.note(key)
  }
}

extension PredicateExpressions.Value: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    guard var scalar = try scalar(value) else { return try several(value) }
    scalar.source = lowering.valueCount
    lowering.valueCount += 1
    return .operand(.value(scalar))
  }
  func note(in shape: inout PredicateShape) {
    if let scalar = try? scalar(value) { shape.note(scalar) } else { shape.noteUnique() }
  }
}

extension PredicateExpressions.NilLiteral: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered { .operand(.value(.null)) }
  func note(in shape: inout PredicateShape) {
  }
}

/// A captured value that is one constant, or nil when it is several.
private func scalar<Captured>(_ value: Captured) throws -> PredicateValue? {
  // The common types first: the look-up of a conformance costs more than the rest of a walk.
  if Captured.self == Int.self, let value = value as? Int { return try PredicateValue(value) }
  if Captured.self == String.self, let value = value as? String { return try PredicateValue(value) }
  if Captured.self == Double.self, let value = value as? Double { return try PredicateValue(value) }
  if Captured.self == Bool.self, let value = value as? Bool { return try PredicateValue(value) }
  if Captured.self == Date.self, let value = value as? Date { return try PredicateValue(value) }
  if Captured.self == UUID.self, let value = value as? UUID { return try PredicateValue(value) }
  if Captured.self == Int?.self { return try (value as? Int).map { try PredicateValue($0) } ?? .null }
  if Captured.self == String?.self { return try (value as? String).map { try PredicateValue($0) } ?? .null }
  if let value = value as? any AttributeValue { return try PredicateValue(value) }
  if let object = value as? any PredicateObject { return try object.predicateValue() }
  if let optional = value as? any AnyOptional { return try optional.wrappedScalar() }
  return nil
}

/// A captured list or range.
private func several(_ value: Any) throws -> Lowered {
  // Before the lists: a range of integers is a collection, too.
  if let range = value as? any BoundedRange { return try range.lowered() }
  if let list = value as? any Collection { return .list(try list.map { try captured($0) }) }
  throw noAttribute(value)
}

private func captured(_ value: Any) throws -> PredicateValue {
  guard let constant = try scalar(value) else { throw noAttribute(value) }
  return constant
}

private func noAttribute(_ value: Any) -> StoreError {
  Lowering.unsupported("\(type(of: value)) is no attribute type; conform it to AttributeValue")
}

private protocol AnyOptional { func wrappedScalar() throws -> PredicateValue? }
extension Optional: AnyOptional {
  fileprivate func wrappedScalar() throws -> PredicateValue? { try map { try scalar($0) } ?? .null }
}

private protocol BoundedRange { func lowered() throws -> Lowered }
extension ClosedRange: BoundedRange {
  fileprivate func lowered() throws -> Lowered {
    .range(.value(try captured(lowerBound)), .value(try captured(upperBound)), isClosed: true)
  }
}
extension Range: BoundedRange {
  fileprivate func lowered() throws -> Lowered {
    .range(.value(try captured(lowerBound)), .value(try captured(upperBound)), isClosed: false)
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

extension PredicateExpressions.KeyPath: LowerableExpression where Root: LowerableExpression {
  func lower(in lowering: inout Lowering) throws -> Lowered {
    let base = try root.lower(in: &lowering)
    if let object = Root.Output.self as? ManagedObject.Type {
      guard case .path(var path) = base else {
        throw Lowering.unsupported("a property of something computed")
      }
      switch KeyPathResolver.resolve(keyPath, root: object) {
      case .success(let names): path.names += names
      case .failure(let error): throw Lowering.unsupported(error.description)
      }
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
  func note(in shape: inout PredicateShape) {
    shape.note(keyPath)
    root.note(in: &shape)
  }
}

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
    let b = try asOperand(other)
    let isOtherNil = PredicateNode.comparison(b, .equal, .value(.null), [])
    return .or([.and([.not(isNil), .comparison(a, .equal, b, [])]), .and([isNil, isOtherNil])])
  case (let a, let b):
    return .comparison(try asOperand(a), .equal, try asOperand(b), [])
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

private func asOperand(_ lowered: Lowered) throws -> PredicateOperand {
  switch lowered {
  case .operand(let operand): return operand
  case .path(let path): return .path(path)
  case .guarded: throw Lowering.unsupported(Lowering.guardedReason)
  default: throw Lowering.unsupported("a list, a range or a condition cannot be compared")
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
      return .condition(.and([.not(isNil), .comparison(a, comparison, try asOperand(b), [])]), isNil: nil)
    case (let a, .guarded(let b, let isNil)):
      return .condition(.and([.not(isNil), .comparison(try asOperand(a), comparison, b, [])]), isNil: nil)
    case (let a, let b):
      return .condition(.comparison(try asOperand(a), comparison, try asOperand(b), []), isNil: nil)
    }
  }
  func note(in shape: inout PredicateShape) {
    shape.note(op.word)
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}

// MARK: Optionals

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
    let wrapped = try asOperand(base)
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
    return .operand(.coalesce(try asOperand(first), try asOperand(second)))
  }
  func note(in shape: inout PredicateShape) {
    lhs.note(in: &shape)
    rhs.note(in: &shape)
  }
}
