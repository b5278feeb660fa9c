// A #Predicate as a flat list of words: a word for each expression, followed by the words of its parts.
// The words are the predicate's shape. PredicateReader makes the tree from the tape alone, so predicates
// with equal words have equal trees. PredicateTape+Expressions has the words of each expression.

internal import CipherSQLite
internal import Foundation

/// An expression of a `#Predicate` that has a counterpart in SQL. Each conformance requires that the
/// parts conform, too. So one look-up, for the whole expression, is enough, and the parts are called
/// directly.
protocol TapedExpression {
  /// Writes the expression, then its parts.
  /// - Throws: ``StoreError/predicate(_:)`` for an operator that this version does not support, and for a
  ///   captured value that no attribute can have.
  func write(on tape: inout PredicateTape) throws

  /// Adds the fields of an expression of this type at `offset` to a layout: everything that
  /// ``write(on:)`` writes and the type does not determine, in the order of writing.
  static func addFields(in layout: inout PredicateLayout, at offset: Int)
}

/// The words of a `#Predicate`, and what a word cannot contain: key paths and captured values, in the
/// order of their words.
struct PredicateTape {
  /// The kind of an expression, which is the low byte of its word. Most names are Foundation's.
  enum Kind: UInt8 {
    case variable, value, list, nilLiteral, keyPath
    case conjunction, disjunction, negation
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    case add, subtract, multiply, divide, remainder, unaryMinus
    case optionalFlatMap, nilCoalesce
    case collectionContainsCollection, sequenceStartsWith, sequenceContains, sequenceContainsWhere
    case sequenceAllSatisfy, rangeExpressionContains, range, closedRange
    case conditional, filter, typeCheck, cast, subscripted, keyed, minimum, maximum, stringContainsRegex
  }

  /// The key by which shapes are compared. A separate type: for an array of words the runtime would have
  /// to look up the conformance to Hashable.
  struct Key: Hashable {
    private(set) var words: [UInt] = []
    private var digest: UInt = 0

    fileprivate init() { words.reserveCapacity(64) }

    fileprivate mutating func append(_ word: UInt) {
      words.append(word)
      // Words are addresses and small numbers of the program. No attacker can choose them to collide.
      digest = (digest ^ word) &* 0x9E37_79B9_7F4A_7C15
      digest ^= digest >> 32
    }

    func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    static func == (left: Key, right: Key) -> Bool {
      left.digest == right.digest && left.words == right.words
    }
  }

  private(set) var key = Key()
  private(set) var keyPaths: [AnyKeyPath] = []
  private(set) var values: [PredicateValue] = []
  private(set) var lists: [[PredicateValue]] = []
  /// The names of the classes of casts. They need no words, because the type of the whole expression
  /// determines them.
  private(set) var entities: [String] = []
  /// The elements of subscripts. The type of the whole expression determines their types.
  private(set) var elements: [JSONElement] = []
  /// False when the SQL depends on a captured value, for example on the number of values in a list.
  private(set) var isReusable = true
  private var variables: [PredicateExpressions.VariableID] = []

  /// The index of the first expression's word. The word before it is the type of the whole expression,
  /// which determines the types of the values.
  static let start = 1

  /// Writes an expression on a new tape.
  /// - Throws: As ``TapedExpression/write(on:)``.
  init(_ root: some TapedExpression, over variable: PredicateExpressions.VariableID) throws {
    // Enough for most predicates: growing step by step costs more than the rest of writing the tape.
    keyPaths.reserveCapacity(8)
    values.reserveCapacity(8)
    variables.reserveCapacity(4)
    variables.append(variable)
    key.append(UInt(bitPattern: ObjectIdentifier(type(of: root))))
    try root.write(on: &self)
  }

  /// The number of variables so far; the fetched object is the first.
  var variableCount: Int { variables.count }

  /// Returns the number of expressions of certain kinds.
  func count(where isCounted: (Kind) -> Bool) -> Int {
    var (place, count) = (Self.start, 0)
    while place < key.words.count, let kind = Kind(rawValue: UInt8(truncatingIfNeeded: key.words[place])) {
      if isCounted(kind) { count += 1 }
      place += kind == .keyPath ? 2 : 1
    }
    return count
  }

