// Comparisons of the format language.

internal import CipherSQLite

extension FormatParser {
  /// Reads the rest of `ANY path comparison` and the like. The node gets the whole path. The compiler,
  /// which has the model, splits it after the last to-many; the rest of the path begins at the member.
  mutating func members(_ word: String, _ start: Int) throws -> PredicateNode {
    let quantifier: Quantifier = word == "ALL" ? .all : word == "NONE" ? .none : .any
    guard case .operand(.path(let path), _) = try expression(.factor) else {
      throw failure("ANY, ALL and NONE need the path of a to-many", at: start)
    }
    let member = PredicateOperand.path(PropertyPath(depth: 1, [], place: path.place))
    let place = token.position
    switch token.kind {
    case .symbol(let symbol) where ArithmeticOperator(word: symbol) != nil:
      throw failure("ANY, ALL and NONE need the path of a to-many, not a calculation", at: start)
    case .symbol(let symbol) where ComparisonOperator.byWord[symbol] != nil:
      index += 1
      return .quantified(quantifier, path, try comparison(member, symbol, at: place))
    default:
      if case .word(let written) = token.kind, case let word = written.uppercased(),
        Self.comparisonWords.contains(word)
      {
        index += 1
        return .quantified(quantifier, path, try comparison(member, word, at: place))
      }
      return .quantified(quantifier, path, .truth(member))
    }
  }

  /// Reads the rest of a comparison after its operator.
  mutating func comparison(_ left: PredicateOperand, _ symbol: String, at place: Int) throws -> PredicateNode
  {
    if symbol == "MATCHES" {
      throw failure("MATCHES cannot be used in a store's predicate; use LIKE", at: place)
    }
    if symbol == "BETWEEN" {
      guard case .list(let bounds) = try expression(.sum), bounds.count == 2 else {
        throw failure("BETWEEN takes two bounds, as in BETWEEN {1, 10}", at: place)
      }
      return .between(left, bounds[0], bounds[1])
    }
    let options = try stringOptions()
    let start = token.position
    let right = try expression(.sum)
    if symbol == "IN" { return try isIn(left, right, options: options, at: start) }
    let other = try single(right, start)
    guard let comparison = ComparisonOperator.byWord[symbol] else {
      throw failure("\(shortened(symbol)) is not a comparison", at: place)
    }
    switch comparison {
    case .contains: return contains(left, part: other, options: options)
    case .beginsWith, .endsWith:
      return nonEmpty(other, options: options, and: .comparison(left, comparison, other, options))
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .like:
      return .comparison(left, comparison, other, options)
    }
  }

  private func isIn(
    _ element: PredicateOperand, _ right: Parsed, options: StringOptions, at place: Int
  ) throws -> PredicateNode {
    if case .list(let list) = right { return .isIn(element, list, options) }
    let other = try single(right, place)
    // `name IN $names`: the values are given later.
    if case .variable = other { return .isIn(element, [other], options) }
    // `%@ IN tags`: a test of the members of a to-many.
    if case .path(let path) = other, case .value(let value) = element, value.type == .int {
      return .quantified(.any, path, member(path, is: element))
    }
    return nonEmpty(element, options: options, and: .comparison(other, .contains, element, options))
  }

  private func contains(
    _ left: PredicateOperand, part right: PredicateOperand, options: StringOptions
  ) -> PredicateNode {
    // `tags CONTAINS %@` with an object.
    if case .path(let path) = left, case .value(let value) = right, value.type == .int {
      return .quantified(.any, path, member(path, is: right))
    }
    return nonEmpty(right, options: options, and: .comparison(left, .contains, right, options))
  }

  private func member(_ path: PropertyPath, is element: PredicateOperand) -> PredicateNode {
    .comparison(.path(PropertyPath(depth: 1, [], place: path.place)), .equal, element, [])
  }

  /// Returns the node, made false for an empty operand: in the format language, a search for the empty
  /// string finds nothing, as in `NSPredicate`. With `[d]`, a string of combining marks alone counts as
  /// empty.
  private func nonEmpty(
    _ operand: PredicateOperand, options: StringOptions, and node: PredicateNode
  ) -> PredicateNode {
    if case .value(let value) = operand {
      guard case .text(let text) = value.stored else { return node }
      return Folding.fold(text, options).isEmpty ? .constant(false) : node
    }
    let empty = PredicateOperand.value(PredicateValue(type: .string, stored: .text("")))
    return .and([node, .comparison(operand, .notEqual, empty, options)])
  }

  private mutating func stringOptions() throws -> StringOptions {
    guard takeSymbol("[") != nil else { return [] }
    guard case .word(let letters) = token.kind else { throw failure("[c], [d] or [cd] is expected here") }
    var options: StringOptions = []
    for letter in letters.lowercased() {
      switch letter {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      default: throw failure("[\(shortened(letters))] is unknown; write [c], [d] or [cd]")
      }
    }
    index += 1
    guard takeSymbol("]") != nil else { throw failure("] is missing here, after [\(shortened(letters))") }
    return options
  }
}
