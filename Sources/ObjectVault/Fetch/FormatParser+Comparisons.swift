// Comparisons and operands of the format language.

internal import CipherSQLite

extension FormatParser {
  mutating func comparison() throws -> PredicateNode {
    let start = token.position
    let quantifier: Quantifier? =
      switch takeWord("ANY", "SOME", "ALL", "NONE") {
      case "ANY", "SOME": .any
      case "ALL": .all
      case "NONE": Quantifier.none
      default: nil
      }
    if isWord("SUBQUERY", "FUNCTION", "CAST", "MATCHES") {
      throw failure("this word of the format language cannot be used in a store's predicate")
    }
    let left = try operand()
    guard let quantifier else { return try comparison(left) }
    guard case .operand(.path(let path)) = left else {
      throw failure("behind ANY, ALL and NONE belongs the path of a to-many", at: start)
    }
    // The compiler knows which names are relationships: what is left behind the last to-many is the
    // member's own path.
    let member = Operand.operand(.path(PropertyPath(depth: 1, [])))
    let inner = try comparison(member)
    return .quantified(quantifier, path, inner)
  }

  /// One side of a comparison, or a list of them.
  enum Operand {
    case operand(PredicateOperand)
    case list([PredicateOperand])
  }

  private mutating func comparison(_ left: Operand) throws -> PredicateNode {
    let position = token.position
    if let symbol = takeSymbol("=", "==", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>") {
      let options = try stringOptions()
      return .comparison(
        try single(left, position), Self.comparison(symbol), try single(try operand(), position), options)
    }
    switch takeWord("BETWEEN", "IN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES") {
    case "BETWEEN":
      guard case .list(let bounds) = try operand(), bounds.count == 2 else {
        throw failure("BETWEEN takes two bounds, as in BETWEEN {1, 10}", at: position)
      }
      return .between(try single(left, position), bounds[0], bounds[1])
    case "IN":
      let options = try stringOptions()
      return try isIn(left, try operand(), options, position)
    case "CONTAINS": return try strings(left, .contains, position)
    case "BEGINSWITH": return try strings(left, .beginsWith, position)
    case "ENDSWITH": return try strings(left, .endsWith, position)
    case "LIKE": return try strings(left, .like, position)
    case "MATCHES": throw failure("MATCHES cannot be used in a store's predicate; use LIKE", at: position)
    default:
      guard case .operand(let operand) = left else { throw failure("a comparison is missing behind this") }
      // A lone path to a Bool, as in `NOT isHidden`.
      if case .path = operand { return .comparison(operand, .equal, .value(Lowering.boolean(true)), []) }
      throw failure(
        "a comparison is missing here: = != < <= > >= IN BETWEEN CONTAINS BEGINSWITH ENDSWITH LIKE")
    }
  }

  private func single(_ operand: Operand, _ position: Int) throws -> PredicateOperand {
    guard case .operand(let single) = operand else {
      throw failure("a list can only stand behind IN and BETWEEN", at: position)
    }
    return single
  }

  private mutating func isIn(
    _ left: Operand, _ right: Operand, _ options: StringOptions, _ position: Int
  ) throws -> PredicateNode {
    let element = try single(left, position)
    switch right {
    case .list(let list): return .isIn(element, list, options)
    case .operand(.path(let path)):
      // `%@ IN tags`: the members of a to-many.
      if case .value(let value) = element, value.type != .string {
        return .quantified(.any, path, .comparison(.path(PropertyPath(depth: 1, [])), .equal, element, []))
      }
      return contained(element, in: .path(path), options)
    case .operand(let other): return contained(element, in: other, options)
    }
  }

  private mutating func strings(
    _ left: Operand, _ comparison: ComparisonOperator, _ position: Int
  ) throws -> PredicateNode {
    let options = try stringOptions()
    let (a, b) = (try single(left, position), try single(try operand(), position))
    if comparison == .contains, case .path(let path) = a, case .value(let value) = b, value.type == .int {
      // `tags CONTAINS %@` with an object.
      return .quantified(.any, path, .comparison(.path(PropertyPath(depth: 1, [])), .equal, b, []))
    }
    return comparison == .like
      ? .comparison(a, comparison, b, options) : nonEmpty(b, .comparison(a, comparison, b, options))
  }

  private func contained(
    _ element: PredicateOperand, in other: PredicateOperand, _ options: StringOptions
  ) -> PredicateNode {
    nonEmpty(element, .comparison(other, .contains, element, options))
  }

  /// In the format language an empty right side matches nothing, as `NSPredicate` has it.
  private func nonEmpty(_ operand: PredicateOperand, _ node: PredicateNode) -> PredicateNode {
    let empty = PredicateOperand.value(PredicateValue(type: .string, stored: .text("")))
    if case .value(let value) = operand { return value.stored == .text("") ? .constant(false) : node }
    return .and([node, .comparison(operand, .notEqual, empty, [])])
  }

  private mutating func stringOptions() throws -> StringOptions {
    guard takeSymbol("[") != nil else { return [] }
    guard case .word(let letters) = token.kind else { throw failure("[c], [d] or [cd] belongs here") }
    var options: StringOptions = []
    for letter in letters.lowercased() {
      switch letter {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      default: throw failure("[\(letters)] is unknown; [c], [d] or [cd] belongs here")
      }
    }
    index += 1
    try expect("]", "behind [\(letters)")
    return options
  }

