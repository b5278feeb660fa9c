// Two values compared in memory, as the engine, its collation and its functions compare them.

internal import CipherSQLite

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
    return others.contains { ComparisonOperator.Meaning.equality(true).holds(value, $0, order) }
  }
}
