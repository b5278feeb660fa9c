// Reads a tape and makes the tree of nodes. The expressions are read in PredicateReader+Comparisons,
// +Optionals and +Collections.

internal import CipherSQLite
internal import Foundation

/// The result of reading one expression.
enum Lowered {
  /// A constant, a calculation or an attribute.
  case operand(PredicateOperand)
  /// An object or a to-many, by its path.
  case path(PropertyPath)
  /// A condition, and a second condition under which the value of the first is nil (in optional
  /// chaining). Without the second, the value is never nil.
  case condition(PredicateNode, isNil: PredicateNode?)
  /// The result of a `flatMap` that in SQL may have a value where Swift has nil, and the condition under
  /// which Swift has nil.
  case guarded(PredicateOperand, isNil: PredicateNode)
  /// A part of a JSON attribute, by its path without a type, and a sample of it.
  case part(PropertyPath, JSONSample)
  /// Several constants.
  case list([PredicateValue])
  /// The members of a to-many for which a condition is true.
  case filtered(PropertyPath, PredicateNode)
  /// A range of two operands; `isClosed` is whether it includes the upper one.
  case range(PredicateOperand, PredicateOperand, isClosed: Bool)
}

extension Lowered {
  /// Returns the operand for a comparison or a calculation.
  func operand() throws -> PredicateOperand {
    switch self {
    case .operand(let operand): return operand
    case .path(let path): return .path(path)
    case .part(let path, let sample): return .path(path.read(as: sample.attributeType))
    case .guarded: throw PredicateReader.unsupported(PredicateReader.guardedReason)
    case .condition, .list, .range, .filtered:
      throw PredicateReader.unsupported("a list, a range or a condition cannot be compared")
    }
  }
}

/// Reads a tape once, from its beginning to its end.
struct PredicateReader {
  private let tape: PredicateTape
  /// Whether captured values become variables, so that all predicates of the shape can share the tree.
  /// Otherwise they become constants.
  private let replacesCapturedValues: Bool
  private var place = PredicateTape.start
  private var (keyPathCount, valueCount, listCount, entityCount, elementCount) = (0, 0, 0, 0, 0)
  /// What each variable stands for, by its number; nil before the expression that introduces it was read.
  var variables: [Lowered?]
  /// The number of surrounding `contains(where:)` and `allSatisfy`.
  var depth = 0

  private init(_ tape: PredicateTape, replacesCapturedValues: Bool) {
    self.tape = tape
    self.replacesCapturedValues = replacesCapturedValues
    variables = [Lowered?](repeating: nil, count: tape.variableCount)
    variables[0] = .path(PropertyPath([]))
  }

  /// Returns the tree of a tape.
  /// - Parameter replacesCapturedValues: Whether captured values become variables, numbered in the order
  ///   of the tape.
  static func node(_ tape: PredicateTape, replacesCapturedValues: Bool) throws -> PredicateNode {
    var reader = PredicateReader(tape, replacesCapturedValues: replacesCapturedValues)
    return try reader.condition()
  }

  // MARK: The next expression

  mutating func operand() throws -> PredicateOperand {
    let kind = try peek()
    let lowered = try next()
    switch lowered {
    case .operand, .path, .part, .guarded: return try lowered.operand()
    case .condition, .list, .range, .filtered:
      throw Self.unsupported("\(kind.name) cannot be used in a comparison here")
    }
  }

  mutating func condition() throws -> PredicateNode {
    let kind = try peek()
    let lowered = try next()
    switch lowered {
    case .condition(let node, _): return node
    case .operand, .path, .part: return .truth(try lowered.operand())
    case .list, .range, .guarded, .filtered: throw Self.unsupported("\(kind.name) is not a condition")
    }
  }

