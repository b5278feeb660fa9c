// Values and key paths of #Predicate: variables, captured constants, lists and ranges of them, properties.

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
