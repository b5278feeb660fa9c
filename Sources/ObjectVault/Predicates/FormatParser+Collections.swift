// Key paths of the format language, with the operators of to-manys; SUBQUERY.

internal import CipherSQLite

extension FormatParser {
  /// Reads the rest of a key path after its first names.
  mutating func path(_ first: [String], depth: Int = 0, _ place: Int) throws -> Parsed {
    try rest(of: Collection(path: PropertyPath(depth: depth, first, place: place)))
  }

  /// Reads the names, indexes and operators that follow a path or a SUBQUERY.
  private mutating func rest(of collection: Collection) throws -> Parsed {
    var collection = collection
    while true {
      if takeSymbol("[") != nil {
        if try element(of: &collection) { continue }
        return .operand(.count(collection.path), count: 1)
      }
      guard takeSymbol(".") != nil else { break }
      let (name, place) = (try pathName(), tokens[index - 1].position)
      guard name.hasPrefix("@") else {
        // The condition of a SUBQUERY begins at the members, whatever value follows.
        if collection.condition == nil {
          collection.path.names.append(name)
        } else {
          collection.value.append(name)
        }
        continue
      }
      switch name.lowercased() {
      case "@distinctunionofobjects": collection.isDistinct = true
      case "@unionofobjects": break
      case let word:
        guard let function = CollectionFunction.byPathWord[word] else {
          throw failure(Self.unknownOperator(name), at: place)
        }
        return try aggregate(function, ofRestOf: collection)
      }
    }
    return collection.isDistinct || collection.condition != nil
      ? .collection(collection) : .operand(.path(collection.path), count: 1)
  }

  private mutating func pathName() throws -> String {
    guard case .word(let name) = token.kind else {
      guard case .name(let name) = token.kind else {
        throw failure("the name of a property must follow the dot")
      }
      index += 1
      return name
    }
    index += 1
    return name
  }

  private static func unknownOperator(_ name: String) -> String {
    let known = CollectionFunction.allCases.compactMap(\.entry.pathWord)
    let flat = name.lowercased().hasSuffix("ofarrays") || name.lowercased().hasSuffix("ofsets")
    return "\(shortened(name)) cannot be used in a store's predicate; "
      + (flat
        ? "a path through several to-manys has the members of all of them already"
        : "these can: \((known + ["@distinctUnionOfObjects", "@unionOfObjects"]).joined(separator: ", "))")
  }

  /// Reads what follows `@sum` and the like, which belongs to the path of the values: `books.@sum.year`.
  private mutating func aggregate(
    _ function: CollectionFunction, ofRestOf collection: Collection
  ) throws -> Parsed {
    var collection = collection
    while takeSymbol(".") != nil {
      let name = try pathName()
      guard !name.hasPrefix("@") else {
        throw failure("\(shortened(name)) cannot follow another operator", at: tokens[index - 1].position)
      }
      if name.lowercased() == "self" { continue }
      collection.value.append(name)
    }
    return aggregate(function, of: collection)
  }

  func aggregate(_ function: CollectionFunction, of collection: Collection) -> Parsed {
    if function == .count, !collection.isDistinct, collection.condition == nil, collection.value.isEmpty {
      return .operand(.count(collection.path), count: 1)
    }
    return .operand(
      .aggregate(
        MemberAggregate(
          function, of: collection.path, value: collection.value, isDistinct: collection.isDistinct,
          where: collection.condition ?? .constant(true))),
      count: 1)
  }

  /// Reads an index after its bracket, and adds it to the path.
  /// - Returns: False for `[SIZE]`, which is the number of members.
  private mutating func element(of collection: inout Collection) throws -> Bool {
    let place = token.position
    guard collection.condition == nil, let name = collection.path.names.last else {
      throw failure("an index must follow the name of an ordered to-many", at: place)
    }
    guard case .property = PathStep(name), !name.hasPrefix("["), !isString(token) else {
      guard let element = try elementOfJSON(at: place) else { return false }
      collection.path.names.append(element)
      return true
    }
    let step: PathStep?
    switch token.kind {
    case .integer(let number): step = Int(exactly: number).map { .element(name, index: .number($0)) }
    case .word(let word):
      switch word.uppercased() {
      case "FIRST": step = .element(name, index: .number(0))
      case "LAST": step = .element(name, index: .last)
      case "SIZE": step = .property(name)
      default: step = nil
      }
    default: step = nil
    }
    guard let step else {
      throw failure("an index is FIRST, LAST, SIZE or a number that counts from 0", at: place)
    }
    index += 1
    guard takeSymbol("]") != nil else { throw failure("] is missing here, after the index") }
    collection.path.names[collection.path.names.count - 1] = step.name
    return step != .property(name)
  }

  private func isString(_ token: FormatToken) -> Bool {
    if case .string = token.kind { true } else { false }
  }

  /// Reads an index of an index, or a key in quotes, after its bracket: these are only possible in JSON.
  /// - Returns: The name; nil for `[SIZE]`, which is the number of elements.
  private mutating func elementOfJSON(at place: Int) throws -> String? {
    let name: String?
    switch token.kind {
    case .string(let key): name = JSONPath.name(ofKey: key)
    case .integer(let number): name = "[\(number)]"
    case .word(let word) where word.uppercased() == "SIZE": name = nil
    case .word(let word) where ["FIRST", "LAST"].contains(word.uppercased()):
      name = word.uppercased() == "FIRST" ? "[0]" : "[last]"
    default:
      throw failure(
        "a second index is FIRST, LAST, SIZE, a number that counts from 0, or a key in quotes", at: place)
    }
    index += 1
    guard takeSymbol("]") != nil else { throw failure("] is missing here, after the index") }
    return name
  }

  /// Reads `SUBQUERY(path, $x, condition)` after its parenthesis, and what follows it.
  mutating func subquery(_ place: Int) throws -> Parsed {
    let start = token.position
    let path: PropertyPath
    switch try expression(.factor) {
    case .operand(.path(let found), _): path = found
    case .operand, .list, .condition, .collection:
      throw failure("the first operand of SUBQUERY is the path of a to-many", at: start)
    }
    guard takeSymbol(",") != nil, case .word(let word) = token.kind, word.hasPrefix("$"),
      Schema.isIdentifier(String(word.dropFirst()))
    else { throw failure("the second operand of SUBQUERY is a variable, as in $x") }
    index += 1
    guard takeSymbol(",") != nil else { throw failure(", is missing here, before the condition of SUBQUERY") }
    memberDepth += 1
    elements.append((String(word.dropFirst()), memberDepth))
    let first = token.position
    let test = try condition(try expression(.or), at: first)
    elements.removeLast()
    memberDepth -= 1
    try close("SUBQUERY")
    return try rest(of: Collection(path: path, condition: test))
  }
}
