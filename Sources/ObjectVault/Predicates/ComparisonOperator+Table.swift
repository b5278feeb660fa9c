// The comparisons of predicates, with everything about each operator in one entry, which the format
// language, the compiler and the evaluator in memory use. To add one, add a case with its entry, and a
// row in the generator of PredicateDifferential, whose coverage test reports what is missing.

internal import CipherSQLite

extension ComparisonOperator {
  /// What an operator means when it is evaluated in memory.
  enum Meaning: Sendable {
    /// With `true`: true for equal values. With `false`: true for values that differ. Nil equals only
    /// nil.
    case equality(Bool)
    /// Whether the operator is true when the left side is less (-1), equal (0) or greater (1).
    ///
    /// False for nil.
    case order(@Sendable (Int) -> Bool)
    /// Whether the operator is true for two strings. False for other values.
    case strings(@Sendable (String, String) -> Bool)
    /// Whether a string matches a regular expression, which may fail. False for other values.
    case expression
  }

  /// The facts about one operator.
  struct Entry: Sendable {
    /// The operator in the format language; messages use the first word.
    let words: [String]
    /// The operator with the same meaning for exchanged sides; nil where sides cannot be exchanged.
    let flipped: ComparisonOperator?
    /// The SQL for both engines. Strings are already folded; numbers of different kinds are compared by
    /// `vault_compare` instead.
    let sql: @Sendable (SQL, SQL) -> SQL
    let meaning: Meaning
  }

  /// The facts about the operator.
  var entry: Entry {
    switch self {
    case .equal:
      Entry(words: ["==", "="], flipped: .equal, sql: { "\($0) IS \($1)" }, meaning: .equality(true))
    case .notEqual:
      Entry(
        words: ["!=", "<>"], flipped: .notEqual, sql: { "\($0) IS NOT \($1)" }, meaning: .equality(false))
    case .less:
      Entry(words: ["<"], flipped: .greater, sql: { "\($0) < \($1)" }, meaning: .order { $0 < 0 })
    case .lessOrEqual:
      Entry(
        words: ["<=", "=<"], flipped: .greaterOrEqual, sql: { "\($0) <= \($1)" }, meaning: .order { $0 <= 0 })
    case .greater:
      Entry(words: [">"], flipped: .less, sql: { "\($0) > \($1)" }, meaning: .order { $0 > 0 })
    case .greaterOrEqual:
      Entry(
        words: [">=", "=>"], flipped: .lessOrEqual, sql: { "\($0) >= \($1)" }, meaning: .order { $0 >= 0 })
    case .contains:
      Entry(
        words: ["CONTAINS"], flipped: nil, sql: { "instr(\($0), \($1)) > 0" },
        meaning: .strings { $1.isEmpty || $0.utf8.firstRange(of: $1.utf8) != nil })
    case .beginsWith:
      // For a constant the compiler makes a range instead, which can use an index.
      Entry(
        words: ["BEGINSWITH"], flipped: nil, sql: { "instr(\($0), \($1)) = 1" },
        meaning: .strings { $0.utf8.starts(with: $1.utf8) })
    case .endsWith:
      Entry(
        words: ["ENDSWITH"], flipped: nil, sql: { "vault_ends(\($0), \($1))" },
        meaning: .strings { $0.utf8.reversed().starts(with: $1.utf8.reversed()) })
    case .like:
      Entry(
        words: ["LIKE"], flipped: nil, sql: { "vault_like(\($0), \($1))" },
        meaning: .strings { LikePattern($1).matches($0) })
    case .matches:
      // The compiler adds the options: an expression is not folded.
      Entry(words: ["MATCHES"], flipped: nil, sql: { "vault_matches(\($0), \($1), 0)" }, meaning: .expression)
    }
  }

  /// Whether the operator compares only strings.
  var isForStrings: Bool {
    switch entry.meaning {
    case .strings, .expression: true
    case .equality, .order: false
    }
  }

  /// The operator in the format language.
  var word: String { entry.words[0] }

  /// The operators by their words, which are in upper case.
  static let byWord: [String: ComparisonOperator] = Dictionary(
    allCases.flatMap { each in each.entry.words.map { ($0, each) } }, uniquingKeysWith: { first, _ in first })

  /// Returns whether the operator is true when the left side is less (-1), equal (0) or greater (1).
  func holds(_ order: Int) -> Bool {
    switch entry.meaning {
    case .equality(let isWanted): (order == 0) == isWanted
    case .order(let test): test(order)
    case .strings, .expression: false
    }
  }
}

extension ComparisonOperator.Meaning {
  /// Returns whether the operator is true for two values. NaN equals nothing, and is neither less nor
  /// greater.
  func holds(for left: SQLValue, and right: SQLValue, order: PredicateEvaluator.Order) -> Bool {
    switch self {
    case .equality(let isWanted):
      let isEqual =
        left.isNull || right.isNull ? left.isNull && right.isNull : order.compare(left, with: right) == 0
      return isEqual == isWanted
    case .order(let test):
      guard !left.isNull, !right.isNull, let result = order.compare(left, with: right) else { return false }
      return test(result)
    case .strings(let test):
      guard case .text(let text) = left, case .text(let part) = right else { return false }
      return test(text, part)
    case .expression: return false
    }
  }
}
