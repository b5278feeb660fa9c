// Two values compared in memory, as the engine, its collation and its functions compare them.

internal import CipherSQLite

extension ComparisonOperator {
  /// Nil equals nil only, and is neither less nor greater; NaN equals nothing.
  func holds(_ left: SQLValue, _ right: SQLValue, _ order: PredicateEvaluator.Order) -> Bool {
    switch self {
    case .equal, .notEqual:
      let isEqual =
        left.isNull || right.isNull ? left.isNull && right.isNull : order.compare(left, right) == 0
      return isEqual == (self == .equal)
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      guard !left.isNull, !right.isNull, let result = order.compare(left, right) else { return false }
      return holds(result)
    case .contains, .beginsWith, .endsWith, .like:
      guard case .text(let text) = left, case .text(let part) = right else { return false }
      switch self {
      case .beginsWith: return text.utf8.starts(with: part.utf8)
      case .endsWith: return text.utf8.reversed().starts(with: part.utf8.reversed())
      case .like: return LikePattern(part).matches(text)
      default: return part.isEmpty || text.utf8.firstRange(of: part.utf8) != nil
      }
    }
  }

  /// Whether it holds for a left side that is less (-1), equal (0) or greater (1).
  func holds(_ order: Int) -> Bool {
    switch self {
    case .equal: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    default: false
    }
  }

  var isForStrings: Bool {
    switch self {
    case .contains, .beginsWith, .endsWith, .like: true
    default: false
    }
  }
}

extension PredicateEvaluator.Order {
  /// -1, 0 or 1; nil when the two have no order.
  func compare(_ left: SQLValue, _ right: SQLValue) -> Int? {
    switch self {
    case .numbers:
      for case .real(let number) in [left, right] where number.isNaN { return nil }
      return ValueArithmetic.compareNumbers(left, right)
    case .stored: return ValueArithmetic.compareStored(left, right)
    }
  }
}

/// The constants of an `IN`, for a quick look into long lists.
struct EvaluatedList {
  private var integers: Set<Int64> = []
  private var texts: Set<[UInt8]> = []
  private var others: [SQLValue] = []

  init(_ values: [SQLValue], _ type: AttributeType?, _ order: PredicateEvaluator.Order) {
    for value in values {
      switch value {
      case .integer(let number) where type?.isInteger == true: integers.insert(number)
      case .text(let text) where order == .stored: texts.insert(Array(text.utf8))
      default: others.append(value)
      }
    }
  }

  func contains(_ value: SQLValue, _ order: PredicateEvaluator.Order) -> Bool {
    switch value {
    case .integer(let number) where integers.contains(number): return true
    case .text(let text) where !texts.isEmpty && texts.contains(Array(text.utf8)): return true
    default: break
    }
    return others.contains { ComparisonOperator.equal.holds(value, $0, order) }
  }
}
