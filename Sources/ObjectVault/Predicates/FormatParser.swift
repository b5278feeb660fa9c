// The parser of the format language, which makes a PredicateNode in one pass: a parenthesis is read once,
// and its contents determine whether it is a condition or an operand. In order of increasing precedence:
// OR, AND, NOT, comparisons, + and -, * / and %%, **. Comparisons are in FormatParser+Comparisons, names
// and values in FormatParser+Operands, functions in FormatParser+Functions, to-manys in
// FormatParser+Collections.

internal import CipherSQLite

extension PredicateNode {
  /// Parses a predicate in the format language of `NSPredicate`.
  ///
  /// ```swift
  /// try PredicateNode(
  ///   format: "user.name == %@ AND text LIKE[cd] '*watch*'", "Binger")
  /// ```
  ///
  /// The language has the comparisons `= == != <> < <= =< > >= =>`, `BETWEEN {a, b}`, `IN {…}` and
  /// `BEGINSWITH ENDSWITH CONTAINS LIKE MATCHES`, for strings optionally with `[c] [d] [cd]`; `AND OR NOT`
  /// and `&& || !`; `ANY ALL NONE SOME`; `@count @sum @avg @min @max @distinctUnionOfObjects`;
  /// `SUBQUERY(path, $x, condition)`; `nil NULL`, `TRUE FALSE YES NO`; `TRUEPREDICATE`,
  /// `FALSEPREDICATE`; `SELF`; `+ - * / %% **`; the functions of ``PredicateFunction`` and
  /// ``CollectionFunction``; `now()`; `TERNARY(condition, a, b)`; `CAST(value, 'Type')` and
  /// `CAST(object, 'ChildEntity')`; key paths, with `[FIRST] [LAST] [SIZE] [n]` after an ordered to-many;
  /// numbers such as `0x1F`; `%@`, `%K`, `%d %ld %f …`; `$name`. Words may be in upper or lower case;
  /// `#any` is a property called `any`. In strings, `\n \r \t \0 \" \' \\` have their meaning in Swift, and
  /// `\uXXXX` is a UTF-16 code unit; a backslash before any other character stays. A `$name` is a variable
  /// for ``substituting(_:)``: after `IN` it takes a list, everywhere else one value, and in `CONTAINS` a
  /// string.
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: The values of its placeholders, in order.
  /// - Throws: ``StoreError/predicate(_:)`` when the text is not in this language, when it has too few or
  ///   too many arguments, for an argument that cannot be compared with a property, and beyond the limits
  ///   of ``PredicateError``. The error has the position in the text, if there is one.
  public init(format: String, _ arguments: Any?...) throws {
    try self.init(format, arguments, variables: nil)
  }

  /// Parses a predicate in the format language, with its arguments in an array; see `init(format:_:)`.
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: The values of its placeholders, in order.
  /// - Throws: ``StoreError/predicate(_:)``.
  public init(format: String, arguments: [Any?]) throws {
    try self.init(format, arguments, variables: nil)
  }

  /// Parses a predicate and replaces all of its variables. A variable takes the same values as a `%@`.
  ///
  /// ```swift
  /// try PredicateNode(
  ///   format: "age BETWEEN {$low, $high} AND name IN $names",
  ///   variables: ["low": 18, "high": 30, "names": ["Ann", "Bo"]])
  /// ```
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: The values of its placeholders, in order.
  ///   - variables: The values by the names without `$`. Names that the format does not contain are
  ///     ignored.
  /// - Throws: ``StoreError/predicate(_:)``, also for a variable without a value.
  public init(format: String, _ arguments: Any?..., variables: [String: Any?]) throws {
    try self.init(format, arguments, variables: variables)
  }

  init(_ format: String, _ arguments: [Any?], variables: [String: Any?]?) throws {
    guard arguments.count <= PredicateError.maximumArguments else {
      throw StoreError.predicate(
        PredicateError(
          "\(arguments.count) arguments were given; at most \(PredicateError.maximumArguments) are allowed"))
    }
    do {
      var parser = FormatParser(
        tokens: try FormatLexer.tokens(of: format),
        arguments: try arguments.enumerated().map {
          try PredicateArgument($0.element, named: "argument \($0.offset + 1)")
        })
      if let variables {
        parser.variables = try PredicateArgument.variables(variables)
      }
      self = try parser.predicate()
      try check()
    } catch StoreError.predicate(let error) { throw StoreError.predicate(error.located(in: format)) }
  }
}

struct FormatParser {
  let tokens: [FormatToken]
  let arguments: [PredicateArgument]
  var index = 0
  var argumentIndex = 0
  /// The values of variables by name; nil where variables stay in the tree.
  var variables: [String: PredicateArgument]?
  /// The number of surrounding ANY, ALL, NONE and SUBQUERY: the depth of their member.
  var memberDepth = 0
  /// The variables of the surrounding SUBQUERYs without `$`, the innermost last, with the depths of their
  /// members.
  var elements: [(name: String, depth: Int)] = []
  var depth = 0

