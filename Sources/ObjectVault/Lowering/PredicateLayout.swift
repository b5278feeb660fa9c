// The type of a #Predicate's expression determines the whole tree except for key paths, operators,
// variables and captured values, which are at fixed offsets in the expression's memory.
// `TapedExpression.addFields` finds the offsets once for each type. With them, PredicateForm recognizes a
// predicate that differs from an earlier one only in captured values. Such a predicate need not be written
// on a tape. A tape is the flat list of a predicate's parts (PredicateTape).

internal import Foundation

/// The offsets of fields, in bytes from the beginning of the expression and in the order of a tape.
@safe struct PredicateLayout: Sendable {
  /// Reads a captured value at its address; nil for a list, and for anything else that is not a single
  /// constant.
  typealias Reader = @Sendable (_ address: UnsafeRawPointer) throws -> PredicateValue?

  /// The field of a captured value.
  @safe struct Capture: Sendable {
    let offset: Int
    let read: Reader
  }

  private(set) var keyPaths: [Int] = []
  private(set) var operators: [Int] = []
  private(set) var variables: [Int] = []
  private(set) var captures: [Capture] = []
  /// False if the offset of a field cannot be determined, or its size is unexpected. Then the layout is
  /// not used.
  private(set) var isComplete = true

  init(of type: any TapedExpression.Type) { type.addFields(in: &self, at: 0) }

  // MARK: Adding fields

  /// Adds the fields of a part of the expression at `offset`.
  mutating func addFields<Whole, Part: TapedExpression>(_ part: KeyPath<Whole, Part>, at offset: Int) {
    if let place = place(part, at: offset) { Part.addFields(in: &self, at: place) }
  }

  mutating func addFields<Whole, First: TapedExpression, Second: TapedExpression>(
    _ first: KeyPath<Whole, First>, _ second: KeyPath<Whole, Second>, at offset: Int
  ) {
    addFields(first, at: offset)
    addFields(second, at: offset)
  }

  mutating func addKeyPath<Whole, Path>(_ field: KeyPath<Whole, Path>, at offset: Int) {
    // Key paths are compared by address, so the field must be a plain reference.
    guard MemoryLayout<Path>.size == MemoryLayout<UInt>.size else { return isComplete = false }
    if let place = place(field, at: offset) { keyPaths.append(place) }
  }

  mutating func addOperator<Whole, Operator>(_ field: KeyPath<Whole, Operator>, at offset: Int) {
    // The operator must be an enum without associated values, whose byte determines the case.
    guard MemoryLayout<Operator>.size == 1 else { return isComplete = false }
    if let place = place(field, at: offset) { operators.append(place) }
  }

  mutating func addVariable<Whole>(
    _ field: KeyPath<Whole, PredicateExpressions.VariableID>, at offset: Int
  ) {
    if let place = place(field, at: offset) { variables.append(place) }
  }

  mutating func addValue<Whole, Value>(_ field: KeyPath<Whole, Value>, at offset: Int) {
    guard let place = place(field, at: offset) else { return }
    unsafe captures.append(Capture(offset: place, read: Self.reader(Value.self)))
  }

  /// Records that expressions of the type cannot be recognized by their content in memory.
  mutating func giveUp() { isComplete = false }

  /// Returns the offset of a field; nil when it cannot be determined.
  private mutating func place<Whole, Part>(_ field: KeyPath<Whole, Part>, at offset: Int) -> Int? {
    guard let inside = MemoryLayout<Whole>.offset(of: field) else {
      isComplete = false
      return nil
    }
    return offset + inside
  }

  // MARK: Captured values

  /// Returns the captured values of the expression at an address; nil when one of them is not a single
  /// constant, or has no stored form.
  func values(at address: UnsafeRawPointer) -> [PredicateValue]? {
    var values: [PredicateValue] = []
    values.reserveCapacity(captures.count)
    for index in captures.indices {
      // The error is discarded here: the expression is then written on a tape, which throws the
      // predicate's first error.
      guard let value = try? unsafe captures[index].read(address + captures[index].offset) else { return nil }
      values.append(value)
    }
    return values
  }

  // Safe: `type` is the type of the value at the address, so that each comparison proves the type that is
  // loaded.
  private static func reader<Value>(_ type: Value.Type) -> Reader {
    // The common types are read without looking up a conformance.
    if type == Int.self { return { try PredicateValue(unsafe $0.load(as: Int.self)) } }
    if type == String.self { return { try PredicateValue(unsafe $0.load(as: String.self)) } }
    if type == Double.self { return { try PredicateValue(unsafe $0.load(as: Double.self)) } }
    if type == Bool.self { return { try PredicateValue(unsafe $0.load(as: Bool.self)) } }
    if type == Date.self { return { try PredicateValue(unsafe $0.load(as: Date.self)) } }
    if type == UUID.self { return { try PredicateValue(unsafe $0.load(as: UUID.self)) } }
    if type == Int?.self { return { try optional(unsafe $0.load(as: Int?.self)) } }
    if type == String?.self { return { try optional(unsafe $0.load(as: String?.self)) } }
    if type == Double?.self { return { try optional(unsafe $0.load(as: Double?.self)) } }
    return { try PredicateTape.scalar(unsafe $0.load(as: Value.self)) }
  }

  private static func optional<Value: AttributeValue>(_ value: Value?) throws -> PredicateValue {
    try value.map { try PredicateValue($0) } ?? .null
  }
}
