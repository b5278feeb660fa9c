// The limits of predicates. Within them every predicate runs, on every engine and on a thread with 512
// KiB of stack. A tree that was made by hand or decoded is checked before any function recurses into it.

internal import CipherSQLite

extension PredicateError {
  /// The length of the longest format, in UTF-8 bytes.
  public static let maximumFormatBytes = 65_536
  /// The depth to which conditions, parentheses, braces, signs, ANY, ALL and NONE may be nested,
  /// together.
  ///
  /// The condition of a SUBQUERY or a TERNARY counts as four levels.
  public static let maximumDepth = 32
  /// The depth to which ANY, ALL, NONE, SUBQUERY and functions of members such as `@sum`, or `contains`,
  /// `allSatisfy` and `filter`, may be nested.
  public static let maximumMemberDepth = 4
  /// The number of conditions that a predicate may have, including those that combine others.
  public static let maximumConditions = 1_000
  /// The number of placeholders that a format may have.
  public static let maximumArguments = 900
  /// The number of values that a statement may have.
  ///
  /// A `BEGINSWITH` uses two. An `IN` of more than 100 values uses one.
  public static let maximumValues = 900
  /// The number of operands that a calculation may have.
  public static let maximumOperands = 100
  /// The depth to which functions, including CAST and TERNARY, may be nested.
  public static let maximumCalls = 4
  /// The number of values that an `IN`, and the list of an order, may have.
  public static let maximumListCount = 1_000_000
  /// The number of relationships that the paths of a predicate may follow, on one level of ANY, ALL and
  /// NONE.
  ///
  /// A many-to-many counts as two.
  public static let maximumSteps = 60
  /// The number of keys that a sort may have.
  public static let maximumSortKeys = 100
  /// The number of characters of a format that a message quotes.
  static let maximumQuote = 200
}

extension PredicateNode {
  /// Checks the size of the tree and the form of its values. It uses no recursion, because the tree may
  /// be as deep as memory allows.
  /// - Throws: ``StoreError/predicate(_:)``.
  func check() throws {
    var nodes = [Level(node: self)]
    var count = 0
    while let level = nodes.popLast() {
      let (node, depth, members) = (level.node, level.depth, level.members)
      count += 1
      guard depth <= PredicateError.maximumDepth else {
        throw Self.tooMuch("conditions are nested deeper than \(PredicateError.maximumDepth)")
      }
      guard count <= PredicateError.maximumConditions else {
        throw Self.tooMuch(
          "it has more than \(PredicateError.maximumConditions) conditions; for many values use IN")
      }
      switch node {
      case .constant: break
      case .and(let parts), .or(let parts):
        guard count + parts.count <= PredicateError.maximumConditions else {
          throw Self.tooMuch(
            "it has more than \(PredicateError.maximumConditions) conditions; for many values use IN")
        }
        for part in parts { nodes.append(Level(node: part, depth: depth + 1, members: members)) }
      case .not(let inner): nodes.append(Level(node: inner, depth: depth + 1, members: members))
      case .comparison(let left, _, let right, _):
        for operand in [left, right] { nodes += try operand.check(in: level) }
      case .truth(let operand): nodes += try operand.check(in: level)
      case .between(let operand, let low, let high):
        for operand in [operand, low, high] { nodes += try operand.check(in: level) }
      case .isIn(let operand, let list, _):
        guard list.count <= PredicateError.maximumListCount else {
          throw Self.tooMuch(
            "IN has \(list.count) values; at most \(PredicateError.maximumListCount) are allowed")
        }
        nodes += try operand.check(in: level)
        for element in list {
          // Most elements are constants, which need no general check.
          if case .value(let value) = element, value.isWellFormed { continue }
          nodes += try element.check(in: level)
        }
      case .quantified(_, let path, let inner):
        nodes.append(try level.members(of: path, inner, levels: 1))
      }
    }
  }

