// The functions of many values in predicates, with everything about each function in one entry, which the
// format language, the compiler, the SQL functions and the evaluator in memory use.

internal import CipherSQLite
private import Foundation

/// A function of many values: of the members of a to-many, or of a list. It ignores nil.
///
/// Without any value, ``sum`` and ``count`` are 0, and all other functions are nil.
public enum CollectionFunction: String, Sendable, Hashable, Codable, CaseIterable {
  /// The number of values: `@count`, `count:`.
  case count
  /// The exact sum of numbers; nil if it is beyond the range of its type: `@sum`, `sum:`.
  case sum
  /// The mean of numbers: `@avg`, `average:`. A Decimal for decimals, otherwise a double.
  case average
  /// The least value: `@min`, `min:`.
  case minimum = "min"
  /// The greatest value: `@max`, `max:`.
  case maximum = "max"
  /// The middle number, or the mean of the two middle numbers: `median:`. A Decimal for decimals,
  /// otherwise a double.
  case median
  /// The most frequent value; the least of them if there are several: `mode:`.
  case mode
  /// The standard deviation of numbers that are all values, not a sample of them, as a double: `stddev:`.
  case deviation = "stddev"
}

extension CollectionFunction {
  /// The facts about one function.
  struct Entry: Sendable {
    /// The operator of a key path, such as `@sum`; nil where key paths have none.
    let pathWord: String?
    /// Whether the values must be numbers.
    let needsNumbers: Bool
    /// The function's symbol in the programs that `vault_math` runs.
    let symbol: Unicode.Scalar
    /// Whether the result needs the values in ascending order, whatever their type.
    let needsOrder: Bool
    /// Applies the function to one or more values other than nil. Doubles that are added are in ascending
    /// order.
    let apply: @Sendable (_ values: [SQLValue], _ order: (SQLValue, SQLValue) -> Int) -> SQLValue

    init(
      _ symbol: Unicode.Scalar, pathWord: String? = nil, needsNumbers: Bool = false, needsOrder: Bool = false,
      apply: @escaping @Sendable ([SQLValue], (SQLValue, SQLValue) -> Int) -> SQLValue
    ) {
      (self.symbol, self.pathWord, self.needsNumbers) = (symbol, pathWord, needsNumbers)
      (self.needsOrder, self.apply) = (needsOrder, apply)
    }
  }

  /// The facts about the function.
  var entry: Entry {
    switch self {
    case .count:
      Entry("C", pathWord: "@count") { values, _ in .integer(Int64(values.count)) }
    case .sum: Entry("S", pathWord: "@sum", needsNumbers: true) { values, _ in NumberSum(values).value }
    case .average: Entry("A", pathWord: "@avg", needsNumbers: true) { values, _ in NumberSum(values).mean }
    case .minimum:
      Entry("L", pathWord: "@min") { values, order in values.min { order($0, $1) < 0 } ?? .null }
    case .maximum:
      Entry("G", pathWord: "@max") { values, order in values.max { order($0, $1) < 0 } ?? .null }
    case .median:
      Entry("M", needsNumbers: true, needsOrder: true) { values, _ in
        let middle = values.count / 2
        return NumberSum(values.count % 2 == 1 ? [values[middle]] : Array(values[(middle - 1)...middle])).mean
      }
    case .mode:
      Entry("O", needsOrder: true) { values, order in
        var (best, longest, length) = (values.first ?? .null, 0, 0)
        for (index, value) in values.enumerated() {
          length = index > 0 && order(values[index - 1], value) == 0 ? length + 1 : 1
          if length > longest { (best, longest) = (value, length) }
        }
        return best
      }
    case .deviation:
      Entry("V", needsNumbers: true) { values, _ in
        guard let mean = NumberSum(values).mean.number else { return .null }
        let numbers = values.compactMap(\.number)
        let squares = numbers.map { ($0 - mean) * ($0 - mean) }.sorted().reduce(0, +)
        return .finite((squares / Double(numbers.count)).squareRoot())
      }
    }
  }

  /// Returns the result for values, in SQL and in memory. The order of the values has no influence on it.
  /// - Parameters:
  ///   - values: The values. All that are not nil have the same type, or are numbers.
  ///   - areNumbers: Whether the values are numbers or dates. A text is then a decimal.
  ///   - isDistinct: Whether equal values count once.
  func apply(_ values: some Sequence<SQLValue>, areNumbers: Bool, isDistinct: Bool = false) -> SQLValue {
    let order: (SQLValue, SQLValue) -> Int = { left, right in
      areNumbers
        ? ValueArithmetic.compareNumbers(left, with: right) ?? 0
        : ValueArithmetic.compareStored(left, with: right)
    }
    var sorted = values.filter { !$0.isNull && !$0.isNotANumber }
    // A sum of doubles depends on the order of its terms, so they are added in ascending order.
    let hasDoubles = entry.needsNumbers && sorted.contains { if case .real = $0 { true } else { false } }
    if isDistinct || entry.needsOrder || hasDoubles {
      sorted.sort { order($0, $1) < 0 }
    }
    if isDistinct {
      var last: SQLValue?
      sorted = sorted.filter { value in
        defer { last = value }
        return last.map { order($0, value) != 0 } ?? true
      }
    }
    guard !sorted.isEmpty else { return isZeroOverNothing ? .integer(0) : .null }
    return entry.apply(sorted, order)
  }

