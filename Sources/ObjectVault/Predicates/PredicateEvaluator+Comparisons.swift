// Comparison of two values in memory. The results equal those of the engine, with the store's collations
// and functions.

internal import CipherSQLite
private import Foundation

extension PredicateEvaluator.Order {
  /// Compares two values: -1, 0 or 1; nil when they have no order.
  func compare(_ left: SQLValue, with right: SQLValue) -> Int? {
    switch self {
    case .numbers:
      for case .real(let number) in [left, right] where number.isNaN { return nil }
      return ValueArithmetic.compareNumbers(left, with: right)
    case .stored: return ValueArithmetic.compareStored(left, with: right)
    }
  }
}

/// The constants of an `IN`, grouped by storage class so that a value is not compared with all of them.
struct EvaluatedList {
  private let order: PredicateEvaluator.Order
  private var integers: Set<Int64> = []
  private var texts: Set<[UInt8]> = []
  private var blobs: Set<Data> = []
  private var hasNil = false
  /// Sorted numbers, one array for each storage class. Within a class the order is total, and a number of
  /// any class has one position in the array, so that binary search works.
  private var numbers: [[SQLValue]] = []

  init(_ values: [SQLValue], type: AttributeType?, order: PredicateEvaluator.Order) {
    self.order = order
    var (whole, real, decimal): ([SQLValue], [SQLValue], [SQLValue]) = ([], [], [])
    for value in values {
      switch value {
      case .null: hasNil = true
      case .integer(let number) where type?.isInteger == true: integers.insert(number)
      case .integer: whole.append(value)
      // NaN equals nothing.
      case .real(let number): if !number.isNaN { real.append(value) }
      case .text(let text) where order == .stored: texts.insert(Array(text.utf8))
      case .text: if DecimalText(value) != nil { decimal.append(value) }
      case .blob(let bytes): if order == .stored { blobs.insert(bytes) }
      }
    }
    numbers = [whole, real, decimal].filter { !$0.isEmpty }.map {
      $0.sorted { order.compare($0, with: $1) ?? 0 < 0 }
    }
  }

  func contains(_ value: SQLValue) -> Bool {
    switch value {
    case .null: return hasNil
    case .integer(let number) where integers.contains(number): return true
    case .text(let text) where order == .stored: return texts.contains(Array(text.utf8))
    case .blob(let bytes): return blobs.contains(bytes)
    case .real(let number) where number.isNaN: return false
    default: return numbers.contains { holds($0, value) }
    }
  }

  /// Returns whether one of the numbers of a class equals a value.
  private func holds(_ numbers: [SQLValue], _ value: SQLValue) -> Bool {
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      guard let result = order.compare(numbers[middle], with: value) else { return false }
      if result == 0 { return true }
      if result < 0 { low = middle + 1 } else { high = middle }
    }
    return false
  }
}
