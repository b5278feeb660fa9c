// The format language -> PredicateNode, in one pass: a bracket is read once, and what stands in it says whether
// it is a condition or an operand. OR binds loosest, then AND, NOT, comparisons, + and -, * and /.
// Comparisons are in FormatParser+Comparisons, names and values in FormatParser+Operands.

internal import CipherSQLite

extension PredicateNode {
  /// The tree of a predicate in the format language of `NSPredicate`.
  ///
  /// ```swift
  /// try PredicateNode(
  ///   format: "user.name == %@ AND text LIKE[cd] '*watch*'", "Binger")
  /// ```
  ///
  /// Comparisons `= == != <> < <= > >=`, `BETWEEN {a, b}`, `IN {…}`, `BEGINSWITH ENDSWITH CONTAINS LIKE` with
  /// `[c] [d] [cd]`, `AND OR NOT` and `&& || !`, `ANY ALL NONE SOME`, `@count`, `nil`, `TRUE FALSE`,
  /// `TRUEPREDICATE`, `FALSEPREDICATE`, `SELF`, `+ - * /`, key paths, `%@`, `%K`, `%d %ld %f …`, `$name`. Words may
  /// be in either case; `#any` is a property called `any`. In strings `\n \r \t \0 \" \' \\` and `\uXXXX` are
  /// what they are in Swift; a backslash before anything else stays. A `$name` stays open, for
  /// ``substituting(_:)``: behind `IN` it stands for a list, everywhere else for one value, and `CONTAINS` takes it
  /// for a string.
  /// - Throws: ``StoreError/predicate(_:)`` with the position in the text for anything else, and for too
  ///   few or too many arguments.
  public init(format: String, _ arguments: Any?...) throws {
    try self.init(format, arguments, variables: nil)
  }

  /// The same with the arguments in an array.
  public init(format: String, arguments: [Any?]) throws {
    try self.init(format, arguments, variables: nil)
  }

  /// The same with values for all of its variables, each of which may be whatever fills a `%@`.
  ///
  /// ```swift
  /// try PredicateNode(
  ///   format: "age BETWEEN {$low, $high} AND name IN $names",
  ///   variables: ["low": 18, "high": 30, "names": ["Ann", "Bo"]])
  /// ```
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: What fills its placeholders, in order.
  ///   - variables: The values by the names without `$`. Those that the format does not name are ignored.
  /// - Throws: ``StoreError/predicate(_:)``, also for a variable that has no value here.
  public init(format: String, _ arguments: Any?..., variables: [String: Any?]) throws {
    try self.init(format, arguments, variables: variables)
  }

  init(_ format: String, _ arguments: [Any?], variables: [String: Any?]?) throws {
    guard arguments.count <= PredicateError.maximumArguments else {
      throw StoreError.predicate(
        PredicateError(
          "\(arguments.count) arguments are given; \(PredicateError.maximumArguments) are possible"))
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
  /// By their names; nil where variables stay open.
  var variables: [String: PredicateArgument]?
  private var depth = 0

  init(tokens: [FormatToken], arguments: [PredicateArgument]) {
    self.tokens = tokens
    self.arguments = arguments
  }

  /// What has been read so far.
  enum Parsed {
    case condition(PredicateNode)
    /// One operand, with the number of those that it is calculated from.
    case operand(PredicateOperand, count: Int)
    case list([PredicateOperand])
  }

  /// How tightly an operator binds.
  enum Level: Int { case or, and, comparison, sum, product, factor }

  var token: FormatToken { tokens[min(index, tokens.count - 1)] }

  mutating func predicate() throws -> PredicateNode {
    if token.kind == .end { throw failure("the format is empty; TRUEPREDICATE finds everything") }
    let start = token.position
    let parsed = try expression(.or)
    if token.kind != .end { throw leftOver(behind: parsed) }
    let node = try condition(parsed, at: start)
    guard argumentIndex == arguments.count else {
      throw failure("\(arguments.count) arguments are given, and \(argumentIndex) placeholders are here")
    }
    return node
  }

  func failure(_ reason: String, at place: Int? = nil) -> StoreError {
    .predicate(PredicateError(reason, place: place ?? token.position))
  }

  /// What to say of a token that nothing is waiting for.
  func leftOver(behind parsed: Parsed) -> StoreError {
    if case .condition = parsed {
      return failure("this is left over; AND or OR is missing before it")
    }
    guard case .word(let word) = token.kind else { return failure("this is left over") }
    let near = nearest(
      word.uppercased(),
      among: ["AND", "OR"] + Self.comparisonWords.subtracting(["MATCHES"]).sorted())
    return failure("\"\(shortened(word))\" is no operator\(didYouMean(near).map { "; \($0)" } ?? "")")
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

  mutating func expect(_ symbol: String, _ why: String, behind parsed: Parsed) throws {
    if takeSymbol(symbol) != nil { return }
    if case .word = token.kind, case .operand = parsed { throw leftOver(behind: parsed) }
    throw failure("\(symbol) is missing here, \(why)")
  }

  // MARK: Expressions

  /// Whatever binds at least as tightly as `level`.
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
      case .comparison: left = .condition(try comparison(try single(left, start), symbol, place))
      default: left = try calculation(left, symbol, next, start: start)
      }
    }
    return left
  }

