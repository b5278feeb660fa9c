// The format language -> PredicateNode. OR binds loosest, then AND, NOT, comparisons, + and -, * and /.
// Comparisons are in FormatParser+Comparisons.

internal import CipherSQLite

extension PredicateNode {
  /// The tree of a predicate in the format language of `NSPredicate`.
  ///
  /// ```swift
  /// try PredicateNode(format: "user.name == %@ AND text LIKE[cd] '*watch*'", "Binger")
  /// ```
  ///
  /// Comparisons `= == != <> < <= > >=`, `BETWEEN {a, b}`, `IN {…}`, `BEGINSWITH ENDSWITH CONTAINS LIKE` with
  /// `[c] [d] [cd]`, `AND OR NOT` and `&& || !`, `ANY ALL NONE SOME`, `@count`, `nil`, `TRUE FALSE`,
  /// `TRUEPREDICATE`, `FALSEPREDICATE`, `SELF`, `+ - * /`, key paths, `%@`, `%K`, `%d %ld %f …`. Words may be
  /// in either case.
  /// - Throws: ``StoreError/predicate(_:)`` with the position in the text for anything else, and for too
  ///   few or too many arguments.
  public init(format: String, _ arguments: Any?...) throws {
    try self.init(format: format, arguments: arguments)
  }

  /// The same with the arguments in an array.
  public init(format: String, arguments: [Any?]) throws {
    guard arguments.count <= PredicateError.maximumArguments else {
      throw StoreError.predicate(
        PredicateError(
          "\(arguments.count) arguments are given; \(PredicateError.maximumArguments) are possible"))
    }
    var parser = FormatParser(
      format: format, tokens: try FormatLexer.tokens(of: format),
      arguments: try arguments.enumerated().map { try PredicateArgument($0.element, number: $0.offset + 1) })
    self = try parser.predicate()
  }
}

struct FormatParser {
  let format: String
  let tokens: [FormatToken]
  let arguments: [PredicateArgument]
  var index = 0
  var argumentIndex = 0
  private var depth = 0

  init(format: String, tokens: [FormatToken], arguments: [PredicateArgument]) {
    self.format = format
    self.tokens = tokens
    self.arguments = arguments
  }

  var token: FormatToken { tokens[min(index, tokens.count - 1)] }

  mutating func predicate() throws -> PredicateNode {
    if token.kind == .end { throw failure("the format is empty; TRUEPREDICATE finds everything") }
    let node = try disjunction()
    guard token.kind == .end else { throw failure("this is left over; AND or OR is missing before it") }
    guard argumentIndex == arguments.count else {
      throw failure("\(arguments.count) arguments are given, and \(argumentIndex) placeholders are here")
    }
    return node
  }

  func failure(_ reason: String, at position: Int? = nil) -> StoreError {
    .predicate(PredicateError(reason, format: format, position: position ?? token.position))
  }

  // MARK: Words

  func isWord(_ words: String...) -> Bool {
    guard case .word(let word) = token.kind else { return false }
    return words.contains(word.uppercased())
  }

  mutating func takeWord(_ words: String...) -> String? {
    guard case .word(let word) = token.kind, words.contains(word.uppercased()) else { return nil }
    index += 1
    return word.uppercased()
  }

  mutating func takeSymbol(_ symbols: String...) -> String? {
    guard case .symbol(let symbol) = token.kind, symbols.contains(symbol) else { return nil }
    index += 1
    return symbol
  }

  mutating func expect(_ symbol: String, _ why: String) throws {
    guard takeSymbol(symbol) != nil else { throw failure("\(symbol) is missing here, \(why)") }
  }

  // MARK: Logic

  private mutating func disjunction() throws -> PredicateNode {
    depth += 1
    defer { depth -= 1 }
    guard depth <= PredicateError.maximumDepth else {
      throw failure("brackets are nested deeper than \(PredicateError.maximumDepth)")
    }
    var parts = [try conjunction()]
    while takeWord("OR") != nil || takeSymbol("||") != nil { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func conjunction() throws -> PredicateNode {
    var parts = [try negation()]
    while takeWord("AND") != nil || takeSymbol("&&") != nil { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func negation() throws -> PredicateNode {
    guard takeWord("NOT") != nil || takeSymbol("!") != nil else { return try primary() }
    depth += 1
    defer { depth -= 1 }
    guard depth <= PredicateError.maximumDepth else {
      throw failure("negations are nested deeper than \(PredicateError.maximumDepth)")
    }
    return .not(try negation())
  }

  private mutating func primary() throws -> PredicateNode {
    if takeWord("TRUEPREDICATE") != nil { return .constant(true) }
    if takeWord("FALSEPREDICATE") != nil { return .constant(false) }
    if case .symbol("(") = token.kind {
      // A bracket opens a condition or a calculation: what follows its end decides.
      let (start, used) = (index, argumentIndex)
      index += 1
      if let node = try? disjunction(), takeSymbol(")") != nil, !continuesCalculation { return node }
      let (failed, failedArgument) = (index, argumentIndex)
      (index, argumentIndex) = (start, used)
      do { return try comparison() } catch {
        // The reading that came further has the better message.
        if failed > index {
          (index, argumentIndex) = (start + 1, used)
          _ = try disjunction()
          try expect(")", "for the bracket opened before")
        }
        (index, argumentIndex) = (failed, failedArgument)
        throw error
      }
    }
    return try comparison()
  }

  private var continuesCalculation: Bool {
    if case .symbol(let symbol) = token.kind {
      return ["+", "-", "*", "/", "=", "==", "!=", "<>", "<", "<=", ">", ">=", "=<", "=>"].contains(symbol)
    }
    return isWord("BETWEEN", "IN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES")
  }
}