  private static func comparison(_ symbol: String) -> ComparisonOperator {
    switch symbol {
    case "!=", "<>": .notEqual
    case "<": .less
    case "<=", "=<": .lessOrEqual
    case ">": .greater
    case ">=", "=>": .greaterOrEqual
    default: .equal
    }
  }

  // MARK: Operands

  mutating func operand() throws -> Operand {
    var left = try product()
    while let symbol = takeSymbol("+", "-"), let operation = ArithmeticOperator(rawValue: symbol) {
      left = .operand(
        .arithmetic(try single(left, token.position), operation, try single(try product(), token.position)))
    }
    return left
  }

  private mutating func product() throws -> Operand {
    var left = try factor()
    while let symbol = takeSymbol("*", "/"), let operation = ArithmeticOperator(rawValue: symbol) {
      left = .operand(
        .arithmetic(try single(left, token.position), operation, try single(try factor(), token.position)))
    }
    return left
  }

  private mutating func factor() throws -> Operand {
    let current = token
    index += 1
    switch current.kind {
    case .integer(let value): return .operand(.value(PredicateValue(type: .int, stored: .integer(value))))
    case .real(let value): return .operand(.value(PredicateValue(type: .double, stored: .real(value))))
    case .string(let value): return .operand(.value(PredicateValue(type: .string, stored: .text(value))))
    case .placeholder(let letters): return try argument(letters, current.position)
    case .symbol("{"): return .list(try list())
    case .symbol("("):
      let inner = try operand()
      try expect(")", "for the bracket opened before")
      return inner
    case .symbol("-"):
      guard case .operand(let inner) = try factor() else {
        throw failure("a list has no sign", at: current.position)
      }
      return .operand(Self.negative(inner))
    case .word(let word): return try wordOperand(word, current.position)
    case .symbol, .end:
      index -= 1
      throw failure("a property, a value or a placeholder is missing here")
    }
  }

  private static func negative(_ operand: PredicateOperand) -> PredicateOperand {
    if case .value(let value) = operand {
      switch value.stored {
      case .integer(let number): return .value(PredicateValue(type: .int, stored: .integer(-number)))
      case .real(let number): return .value(PredicateValue(type: .double, stored: .real(-number)))
      default: break
      }
    }
    return .arithmetic(.value(PredicateValue(type: .int, stored: .integer(0))), .subtract, operand)
  }

  private mutating func wordOperand(_ word: String, _ position: Int) throws -> Operand {
    switch word.uppercased() {
    case "NIL", "NULL": return .operand(.value(.null))
    case "TRUE", "YES": return .operand(.value(Lowering.boolean(true)))
    case "FALSE", "NO": return .operand(.value(Lowering.boolean(false)))
    default: break
    }
    guard !word.hasPrefix("$") else { throw failure("variables cannot be used here; use %@", at: position) }
    guard !word.hasPrefix("@") else {
      throw failure("\(word) belongs behind a to-many, as in tags.@count", at: position)
    }
    return try path(word.uppercased() == "SELF" ? [] : [word])
  }

  /// The rest of a key path whose first names are known.
  private mutating func path(_ first: [String]) throws -> Operand {
    var names = first
    while takeSymbol(".") != nil {
      guard case .word(let name) = token.kind else {
        throw failure("a property's name belongs behind the dot")
      }
      index += 1
      if name.lowercased() == "@count" { return .operand(.count(PropertyPath(names))) }
      guard !name.hasPrefix("@") else {
        throw failure(
          "\(name) cannot be used in a store's predicate; @count can", at: tokens[index - 1].position)
      }
      names.append(name)
    }
    return .operand(.path(PropertyPath(names)))
  }

  private mutating func list() throws -> [PredicateOperand] {
    var elements: [PredicateOperand] = []
    if takeSymbol("}") != nil { return [] }
    repeat { elements.append(try single(try operand(), token.position)) } while takeSymbol(",") != nil
    try expect("}", "at the end of the list")
    return elements
  }

  private mutating func argument(_ letters: String, _ position: Int) throws -> Operand {
    guard argumentIndex < arguments.count else {
      throw failure("there is no argument for this placeholder; \(arguments.count) are given", at: position)
    }
    let content = arguments[argumentIndex].content
    argumentIndex += 1
    switch (letters, content) {
    case ("@", .value(let value)): return .operand(.value(value))
    case ("@", .text(let text)):
      return .operand(.value(PredicateValue(type: .string, stored: .text(text))))
    case ("@", .list(let list)): return .list(list.map { .value($0) })
    case ("K", .text(let text)):
      let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      guard names.allSatisfy({ Schema.isIdentifier($0) || $0 == "@count" }) else {
        throw failure("\"\(text.prefix(60))\" is no key path, which %K takes", at: position)
      }
      if names.last == "@count" { return .operand(.count(PropertyPath(names.dropLast()))) }
      return try path(names.first?.uppercased() == "SELF" ? Array(names.dropFirst()) : names)
    case ("K", _): throw failure("%K takes a key path as a String", at: position)
    case (_, .value(let value)):
      let takesInteger = !["f", "g", "e", "lf"].contains(letters)
      guard value.type?.isNumeric == true, !takesInteger || value.type?.isInteger == true else {
        throw failure("%\(letters) takes \(takesInteger ? "an integer" : "a number")", at: position)
      }
      return .operand(.value(value))
    default: throw failure("%\(letters) takes a number", at: position)
    }
  }
}