  /// The operator that stands here.
  private func infix() -> (Level, String)? {
    switch token.kind {
    case .symbol(let symbol):
      switch symbol {
      case "||": return (.or, symbol)
      case "&&": return (.and, symbol)
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

  /// The comparisons that are words. MATCHES is read to be refused.
  static let comparisonWords = Set(ComparisonOperator.byWord.keys.filter { $0.allSatisfy(\.isLetter) })
    .union(["IN", "BETWEEN", "MATCHES"])

  private mutating func take(_ level: Level) -> Bool {
    guard let (next, _) = infix(), next == level else { return false }
    index += 1
    return true
  }

  /// A value, a path, something in brackets, or what begins with a word or sign of its own. The one door to what
  /// is nested, so the depth is counted here, for whatever it is.
  private mutating func prefix() throws -> Parsed {
    guard depth <= PredicateError.maximumDepth else {
      throw failure(
        "conditions, brackets, braces and signs are nested deeper than \(PredicateError.maximumDepth)")
    }
    depth += 1
    defer { depth -= 1 }
    let start = token.position
    if takeWord("NOT") != nil || takeSymbol("!") != nil {
      let inner = try condition(try expression(.comparison), at: token.position)
      if case .not(let twice) = inner { return .condition(twice) }
      return .condition(.not(inner))
    }
    if takeSymbol("(") != nil {
      let inner = try expression(.or)
      try expect(")", "for the bracket opened before", behind: inner)
      return inner
    }
    if takeSymbol("-") != nil {
      guard case .operand(let inner, let count) = try expression(.factor) else {
        throw failure("only a number has a sign", at: start)
      }
      return .operand(Self.negative(inner), count: count + 1)
    }
    if takeSymbol("{") != nil {
      return .list(try list())
    }
    if takeWord("TRUEPREDICATE") != nil { return .condition(.constant(true)) }
    if takeWord("FALSEPREDICATE") != nil { return .condition(.constant(false)) }
    if let word = takeWord("ANY", "SOME", "ALL", "NONE") { return .condition(try members(word, start)) }
    return try operand()
  }

  // MARK: What was read, as what is wanted

  func condition(_ parsed: Parsed, at place: Int) throws -> PredicateNode {
    switch parsed {
    case .condition(let node): return node
    // A lone path to a Bool, as in `NOT isHidden`; the compiler knows whether it is one.
    case .operand(.path(let path), _): return .truth(.path(path))
    case .operand:
      throw failure(
        "a comparison is missing here: = != < <= > >= IN BETWEEN CONTAINS BEGINSWITH ENDSWITH LIKE")
    case .list: throw failure("a list can only stand behind IN and BETWEEN", at: place)
    }
  }

  func single(_ parsed: Parsed, _ place: Int) throws -> PredicateOperand {
    switch parsed {
    case .operand(let operand, _): return operand
    case .list: throw failure("a list can only stand behind IN and BETWEEN", at: place)
    case .condition: throw failure("a condition cannot be compared or calculated with", at: place)
    }
  }
}
