// Captured values of a #Predicate: constants, lists and ranges.

internal import CipherSQLite
internal import Foundation

extension PredicateExpressions.Value: TapedExpression {
  func write(on tape: inout PredicateTape) throws {
    if let scalar = try PredicateTape.scalar(value) { tape.write(scalar) } else { try several(value, &tape) }
  }
  static func addFields(in layout: inout PredicateLayout, at offset: Int) {
    layout.addValue(\Self.value, at: offset)
  }
}

extension PredicateTape {
  /// Returns a captured value as a constant; nil when it is a list, a range or not of an attribute type.
  static func scalar<Captured>(_ value: Captured) throws -> PredicateValue? {
    // The common types first: looking up a conformance costs more than the rest of writing a tape.
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
    // A part of the text matches the expression if the whole text matches this one.
    if let regex = value as? PredicateExpressions.PredicateRegex {
      return try PredicateValue("[\\s\\S]*?(?:\(regex.stringRepresentation))[\\s\\S]*")
    }
    if let optional = value as? any AnyOptional { return try optional.wrappedScalar() }
    return nil
  }
}

/// Writes a captured list or range.
private func several(_ value: Any, _ tape: inout PredicateTape) throws {
  // Before lists, because a range of integers is also a collection.
  if let range = value as? any BoundedRange {
    let bounds = try range.bounds()
    tape.write(range.kind)
    tape.write(bounds.lower)
    tape.write(bounds.upper)
  } else if let list = ConstantList(value) {
    tape.write(try list.constants())
  } else if let list = value as? any Collection {
    tape.write(try list.map { try captured($0) })
  } else {
    throw noAttribute(value)
  }
}

private func captured(_ value: Any) throws -> PredicateValue {
  guard let constant = try PredicateTape.scalar(value) else { throw noAttribute(value) }
  return constant
}

private func noAttribute(_ value: Any) -> StoreError {
  PredicateReader.unsupported("\(type(of: value)) is not an attribute type; conform it to AttributeValue")
}

private protocol AnyOptional { func wrappedScalar() throws -> PredicateValue? }
extension Optional: AnyOptional {
  fileprivate func wrappedScalar() throws -> PredicateValue? {
    try map { try PredicateTape.scalar($0) } ?? .null
  }
}

private protocol BoundedRange {
  var kind: PredicateTape.Kind { get }
  func bounds() throws -> (lower: PredicateValue, upper: PredicateValue)
}
extension ClosedRange: BoundedRange {
  fileprivate var kind: PredicateTape.Kind { .closedRange }
  fileprivate func bounds() throws -> (lower: PredicateValue, upper: PredicateValue) {
    (try captured(lowerBound), try captured(upperBound))
  }
}
extension Range: BoundedRange {
  fileprivate var kind: PredicateTape.Kind { .range }
  fileprivate func bounds() throws -> (lower: PredicateValue, upper: PredicateValue) {
    (try captured(lowerBound), try captured(upperBound))
  }
}
