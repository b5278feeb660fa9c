// Names, values, lists and calculations of the format language.

internal import CipherSQLite

extension FormatParser {
  /// Reads the rest of a calculation `+ - * / %%` after its left side and operator.
  mutating func calculation(_ left: Parsed, _ symbol: String, level: Level, start: Int) throws -> Parsed {
    let place = token.position
    let right = try expression(level == .sum ? .product : .power)
    let (a, b) = (try single(left, start), try single(right, place))
    guard case .operand(_, let first) = left, case .operand(_, let second) = right,
      let operation = ArithmeticOperator(word: symbol)
    else { throw failure("a calculation is not possible here", at: place) }
    guard first + second <= PredicateError.maximumOperands else {
      throw failure(Self.operandsReason, at: place)
    }
    return .operand(.arithmetic(a, operation, b), count: first + second)
  }

  static func negative(_ operand: PredicateOperand) -> PredicateOperand {
    if case .value(var value) = operand {
      switch value.stored {
      case .integer(let number) where value.entity == nil:
        let (negative, overflows) = Int64(0).subtractingReportingOverflow(number)
        if overflows { return .value(.null) }
        value.stored = .integer(negative)
        value.type = .int
        return .value(value)
      case .real(let number):
        value.stored = .real(-number)
        return .value(value)
      case .text(let text) where value.type == .decimal:
        value.stored = .text(text.hasPrefix("-") ? String(text.dropFirst()) : "-" + text)
        return .value(value)
      default: break
      }
    }
    return .arithmetic(.value(PredicateValue(type: .int, stored: .integer(0))), .subtract, operand)
  }

  mutating func operand() throws -> Parsed {
    let current = token
    index += 1
    switch current.kind {
    case .integer(let value): return constant(.int, .integer(value), at: current.position)
    case .real(let value): return constant(.double, .real(value), at: current.position)
    case .decimal(let digits): return constant(.decimal, .text(digits), at: current.position)
    case .string(let value): return constant(.string, .text(value), at: current.position)
    case .placeholder(let letters): return try argument(letters, current.position)
    case .name(let name): return try path([name], current.position)
    case .word(let word): return try wordOperand(word, current.position)
    case .symbol, .end:
      index -= 1
      throw failure("a property, a value or a placeholder is missing here")
    }
  }

  func constant(_ type: AttributeType?, _ stored: SQLValue, at place: Int) -> Parsed {
    constant(PredicateValue(type: type, stored: stored), at: place)
  }

  func constant(_ value: PredicateValue, at place: Int) -> Parsed {
    var value = value
    value.place = place
    return .operand(.value(value), count: 1)
  }

  private mutating func wordOperand(_ word: String, _ place: Int) throws -> Parsed {
    let upper = word.utf8.count < 20 ? word.uppercased() : word
    guard !word.contains(":") else {
      throw failure("( is missing after \(shortened(word))", at: place)
    }
    switch upper {
    case "NIL", "NULL": return constant(nil, .null, at: place)
    case "TRUE", "YES": return constant(PredicateValue.boolean(true), at: place)
    case "FALSE", "NO": return constant(PredicateValue.boolean(false), at: place)
    case "AND", "OR",
      _ where Self.comparisonWords.contains(upper):
      throw failure(
        "a property or a value is missing before \(upper); a property of this name is #\(word)", at: place)
    default: break
    }
    if word.hasPrefix("$") { return try variable(String(word.dropFirst()), place) }
    guard !word.hasPrefix("@") else {
      throw failure("\(shortened(word)) must follow a to-many, as in tags.@count", at: place)
    }
    return try path(upper == "SELF" ? [] : [word], place)
  }

  /// Returns a variable, or its value if values are given.
  private mutating func variable(_ name: String, _ place: Int) throws -> Parsed {
    if let element = elements.last(where: { $0.name == name }) {
      return try path([], depth: element.depth, place)
    }
    guard Schema.isIdentifier(name) else {
      throw failure("$ must be followed by the name of a variable, which begins with a letter", at: place)
    }
    guard let variables else { return .operand(.variable(name), count: 1) }
    guard let argument = variables[name] else {
      let hint = didYouMean(nearest(name, among: variables.keys.sorted()))
      throw failure(
        "the variable $\(shortened(name)) has no value\(hint.map { "; \($0)" } ?? "")", at: place)
    }
    return parsed(argument.content, place)
  }

  /// Returns the value of a `%@` or a variable as an operand or a list.
  private func parsed(_ content: PredicateArgument.Content, _ place: Int) -> Parsed {
    switch content {
    case .value(let value): return constant(value, at: place)
    case .text(let text): return constant(.string, .text(text), at: place)
    case .list(let list):
      return .list(
        list.map { element in
          var element = element
          element.place = place
          return .value(element)
        })
    }
  }

  /// Reads the elements of a list after its opening brace.
  mutating func list() throws -> [PredicateOperand] {
    var elements: [PredicateOperand] = []
    if takeSymbol("}") != nil { return [] }
    repeat {
      let place = token.position
      elements.append(try single(try expression(.sum), place))
    } while takeSymbol(",") != nil
    guard takeSymbol("}") != nil else { throw failure("} is missing here, at the end of the list") }
    return elements
  }

  private mutating func argument(_ letters: String, _ place: Int) throws -> Parsed {
    guard argumentIndex < arguments.count else {
      throw failure(
        "there is no argument for this placeholder (number of arguments: \(arguments.count))", at: place)
    }
    let content = arguments[argumentIndex].content
    argumentIndex += 1
    switch (letters, content) {
    case ("@", _): return parsed(content, place)
    case ("K", .text(let text)):
      let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      let functions = names.map { CollectionFunction.byPathWord[$0.lowercased()] }
      guard zip(names, functions).allSatisfy({ Schema.isIdentifier($0) || $1 != nil }),
        functions.count(where: { $0 != nil }) < 2
      else {
        throw failure("\"\(shortened(text))\" is not a key path, which %K needs", at: place)
      }
      if let operation = functions.firstIndex(where: { $0 != nil }), let function = functions[operation] {
        let path = PropertyPath(Array(names[..<operation]), place: place)
        return aggregate(function, of: Collection(path: path, value: Array(names[(operation + 1)...])))
      }
      return try path(names.first?.uppercased() == "SELF" ? Array(names.dropFirst()) : names, place)
    case ("K", _): throw failure("%K takes a key path as a String", at: place)
    case (_, .value(let value)):
      let takesInteger = !["f", "g", "e", "lf"].contains(letters)
      guard value.type?.isNumeric == true, !takesInteger || value.type?.isInteger == true else {
        throw failure("%\(letters) takes \(takesInteger ? "an integer" : "a number")", at: place)
      }
      return constant(value, at: place)
    default: throw failure("%\(letters) takes a number", at: place)
    }
  }
}
