// Where the memory of a #Predicate holds what its type does not say. The type of an expression spells out the whole
// tree: what is left to differ are key paths, operators, which variable is meant, and captured values. They stand at
// fixed places of one struct, which are found once for each type (TapedExpression.lay), so that a predicate whose like
// has been written down before needs no second walk (PredicateForm).

internal import Foundation

/// The places, in bytes from the beginning of the expression, in the order in which a tape names them.
@safe struct PredicateLayout: Sendable {
  /// Reads a captured value at its address; nil when that is several.
  typealias Reader = @Sendable (_ address: UnsafeRawPointer) throws -> PredicateValue?

  /// A captured value.
  @safe struct Capture: Sendable {
    let offset: Int
    let read: Reader
  }

  private(set) var keyPaths: [Int] = []
  private(set) var operators: [Int] = []
  private(set) var variables: [Int] = []
  private(set) var captures: [Capture] = []
  /// False where Foundation does not let its fields be found: the places are no use then.
  private(set) var isComplete = true

  init(of type: any TapedExpression.Type) { type.lay(in: &self, at: 0) }

  // MARK: For the expressions

  /// Goes on with a part of an expression that stands at `offset`.
  mutating func lay<Whole, Part: TapedExpression>(_ part: KeyPath<Whole, Part>, at offset: Int) {
    if let place = place(part, at: offset) { Part.lay(in: &self, at: place) }
  }

  mutating func lay<Whole, First: TapedExpression, Second: TapedExpression>(
    _ first: KeyPath<Whole, First>, _ second: KeyPath<Whole, Second>, at offset: Int
  ) {
    lay(first, at: offset)
    lay(second, at: offset)
  }

  mutating func addKeyPath<Whole, Path>(_ field: KeyPath<Whole, Path>, at offset: Int) {
    // It is compared by its address, which is all that a reference is.
    guard MemoryLayout<Path>.size == MemoryLayout<UInt>.size else { return isComplete = false }
    if let place = place(field, at: offset) { keyPaths.append(place) }
  }

  mutating func addOperator<Whole, Operator>(_ field: KeyPath<Whole, Operator>, at offset: Int) {
    // A case without values, whose byte says which.
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

  private mutating func place<Whole, Part>(_ field: KeyPath<Whole, Part>, at offset: Int) -> Int? {
    guard let inside = MemoryLayout<Whole>.offset(of: field) else {
      isComplete = false
      return nil
    }
    return offset + inside
  }

  // MARK: Captured values

  /// The captured values of the expression at an address; nil when one is several, or has no stored form.
  func values(at address: UnsafeRawPointer) -> [PredicateValue]? {
    var values: [PredicateValue] = []
    values.reserveCapacity(captures.count)
    for index in captures.indices {
      // What is thrown is thrown by the walk, too, with its order of errors.
      guard let value = try? unsafe captures[index].read(address + captures[index].offset) else { return nil }
      values.append(value)
    }
    return values
  }

  // Safe: what the types are compared for is what stands at the address.
  private static func reader<Value>(_ type: Value.Type) -> Reader {
    // The common types are read without asking the runtime what they conform to.
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
