// Comparisons of the format language.

internal import CipherSQLite

extension FormatParser {
  /// Reads the rest of `ANY path comparison` and the like. The node gets the whole path. The compiler,
  /// which has the model, splits it after the last to-many; the rest of the path begins at the member.
  mutating func members(_ word: String, _ start: Int) throws -> PredicateNode {
    let quantifier: Quantifier = word == "ALL" ? .all : word == "NONE" ? .none : .any
    let path: PropertyPath
    switch try expression(.factor) {
    case .operand(.path(let found), _): path = found
    // Equal values more than once change nothing.
    case .collection(let members) where members.condition == nil: path = members.path
    case .collection:
      throw failure(
        "ANY, ALL and NONE need the path of a to-many; put the condition into the SUBQUERY", at: start)
    case .operand, .list, .condition: throw failure("ANY, ALL and NONE need the path of a to-many", at: start)
    }
    memberDepth += 1
    defer { memberDepth -= 1 }
    let member = PredicateOperand.path(PropertyPath(depth: memberDepth, [], place: path.place))
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
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .like, .matches:
      return .comparing(left, by: comparison, with: other, options: options)
    }
  }

  private func isIn(
    _ element: PredicateOperand, _ right: Parsed, options: StringOptions, at place: Int
  ) throws -> PredicateNode {
    if case .list(let list) = right { return .isIn(element, list, options) }
    // `'x' IN tags.@distinctUnionOfObjects.name`.
    if case .collection(let members) = right, members.condition == nil {
      guard element.isWithoutMembers else {
        throw failure("the left side of IN must not have members of its own here; use a SUBQUERY", at: place)
      }
      return .quantified(.any, members.path, member(members.path, is: element, options))
    }
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

  private func member(
    _ path: PropertyPath, is element: PredicateOperand, _ options: StringOptions = []
  ) -> PredicateNode {
    .comparison(.path(PropertyPath(depth: memberDepth + 1, [], place: path.place)), .equal, element, options)
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
      // `[n]` states that the strings are prepared for a comparison as they are, which is the default.
      case "n" where letters.count == 1: break
      case "n": throw failure("[n] compares strings as they are, and cannot be combined with c and d")
      case "l":
        throw failure(
          "[l] compares by the rules of a language, which a store does not have: the result would depend on the "
            + "device; write [c], [d] or [cd]")
      default: throw failure("[\(shortened(letters))] is unknown; write [c], [d] or [cd]")
      }
    }
    index += 1
    guard takeSymbol("]") != nil else { throw failure("] is missing here, after [\(shortened(letters))") }
    return options
  }
}

extension PredicateOperand {
  /// Whether the operand has no members, so that it means the same inside a condition on other members.
  fileprivate var isWithoutMembers: Bool {
    if case .aggregate = self { return false }
    return condition == nil && parts.allSatisfy(\.isWithoutMembers)
  }
}

extension PredicateNode {
  /// Returns a comparison. Whether a SUBQUERY has any members is a search for one, and no count: both
  /// have the same result.
  static func comparing(
    _ left: PredicateOperand, by comparison: ComparisonOperator, with right: PredicateOperand,
    options: StringOptions
  ) -> PredicateNode {
    if case .aggregate(let members) = left, case .value(let value) = right, members.function == .count,
      !members.isDistinct, members.value.isEmpty,
      (comparison == .greater && value.stored == .integer(0))
        || (comparison == .greaterOrEqual && value.stored == .integer(1))
    {
      return .quantified(.any, members.path, members.condition)
    }
    return .comparison(left, comparison, right, options)
  }
}