  mutating func write(_ kind: Kind) { key.append(UInt(kind.rawValue)) }

  mutating func write(_ kind: Kind, entity: String) {
    write(kind)
    entities.append(entity)
  }

  /// Writes a subscript of an array.
  mutating func write(index: UInt, _ element: JSONElement) {
    write(.subscripted, index)
    elements.append(element)
  }

  /// Writes a subscript of a dictionary. The words do not contain its key.
  mutating func write(keyed element: JSONElement) {
    write(.keyed)
    elements.append(element)
    isReusable = false
  }

  mutating func write(_ kind: Kind, _ detail: UInt) {
    key.append(UInt(kind.rawValue) | detail << 8)
  }

  /// Writes a key path as its address, which is unique as long as the key path is retained.
  mutating func write(_ keyPath: AnyKeyPath) {
    write(.keyPath)
    key.append(UInt(bitPattern: ObjectIdentifier(keyPath)))
    keyPaths.append(keyPath)
  }

  /// Writes an expression that uses or introduces a variable, with the variable's number.
  mutating func write(_ kind: Kind, _ variable: PredicateExpressions.VariableID) {
    if let index = variables.firstIndex(of: variable) {
      write(kind, UInt(index))
    } else {
      write(kind, UInt(variables.count))
      variables.append(variable)
    }
  }

  mutating func write(_ value: PredicateValue) {
    write(.value, value.word)
    if value.needsOwnSQL { isReusable = false }
    values.append(value)
  }

  mutating func write(_ list: [PredicateValue]) {
    write(.list)
    lists.append(list)
    isReusable = false
  }
}

extension PredicateTape.Kind {
  /// Whether the kind depends on an operator that the expression stores, and not on the expression's type
  /// alone.
  var isStored: Bool {
    switch self {
    case .less, .lessOrEqual, .greater, .greaterOrEqual, .add, .subtract, .multiply: true
    case .variable, .value, .list, .nilLiteral, .keyPath, .conjunction, .disjunction, .negation, .equal,
      .notEqual, .divide, .remainder, .unaryMinus, .optionalFlatMap, .nilCoalesce,
      .collectionContainsCollection, .sequenceStartsWith, .sequenceContains, .sequenceContainsWhere,
      .sequenceAllSatisfy, .rangeExpressionContains, .range, .closedRange, .conditional, .filter, .typeCheck,
      .cast, .subscripted, .keyed, .minimum, .maximum, .stringContainsRegex:
      false
    }
  }

  /// Whether a word of this kind contains the number of a variable.
  var hasVariableNumber: Bool {
    switch self {
    case .variable, .optionalFlatMap, .sequenceContainsWhere, .sequenceAllSatisfy, .filter: true
    case .value, .list, .nilLiteral, .keyPath, .conjunction, .disjunction, .negation, .equal, .notEqual,
      .less, .lessOrEqual, .greater, .greaterOrEqual, .add, .subtract, .multiply, .divide, .remainder,
      .unaryMinus, .nilCoalesce, .collectionContainsCollection, .sequenceStartsWith, .sequenceContains,
      .rangeExpressionContains, .range, .closedRange, .conditional, .typeCheck, .cast, .subscripted, .keyed,
      .minimum, .maximum, .stringContainsRegex:
      false
    }
  }
}

extension PredicateValue {
  /// The part of a captured value that belongs to the shape: its storage class, whether it is `true`, and
  /// whether it needs SQL of its own.
  var word: UInt {
    // The tree of a condition that is compared with true differs from that of one compared with false.
    var truth: UInt = 0
    if case .bool? = type, case .integer(1) = stored { truth = 8 }
    // Infinity and NaN change the SQL itself, and for the id of an unsaved object the compiler throws.
    return stored.storageClass + truth + (needsOwnSQL ? 16 : 0)
  }

  /// Whether the SQL of a condition with the value differs from that with others of the type.
  var needsOwnSQL: Bool {
    switch stored {
    case .real(let number): !number.isFinite
    case .integer(let number): number <= 0 && entity != nil
    case .null, .text, .blob: false
    }
  }
}

extension SQLValue {
  fileprivate var storageClass: UInt {
    switch self {
    case .null: 0
    case .integer: 1
    case .real: 2
    case .text: 3
    case .blob: 4
    }
  }
}