  init(tokens: [FormatToken], arguments: [PredicateArgument]) {
    self.tokens = tokens
    self.arguments = arguments
  }

  /// The result of reading a part of the text.
  enum Parsed {
    case condition(PredicateNode)
    /// One operand, with the number of operands that it is calculated from.
    case operand(PredicateOperand, count: Int)
    case list([PredicateOperand])
    case collection(Collection)

    /// The number of operands of an operand; 0 for anything else.
    var count: Int { if case .operand(_, let count) = self { count } else { 0 } }
  }

  /// The members of a to-many, or their values: `SUBQUERY(books, $b, $b.year > 1999)`.
  struct Collection {
    var path: PropertyPath
    /// The names from a member to its value.
    var value: [String] = []
    /// Whether equal values count once.
    var isDistinct = false
    /// The condition of a SUBQUERY; nil for all members.
    var condition: PredicateNode?
  }

  /// The precedence of an operator.
  enum Level: Int { case or, and, comparison, sum, product, power, factor }

  var token: FormatToken { tokens[min(index, tokens.count - 1)] }

  mutating func predicate() throws -> PredicateNode {
    if token.kind == .end { throw failure("the format is empty; use TRUEPREDICATE to find all objects") }
    let start = token.position
    let parsed = try expression(.or)
    if token.kind != .end { throw leftOver(after: parsed) }
    let node = try condition(parsed, at: start)
    guard argumentIndex == arguments.count else {
      throw failure(
        "the format has \(counted(argumentIndex, "placeholder")), but "
          + "\(counted(arguments.count, "argument")) \(arguments.count == 1 ? "was" : "were") given")
    }
    return node
  }

  func failure(_ reason: String, at place: Int? = nil) -> StoreError {
    .predicate(PredicateError(reason, place: place ?? token.position))
  }

  /// Returns the error for a token that cannot follow what was read before it.
  func leftOver(after parsed: Parsed) -> StoreError {
    if case .condition = parsed {
      return failure("this is unexpected; AND or OR is missing before it")
    }
    guard case .word(let word) = token.kind else { return failure("this is unexpected") }
    let near = nearest(
      word.uppercased(),
      among: ["AND", "OR"] + Self.comparisonWords.sorted())
    return failure("\"\(shortened(word))\" is not an operator\(didYouMean(near).map { "; \($0)" } ?? "")")
  }

  // MARK: Words

  func isWord(_ words: String...) -> Bool {
    guard case .word(let word) = token.kind, word.utf8.count < 20 else { return false }
    return words.contains(word.uppercased())
  }

  mutating func takeWord(_ words: String...) -> String? {
    guard case .word(let word) = token.kind, word.utf8.count < 20, words.contains(word.uppercased()) else {
      return nil
    }
    index += 1
    return word.uppercased()
  }

  mutating func takeSymbol(_ symbols: String...) -> String? {
    guard case .symbol(let symbol) = token.kind, symbols.contains(symbol) else { return nil }
    index += 1
    return symbol
  }

  mutating func expect(_ symbol: String, why: String, after parsed: Parsed) throws {
    if takeSymbol(symbol) != nil { return }
    if case .word = token.kind, case .operand = parsed { throw leftOver(after: parsed) }
    throw failure("\(symbol) is missing here, \(why)")
  }

  // MARK: Expressions

  /// Reads an expression whose operators have at least the precedence `level`.
  mutating func expression(_ level: Level) throws -> Parsed {
    var start = token.position
    var left = try prefix()
    while let (next, symbol) = infix(), next.rawValue >= level.rawValue {
      let place = token.position
      index += 1
      switch next {
      case .or, .and:
        var parts = [try condition(left, at: start)]
        repeat {
          start = token.position
          parts.append(try condition(try expression(next == .or ? .and : .comparison), at: start))
        } while take(next)
        left = .condition(next == .or ? .or(parts) : .and(parts))
      case .power: left = try powers(left, start: start)
      case .comparison: left = .condition(try comparison(try single(left, start), symbol, at: place))
      default: left = try calculation(left, symbol, level: next, start: start)
      }
    }
    return left
  }

  /// Returns the operator at the current token, with its precedence.
  private func infix() -> (Level, String)? {
    switch token.kind {
    case .symbol(let symbol):
      switch symbol {
      case "||": return (.or, symbol)
      case "&&": return (.and, symbol)
      case "**": return (.power, symbol)
      case _ where ComparisonOperator.byWord[symbol] != nil: return (.comparison, symbol)
      default:
        return ArithmeticOperator(word: symbol).map { ($0.entry.isProduct ? .product : .sum, symbol) }
      }
    case .word(let word) where word.utf8.count < 20:
      let upper = word.uppercased()
      switch upper {
      case "OR": return (.or, upper)
      case "AND": return (.and, upper)
      default: return Self.comparisonWords.contains(upper) ? (.comparison, upper) : nil
      }
    default: return nil
    }
  }

