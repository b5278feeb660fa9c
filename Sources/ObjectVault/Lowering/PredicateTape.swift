// A #Predicate written down flat, in the one walk that is made over it: a word for each expression, and behind it its
// parts. The words are what predicates of one shape share, and the tree is made of them (PredicateReader), so that
// what is compared and what is made of it cannot differ. Who writes what: PredicateTape+Expressions.

internal import CipherSQLite
internal import Foundation

/// An expression of a `#Predicate` that has a meaning in SQL. The conformances ask the same of the parts, so
/// that one look-up, of the whole, is enough and the parts are called directly.
protocol TapedExpression {
  /// Writes the expression, then its parts.
  /// - Throws: ``StoreError/predicate(_:)`` for an operator that this version does not know, and for a captured value
  ///   that no attribute can hold.
  func write(on tape: inout PredicateTape) throws

  /// Says where expressions of this type, of which one stands at `offset`, hold what the type does not say: of that
  /// what ``write(on:)`` writes, in the same order.
  static func lay(in layout: inout PredicateLayout, at offset: Int)
}

/// The words of a `#Predicate`, and beside them what no word can hold: key paths and captured values, in the order in
/// which the words name them.
struct PredicateTape {
  /// What an expression is: the low byte of its word. Named as Foundation names them.
  enum Kind: UInt8 {
    case variable, value, list, nilLiteral, keyPath
    case conjunction, disjunction, negation
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    case add, subtract, multiply, divide, remainder, unaryMinus
    case optionalFlatMap, nilCoalesce
    case collectionContainsCollection, sequenceStartsWith, sequenceContains, sequenceContainsWhere
    case sequenceAllSatisfy, rangeExpressionContains, range, closedRange
  }

  /// What shapes are told apart by. A type of its own: that an array of words is Hashable the runtime would
  /// have to look up.
  struct Key: Hashable {
    private(set) var words: [UInt] = []
    private var digest: UInt = 0

    fileprivate init() { words.reserveCapacity(64) }

    fileprivate mutating func append(_ word: UInt) {
      words.append(word)
      // Words are addresses and small numbers of a program, which nobody chooses so that they collide.
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
  /// False when a captured value itself decides what the SQL looks like, as a list does.
  private(set) var isReusable = true
  private var variables: [PredicateExpressions.VariableID] = []

  /// Where the first expression stands, behind the type of the whole, which says which types the values have.
  static let start = 1

  /// - Throws: As ``TapedExpression/write(on:)``.
  init(_ root: some TapedExpression, over variable: PredicateExpressions.VariableID) throws {
    // What most predicates need: growing step by step costs more than the rest of the walk.
    keyPaths.reserveCapacity(8)
    values.reserveCapacity(8)
    variables.reserveCapacity(4)
    variables.append(variable)
    key.append(UInt(bitPattern: ObjectIdentifier(type(of: root))))
    try root.write(on: &self)
  }

  /// How many variables have been met; the object that is fetched is the first.
  var variableCount: Int { variables.count }

  /// How many expressions are of some kinds.
  func count(where isMeant: (Kind) -> Bool) -> Int {
    var (place, count) = (Self.start, 0)
    while place < key.words.count, let kind = Kind(rawValue: UInt8(truncatingIfNeeded: key.words[place])) {
      if isMeant(kind) { count += 1 }
      place += kind == .keyPath ? 2 : 1
    }
    return count
  }

  mutating func write(_ kind: Kind) { key.append(UInt(kind.rawValue)) }

  private mutating func write(_ kind: Kind, _ detail: UInt) {
    key.append(UInt(kind.rawValue) | detail << 8)
  }

  /// By its address, which stands for it while something holds it.
  mutating func write(_ keyPath: AnyKeyPath) {
    write(.keyPath)
    key.append(UInt(bitPattern: ObjectIdentifier(keyPath)))
    keyPaths.append(keyPath)
  }

  /// Which of the variables an expression means, or makes.
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
    if value.isEdge { isReusable = false }
    values.append(value)
  }

  mutating func write(_ list: [PredicateValue]) {
    write(.list)
    lists.append(list)
    isReusable = false
  }
}

extension PredicateTape.Kind {
  /// Whether expressions of one type are of this kind or of another, as an operator in them says.
  var isStored: Bool {
    switch self {
    case .less, .lessOrEqual, .greater, .greaterOrEqual, .add, .subtract, .multiply: true
    case .variable, .value, .list, .nilLiteral, .keyPath, .conjunction, .disjunction, .negation, .equal,
      .notEqual, .divide, .remainder, .unaryMinus, .optionalFlatMap, .nilCoalesce,
      .collectionContainsCollection, .sequenceStartsWith, .sequenceContains, .sequenceContainsWhere,
      .sequenceAllSatisfy, .rangeExpressionContains, .range, .closedRange:
      false
    }
  }

  /// Whether its word says which variable is meant, or made.
  var namesVariable: Bool {
    switch self {
    case .variable, .optionalFlatMap, .sequenceContainsWhere, .sequenceAllSatisfy: true
    case .value, .list, .nilLiteral, .keyPath, .conjunction, .disjunction, .negation, .equal, .notEqual,
      .less, .lessOrEqual, .greater, .greaterOrEqual, .add, .subtract, .multiply, .divide, .remainder,
      .unaryMinus, .nilCoalesce, .collectionContainsCollection, .sequenceStartsWith, .sequenceContains,
      .rangeExpressionContains, .range, .closedRange:
      false
    }
  }
}

extension PredicateValue {
  /// What of a captured value is a part of the shape.
  var word: UInt {
    // Whether a truth value is compared with true or false decides on the condition around it.
    var truth: UInt = 0
    if case .bool? = type, case .integer(1) = stored { truth = 8 }
    // Infinity and NaN are decided when the SQL is made, and an unsaved object's id is an error.
    return stored.storageClass + truth + (isEdge ? 16 : 0)
  }

  fileprivate var isEdge: Bool {
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