  /// A condition that is still to be checked.
  fileprivate struct Level {
    let node: PredicateNode
    var depth = 1
    /// The number of surrounding members at which paths may begin.
    var members = 0

    /// The levels that the condition of an operand counts as.
    static let levelsOfOperand = 4

    /// Returns the condition on the members of a path.
    func members(of path: PropertyPath, _ node: PredicateNode, levels: Int) throws -> Level {
      try path.check(members)
      guard members < PredicateError.maximumMemberDepth else {
        throw PredicateNode.tooMuch(
          "ANY, ALL, NONE, SUBQUERY and functions of members are nested deeper than "
            + "\(PredicateError.maximumMemberDepth)")
      }
      return Level(node: node, depth: depth + levels, members: members + 1)
    }
  }

  fileprivate static func tooMuch(_ reason: String) -> StoreError { .predicate(PredicateError(reason)) }
}

extension PredicateOperand {
  /// Checks an operand of a condition, and returns the conditions that the operand contains.
  fileprivate func check(in level: PredicateNode.Level) throws -> [PredicateNode.Level] {
    var operands = [(operand: self, calls: 0)]
    var inner: [PredicateNode.Level] = []
    var count = 0
    while let (operand, calls) = operands.popLast() {
      switch operand {
      case .value(let value):
        guard value.isWellFormed else {
          throw PredicateNode.tooMuch(
            "a value is declared as \(value.type?.rawValue ?? "nil"), but stored as another type")
        }
        continue
      case .variable: continue
      case .path(let path), .count(let path):
        try path.check(level.members)
        continue
      case .aggregate(let aggregate):
        inner.append(
          try level.members(
            of: aggregate.path, aggregate.condition, levels: PredicateNode.Level.levelsOfOperand))
        continue
      case .arithmetic(let left, _, let right), .coalesce(let left, let right):
        operands += [(right, calls), (left, calls)]
      case .call, .list, .conditional, .cast, .position:
        guard calls < PredicateError.maximumCalls else {
          throw PredicateNode.tooMuch("functions are nested deeper than \(PredicateError.maximumCalls)")
        }
        guard count + operand.parts.count <= PredicateError.maximumOperands else {
          throw PredicateNode.tooMuch(
            "a calculation has more than \(PredicateError.maximumOperands) operands")
        }
        if case .position(_, let ids) = operand, ids.count > PredicateError.maximumListCount {
          throw PredicateNode.tooMuch(
            "the list of an order has \(ids.count) objects; at most \(PredicateError.maximumListCount) are allowed"
          )
        }
        operands += operand.parts.reversed().map { ($0, calls + 1) }
        if case .conditional(let condition, _, _) = operand {
          inner.append(
            .init(
              node: condition, depth: level.depth + PredicateNode.Level.levelsOfOperand,
              members: level.members))
        }
      }
      count += 1
      guard count < PredicateError.maximumOperands else {
        throw PredicateNode.tooMuch(
          "a calculation has more than \(PredicateError.maximumOperands) operands")
      }
    }
    return inner
  }
}

extension PropertyPath {
  fileprivate func check(_ members: Int) throws {
    guard depth >= 0, depth <= members else {
      throw StoreError.predicate(
        PredicateError(
          "a path has the depth \(depth), but only depths from 0 to \(members) are possible here",
          place: place))
    }
    guard names.count <= PredicateError.maximumSteps else {
      throw StoreError.predicate(
        PredicateError(
          "a path has \(names.count) names; at most \(PredicateError.maximumSteps) are allowed", place: place)
      )
    }
  }
}

extension PredicateValue {
  /// Whether the stored form belongs to the type.
  fileprivate var isWellFormed: Bool {
    guard !stored.isNull else { return true }
    guard let storage = type?.traits.storage else { return false }
    return switch (stored, storage) {
    case (.null, _), (.integer, .integer), (.real, .real), (.blob, .blob): true
    // Infinity and NaN are valid constants: infinity compares as beyond all decimals, and NaN equals
    // none.
    case (.real(let number), .text(.decimal)): !number.isFinite
    case (.text(let text), .text(.decimal)): DecimalText(text.utf8) != nil
    case (.text, .text): true
    case (.integer, _), (.real, _), (.text, _), (.blob, _): false
    }
  }
}
