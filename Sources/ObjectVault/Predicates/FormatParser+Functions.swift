// Functions of the format language, with TERNARY and CAST.

internal import CipherSQLite

extension FormatParser {
  /// Reads the rest of a function call after its name and parenthesis.
  mutating func call(_ word: String, _ place: Int) throws -> Parsed {
    // A call counts as one more level, because it needs more of the stack than parentheses.
    depth += 1
    defer { depth -= 1 }
    switch word.lowercased() {
    case "subquery": return try subquery(place)
    case "ternary": return try ternary()
    case "cast": return try cast()
    case "now", "now:":
      guard takeSymbol(")") != nil else { throw failure("now() has no operands, and ) is missing here") }
      return constant(.now, at: place)
    case "function":
      throw failure(
        "FUNCTION calls a method of an object, which a store's rows do not have; write the name of the function, "
          + "as in abs(year)", at: place)
    case "random", "random:", "randomn", "randomn:":
      throw failure(
        "\(word) cannot be used in a store's predicate: each evaluation of a row would have another result; pass a "
          + "random number with %@", at: place)
    default: return try function(word, place)
    }
  }

  private mutating func function(_ word: String, _ place: Int) throws -> Parsed {
    let name = word.lowercased()
    if let function = CollectionFunction.byWord[name.hasSuffix(":") ? String(name.dropLast()) : name] {
      return try collection(function, named: word, at: place)
    }
    let (operation, function) = (ArithmeticOperator(selector: word), PredicateFunction(word: word))
    guard operation != nil || function != nil else {
      throw failure(Self.unknownFunction(word), at: place)
    }
    let wanted = function?.entry.parameters.count ?? 2
    let (arguments, total) = try operands(of: word, after: nil)
    guard arguments.count == wanted else {
      throw failure("\(word) takes \(counted(wanted, "operand"))", at: place)
    }
    if let operation { return .operand(.arithmetic(arguments[0], operation, arguments[1]), count: total) }
    return function.map { .operand(.call($0, arguments), count: total) }
      ?? .operand(.value(.null), count: total)
  }

  private static func unknownFunction(_ word: String) -> String {
    let known =
      PredicateFunction.allCases.map(\.word) + CollectionFunction.allCases.map(\.rawValue)
      + ArithmeticOperator.allCases.map(\.entry.selector) + ["now"]
    return
      "\(shortened(word)) is not a predicate function (these are \(known.joined(separator: ", "))); pass its "
      + "value with %@"
  }

  /// Reads the operands of a call up to its closing parenthesis, and returns them with the number of
  /// operands that the result is calculated from.
  /// - Parameters:
  ///   - word: The name of the function.
  ///   - first: The first operand, if it was read already.
  private mutating func operands(
    of word: String, after first: Parsed?
  ) throws -> (operands: [PredicateOperand], count: Int) {
    var (result, total, first) = ([PredicateOperand](), 1, first)
    repeat {
      let start = token.position
      let parsed = try first ?? expression(.sum)
      first = nil
      result.append(try single(parsed, start))
      total += parsed.count
      guard total <= PredicateError.maximumOperands else {
        throw failure(Self.operandsReason, at: start)
      }
    } while takeSymbol(",") != nil
    try close(word)
    return (result, total)
  }

  mutating func close(_ word: String) throws {
    guard takeSymbol(")") != nil else { throw failure(") is missing here, to close \(word)(") }
  }

  private mutating func comma(_ word: String) throws {
    guard takeSymbol(",") != nil else { throw failure(", is missing here, between the operands of \(word)") }
  }

  /// Reads the operands of `sum` and the like: a list, several operands, or one to-many.
  private mutating func collection(_ function: CollectionFunction, named word: String, at place: Int) throws
    -> Parsed
  {
    let first = try expression(.sum)
    if takeSymbol(")") != nil {
      switch first {
      case .list(let elements): return .operand(.list(function, elements), count: elements.count + 1)
      case .collection(let collection): return aggregate(function, of: collection)
      case .operand(.path(let path), _): return aggregate(function, of: Collection(path: path))
      case .operand(let operand, let count): return .operand(.list(function, [operand]), count: count + 1)
      case .condition: throw failure("a condition cannot be calculated with", at: place)
      }
    }
    let (operands, count) = try self.operands(of: word, after: first)
    return .operand(.list(function, operands), count: count)
  }

  private mutating func ternary() throws -> Parsed {
    let start = token.position
    let test = try condition(try expression(.or), at: start)
    try comma("TERNARY")
    let place = token.position
    let first = try expression(.or)
    try comma("TERNARY")
    let other = token.position
    let second = try expression(.or)
    try close("TERNARY")
    switch (first, second) {
    case (.condition, _), (_, .condition):
      let (a, b) = (try condition(first, at: place), try condition(second, at: other))
      return .condition(.either(a, if: test, else: b))
    default:
      return .operand(
        .conditional(test, try single(first, place), try single(second, other)),
        count: first.count + second.count + 1)
    }
  }

  /// Reads `CAST(operand, 'Type')` after its parenthesis. The type is one of ``AttributeType/castTypes``, by
  /// the name of the Swift type or of Foundation's class, or a child entity.
  private mutating func cast() throws -> Parsed {
    let start = token.position
    let parsed = try expression(.sum)
    let operand = try single(parsed, start)
    try comma("CAST")
    guard case .string(let name) = token.kind else {
      throw failure(
        "the second operand of CAST is the name of a type or of an entity in quotes, as in 'Date'")
    }
    index += 1
    let place = tokens[index - 1].position
    try close("CAST")
    if let type = Self.castTypes[name.lowercased()] {
      guard case .operand(_, let count) = parsed else { return parsed }
      return .operand(.cast(operand, type), count: count + 1)
    }
    guard Schema.isIdentifier(name), case .path(let path) = operand else {
      throw failure(
        "\"\(shortened(name))\" is no type that CAST converts to; these are String, Int, Double, Decimal, Date and Bool, "
          + "and for an object the names of child entities", at: place)
    }
    return try self.path(path.names + [PathStep.cast(name).name], depth: path.depth, start)
  }

  private static let castTypes: [String: AttributeType] = {
    let names: [AttributeType: [String]] = [
      .string: ["string", "nsstring"], .int: ["int", "int64", "integer"],
      .double: ["double", "float", "nsnumber"], .decimal: ["decimal", "nsdecimalnumber"],
      .date: ["date", "nsdate"], .bool: ["bool", "boolean"],
    ]
    return Dictionary(uniqueKeysWithValues: names.flatMap { type, names in names.map { ($0, type) } })
  }()
}
