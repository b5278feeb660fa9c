// The comparisons of predicates, all that there is to say of each in one entry: the format language, the compiler and
// the evaluator in memory read it here. A new one is a case, its entry, and a row in the generator of
// PredicateDifferential, whose coverage test names what is missing.

internal import CipherSQLite

extension ComparisonOperator {
  /// What an operator means, in memory.
  enum Meaning: Sendable {
    /// Whether both are equal, or whether they are not. Nil equals nil only.
    case equality(Bool)
    /// Whether it holds for a left side that is less (-1), equal (0) or greater (1); for nil it does not.
    case order(@Sendable (Int) -> Bool)
    /// Whether it holds for two strings; for what is none it does not.
    case strings(@Sendable (String, String) -> Bool)
  }

  struct Entry: Sendable {
    /// As the format language writes it; messages take the first.
    let words: [String]
    /// The operator for exchanged sides; nil where sides cannot be exchanged.
    let flipped: ComparisonOperator?
    /// The SQL on both engines. Strings are folded before, numbers of different kinds compared by `vault_compare`.
    let sql: @Sendable (SQL, SQL) -> SQL
    let meaning: Meaning
  }

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
      // Of a constant the compiler makes a range, which an index serves.
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
    }
  }

  /// Whether it is about strings alone.
  var isForStrings: Bool { if case .strings = entry.meaning { true } else { false } }

  /// As the format language writes it.
  var word: String { entry.words[0] }

  /// The operators by their words, which are in upper case.
  static let byWord: [String: ComparisonOperator] = Dictionary(
    allCases.flatMap { each in each.entry.words.map { ($0, each) } }, uniquingKeysWith: { first, _ in first })

  /// Whether it holds for a left side that is less (-1), equal (0) or greater (1).
  func holds(_ order: Int) -> Bool {
    switch entry.meaning {
    case .equality(let isWanted): (order == 0) == isWanted
    case .order(let test): test(order)
    case .strings: false
    }
  }
}

extension ComparisonOperator.Meaning {
  /// NaN equals nothing, and is neither less nor greater.
  func holds(_ left: SQLValue, _ right: SQLValue, _ order: PredicateEvaluator.Order) -> Bool {
    switch self {
    case .equality(let isWanted):
      let isEqual =
        left.isNull || right.isNull ? left.isNull && right.isNull : order.compare(left, right) == 0
      return isEqual == isWanted
    case .order(let test):
      guard !left.isNull, !right.isNull, let result = order.compare(left, right) else { return false }
      return test(result)
    case .strings(let test):
      guard case .text(let text) = left, case .text(let part) = right else { return false }
      return test(text, part)
    }
  }
}