  /// Reads the next expression.
  mutating func next() throws -> Lowered {
    let kind = try peek()
    let detail = Int(word() >> 8)
    switch kind {
    case .variable:
      guard let bound = variables[detail] else { throw Self.unsupported("a variable has no binding") }
      return bound
    case .value: return .operand(value())
    case .list: return .list(list())
    case .nilLiteral: return .operand(.value(.null))
    case .keyPath: return try property(keyPath())
    case .conjunction: return try conjunction()
    case .disjunction: return try disjunction()
    case .negation: return .condition(.not(try condition()), isNil: nil)
    case .equal: return .condition(try equality(), isNil: nil)
    case .notEqual: return .condition(try inequality(), isNil: nil)
    case .less: return try comparison(.less)
    case .lessOrEqual: return try comparison(.lessOrEqual)
    case .greater: return try comparison(.greater)
    case .greaterOrEqual: return try comparison(.greaterOrEqual)
    case .add: return try calculation(.add)
    case .subtract: return try calculation(.subtract)
    case .multiply: return try calculation(.multiply)
    case .divide: return try calculation(.divide)
    case .remainder: return try calculation(.remainder)
    case .unaryMinus: return try negative()
    case .optionalFlatMap: return try flatMap(detail)
    case .nilCoalesce: return try coalesce()
    case .collectionContainsCollection: return try strings(.contains)
    case .sequenceStartsWith: return try strings(.beginsWith)
    case .sequenceContains: return try contains()
    case .sequenceContainsWhere: return try members(.any, detail)
    case .sequenceAllSatisfy: return try members(.all, detail)
    case .rangeExpressionContains: return try isWithin()
    case .range: return .range(try operand(), try operand(), isClosed: false)
    case .closedRange: return .range(try operand(), try operand(), isClosed: true)
    case .conditional: return try conditional()
    case .filter: return try filter(detail)
    case .typeCheck:
      let object = PredicateOperand.path(try cast())
      return .condition(.comparison(object, .notEqual, .value(.null), []), isNil: nil)
    case .cast: return .path(try cast())
    case .subscripted: return try element(detail)
    case .keyed: return try keyedElement()
    case .minimum: return try extreme(.minimum)
    case .maximum: return try extreme(.maximum)
    case .stringContainsRegex: return try strings(.matches)
    }
  }

  // MARK: Words

  private func peek() throws -> PredicateTape.Kind {
    guard place < tape.key.words.count,
      let kind = PredicateTape.Kind(rawValue: UInt8(truncatingIfNeeded: tape.key.words[place]))
    else { throw Self.unsupported("an expression is incomplete") }
    return kind
  }

  private mutating func word() -> UInt {
    defer { place += 1 }
    return tape.key.words[place]
  }

  private mutating func keyPath() -> AnyKeyPath {
    defer { (place, keyPathCount) = (place + 1, keyPathCount + 1) }
    return tape.keyPaths[keyPathCount]
  }

  private mutating func value() -> PredicateOperand {
    defer { valueCount += 1 }
    return replacesCapturedValues ? .captured(valueCount) : .value(tape.values[valueCount])
  }

  /// Returns the entity of a cast.
  mutating func entity() -> String {
    defer { entityCount += 1 }
    return tape.entities[entityCount]
  }

  /// Returns what a subscript needs besides its word.
  mutating func nextElement() -> JSONElement {
    defer { elementCount += 1 }
    return tape.elements[elementCount]
  }

  private mutating func list() -> [PredicateValue] {
    defer { listCount += 1 }
    return tape.lists[listCount]
  }

  /// Returns the value of a constant, captured or not; nil for other operands. A decision about the tree
  /// may only use what the value's word determines, because all values with this word share the tree.
  func constant(_ operand: PredicateOperand) -> PredicateValue? {
    operand.constant(among: tape.values)?.value
  }

  // MARK: Errors

  static let guardedReason =
    "a flatMap whose closure contains ??, a constant or another path can only be compared; write the ?? "
    + "after the flatMap"

  static func unsupported(_ what: String) -> StoreError { .predicate(PredicateError(what)) }
}

extension PredicateTape.Kind {
  /// The name of the kind for errors: in most cases the name of Foundation's expression.
  fileprivate var name: String {
    let name = "\(self)"
    return name.prefix(1).uppercased() + name.dropFirst()
  }
}