  /// The comparisons that are words.
  static let comparisonWords = Set(ComparisonOperator.byWord.keys.filter { $0.allSatisfy(\.isLetter) })
    .union(["IN", "BETWEEN"])

  private mutating func take(_ level: Level) -> Bool {
    guard let (next, _) = infix(), next == level else { return false }
    index += 1
    return true
  }

  /// Reads a value, a path, a list, an expression in parentheses, or what follows a word or sign such as
  /// NOT. All nesting passes through this function, so the depth is counted here.
  private mutating func prefix() throws -> Parsed {
    guard depth <= PredicateError.maximumDepth else {
      throw failure(
        "conditions, brackets, braces and signs are nested deeper than \(PredicateError.maximumDepth)")
    }
    depth += 1
    defer { depth -= 1 }
    let start = token.position
    if takeWord("NOT") != nil || takeSymbol("!") != nil {
      let operand = token.position
      let inner = try condition(try expression(.comparison), at: operand)
      if case .not(let twice) = inner { return .condition(twice) }
      return .condition(.not(inner))
    }
    if takeSymbol("(") != nil {
      let inner = try expression(.or)
      try expect(")", why: "to close the bracket opened before", after: inner)
      return inner
    }
    if takeSymbol("-") != nil {
      guard case .operand(let inner, let count) = try expression(.power) else {
        throw failure("only a number can have a sign", at: start)
      }
      return .operand(Self.negative(inner), count: count + 1)
    }
    if takeSymbol("{") != nil {
      return .list(try list())
    }
    if takeWord("TRUEPREDICATE") != nil { return .condition(.constant(true)) }
    if takeWord("FALSEPREDICATE") != nil { return .condition(.constant(false)) }
    if let word = takeWord("ANY", "SOME", "ALL", "NONE") { return .condition(try members(word, start)) }
    // Here and not in `operand()`, whose stack frame nested calls do not need.
    if case .word(let word) = token.kind, index + 1 < tokens.count, tokens[index + 1].kind == .symbol("(") {
      index += 2
      return try call(word, start)
    }
    return try operand()
  }

  /// Reads the rest of `a ** b ** c`, which is `a ** (b ** c)` as in mathematics, after its first operator.
  private mutating func powers(_ left: Parsed, start: Int) throws -> Parsed {
    var operands = [try single(left, start)]
    var total = left.count
    repeat {
      let place = token.position
      let right = try prefix()
      operands.append(try single(right, place))
      total += right.count
      guard total <= PredicateError.maximumOperands else { throw failure(Self.operandsReason, at: place) }
    } while take(.power)
    guard let last = operands.popLast() else { return left }
    return .operand(operands.reversed().reduce(last) { .call(.raise, [$1, $0]) }, count: total)
  }

  static let operandsReason = "a calculation has more than \(PredicateError.maximumOperands) operands"

  // MARK: Conversions of results

  func condition(_ parsed: Parsed, at place: Int) throws -> PredicateNode {
    switch parsed {
    case .condition(let node): return node
    // A single path is a Bool, as in `NOT isHidden`. The compiler checks that it is.
    case .operand(.path(let path), _): return .truth(.path(path))
    case .operand(let operand, _) where operand.mayBeTruth: return .truth(operand)
    case .collection: throw failure(Self.collectionReason, at: place)
    case .operand:
      throw failure(
        "a comparison is missing here: = != < <= > >= IN BETWEEN CONTAINS BEGINSWITH ENDSWITH LIKE "
          + "MATCHES")
    case .list: throw failure(Self.listReason, at: place)
    }
  }

  static let collectionReason = "these are several values; write .@count, .@sum and the like after them"
  static let listReason = "a list can only follow IN and BETWEEN, or be the operand of a function such as sum"

  func single(_ parsed: Parsed, _ place: Int) throws -> PredicateOperand {
    switch parsed {
    case .operand(let operand, _): return operand
    case .list: throw failure(Self.listReason, at: place)
    case .collection:
      throw failure(Self.collectionReason, at: place)
    case .condition: throw failure("a condition cannot be compared or calculated with", at: place)
    }
  }
}

extension PredicateOperand {
  /// Whether the operand may be a Bool that is a condition alone, such as `TERNARY(…)` of two Bools.
  fileprivate var mayBeTruth: Bool {
    switch self {
    case .conditional: true
    case .value, .variable, .path, .count, .arithmetic, .call, .coalesce, .aggregate, .list, .cast, .position:
      false
    }
  }
}