  /// Whether the result is one of the values, or has their kind of number.
  var keepsKind: Bool { self != .count && self != .deviation }

  /// Whether the result over no values is 0.
  var isZeroOverNothing: Bool { self == .sum || self == .count }

  /// The functions by their names in the format language, such as `sum`.
  static let byWord = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
  /// The functions by the operators of key paths, such as `@sum`.
  static let byPathWord: [String: CollectionFunction] = Dictionary(
    allCases.compactMap { each in each.entry.pathWord.map { ($0, each) } },
    uniquingKeysWith: { first, _ in first })
  /// The functions by their symbols in the programs of `vault_math`.
  static let bySymbol: [Unicode.Scalar: CollectionFunction] = Dictionary(
    allCases.map { ($0.entry.symbol, $0) }, uniquingKeysWith: { first, _ in first })
}

/// The exact sum of integers or decimals, or the sum of doubles.
private struct NumberSum {
  private let sum: SQLValue
  /// The sum of integers as a double, also where no `Int64` can hold it.
  private let real: Double
  private let count: Int

  /// Adds numbers in their order.
  init(_ values: [SQLValue]) {
    count = values.count
    if values.contains(where: { if case .text = $0 { true } else { false } }) {
      let total = values.reduce(into: DecimalText()) { sum, value in
        if let next = DecimalText(value) { sum = DecimalText.sum(sum, and: next) }
      }
      sum = DecimalText.calculate(total, .add, with: DecimalText()).map { .text($0.text) } ?? .null
      real = .nan
    } else if values.contains(where: { if case .real = $0 { true } else { false } }) {
      real = values.reduce(0) { $0 + ($1.double ?? 0) }
      sum = .finite(real, infinite: values.contains { $0.double?.isInfinite == true })
    } else {
      // 128 bits, so that only the result has to fit into 64.
      var (high, low): (Int64, UInt64) = (0, 0)
      for case .integer(let value) in values {
        let (next, carries) = low.addingReportingOverflow(UInt64(bitPattern: value))
        low = next
        high += (value < 0 ? -1 : 0) + (carries ? 1 : 0)
      }
      let value = Int64(bitPattern: low)
      sum = high == (value < 0 ? -1 : 0) ? .integer(value) : .null
      real = sum.isNull ? Double(high) * 0x1p64 + Double(low) : Double(value)
    }
  }

  var value: SQLValue { sum }

  /// The mean: a decimal for decimals, otherwise a double.
  var mean: SQLValue {
    guard real.isNaN else { return .finite(real / Double(count), infinite: real.isInfinite) }
    guard case .text(let text) = sum, let total = DecimalText(text.utf8),
      let number = DecimalText(.integer(Int64(count)))
    else { return .null }
    return DecimalText.calculate(total, .divide, with: number).map { .text($0.text) } ?? .null
  }
}

extension SQLValue {
  /// Returns a double as a result; nil for NaN, and for infinity unless it is allowed.
  static func finite(_ value: Double, infinite isAllowed: Bool = false) -> SQLValue {
    value.isNaN || (value.isInfinite && !isAllowed) ? .null : .real(value)
  }

  fileprivate var isNotANumber: Bool { if case .real(let number) = self { number.isNaN } else { false } }

  /// The value as a double, also of a decimal; nil for anything but a number.
  var number: Double? {
    if case .text(let text) = self { return DecimalText(text.utf8).flatMap { Double($0.text) } }
    return double
  }
}

/// The values of the members of one owner, which an SQL function collects. A class, because a copy of the
/// array for each value would cost quadratic time.
final class CollectedValues {
  private var all: [SQLValue] = []
  private let function: CollectionFunction?
  private let options: Int64

  /// Creates the collection.
  /// - Parameter arguments: The name of the function, and its options: 1 if the values are numbers or dates,
  ///   2 if equal ones count once.
  init(_ arguments: [SQLValue]) {
    function = arguments[0].string.flatMap { CollectionFunction(rawValue: $0) }
    options = arguments[1].int64 ?? 0
  }

  /// Adds a value other than nil.
  func add(_ value: SQLValue) { if !value.isNull { all.append(value) } }

  var result: SQLValue {
    function?.apply(all, areNumbers: options & 1 == 1, isDistinct: options & 2 == 2) ?? .null
  }
}
