// The limits of predicates. Within them every predicate runs, on every engine and on a thread with 512
// KiB of stack. A tree that was made by hand or decoded is checked before any function recurses into it.

internal import CipherSQLite

extension PredicateError {
  /// The length of the longest format, in UTF-8 bytes.
  public static let maximumFormatBytes = 65_536
  /// The depth to which conditions, parentheses, braces, signs, ANY, ALL and NONE may be nested,
  /// together.
  public static let maximumDepth = 32
  /// The depth to which ANY, ALL and NONE, or `contains` and `allSatisfy`, may be nested.
  public static let maximumMemberDepth = 4
  /// The number of conditions that a predicate may have, including those that combine others.
  public static let maximumConditions = 1_000
  /// The number of placeholders that a format may have.
  public static let maximumArguments = 900
  /// The number of values that a statement may have.
  ///
  /// A `BEGINSWITH` uses two. An `IN` of more than 100 numbers uses one value, and an `IN` of more than
  /// 100 strings three.
  public static let maximumValues = 900
  /// The number of operands that a calculation may have.
  public static let maximumOperands = 100
  /// The depth to which functions may be nested.
  public static let maximumCalls = 4
  /// The number of values that an `IN` may have.
  public static let maximumListCount = 100_000
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
    var nodes: [(node: PredicateNode, depth: Int, members: Int)] = [(self, 1, 0)]
    var count = 0
    while let (node, depth, members) = nodes.popLast() {
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
        for part in parts { nodes.append((part, depth + 1, members)) }
      case .not(let inner): nodes.append((inner, depth + 1, members))
      case .comparison(let left, _, let right, _):
        try left.check(members)
        try right.check(members)
      case .truth(let operand): try operand.check(members)
      case .between(let operand, let low, let high):
        for operand in [operand, low, high] { try operand.check(members) }
      case .isIn(let operand, let list, _):
        guard list.count <= PredicateError.maximumListCount else {
          throw Self.tooMuch(
            "IN has \(list.count) values; at most \(PredicateError.maximumListCount) are allowed")
        }
        try operand.check(members)
        for element in list {
          // Most elements are constants, which need no general check.
          if case .value(let value) = element, value.isWellFormed { continue }
          try element.check(members)
        }
      case .quantified(_, let path, let inner):
        try path.check(members)
        guard members < PredicateError.maximumMemberDepth else {
          throw Self.tooMuch(
            "ANY, ALL and NONE are nested deeper than \(PredicateError.maximumMemberDepth)")
        }
        nodes.append((inner, depth + 1, members + 1))
      }
    }
  }

  fileprivate static func tooMuch(_ reason: String) -> StoreError { .predicate(PredicateError(reason)) }
}

extension PredicateOperand {
  fileprivate func check(_ members: Int) throws {
    var operands = [(operand: self, calls: 0)]
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
        try path.check(members)
        continue
      case .arithmetic(let left, _, let right), .coalesce(let left, let right):
        operands += [(right, calls), (left, calls)]
      case .call(_, let arguments):
        guard calls < PredicateError.maximumCalls else {
          throw PredicateNode.tooMuch("functions are nested deeper than \(PredicateError.maximumCalls)")
        }
        operands += arguments.reversed().map { ($0, calls + 1) }
      }
      count += 1
      guard count < PredicateError.maximumOperands else {
        throw PredicateNode.tooMuch(
          "a calculation has more than \(PredicateError.maximumOperands) operands")
      }
    }
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
