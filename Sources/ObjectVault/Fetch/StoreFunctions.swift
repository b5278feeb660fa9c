// The SQL functions and the collation that compiled predicates and decimal columns rely on.

internal import CipherSQLite
private import Foundation

enum StoreFunctions {
  /// Registers everything on a connection of a store.
  static func register(on connection: Connection) throws {
    try connection.register(function: "vault_fold", argumentCount: 2) { arguments in
      guard case .text(let text) = arguments[0], case .integer(let options) = arguments[1] else {
        return .null
      }
      return .text(Folding.fold(text, StringOptions(rawValue: Int(truncatingIfNeeded: options))))
    }
    try connection.register(function: "vault_like", argumentCount: 2) { arguments in
      guard case .text(let text) = arguments[0], case .text(let pattern) = arguments[1] else { return .null }
      return .integer(Folding.matches(text, like: pattern) ? 1 : 0)
    }
    try connection.register(function: "vault_ends", argumentCount: 2) { arguments in
      guard case .text(let text) = arguments[0], case .text(let end) = arguments[1] else { return .null }
      return .integer(text.utf8.reversed().starts(with: end.utf8.reversed()) ? 1 : 0)
    }
    try connection.register(function: "vault_math", argumentCount: 3) { arguments in
      guard case .text(let symbol) = arguments[1], let operation = ArithmeticOperator(rawValue: symbol) else {
        return .null
      }
      return calculate(arguments[0], operation, arguments[2])
    }
    try connection.register(collation: "vault_decimal") { left, right in
      compareDecimals(String(decoding: left, as: UTF8.self), String(decoding: right, as: UTF8.self))
    }
  }

  /// Overflow, division by zero and nil give nil.
  static func calculate(_ left: SQLValue, _ operation: ArithmeticOperator, _ right: SQLValue) -> SQLValue {
    if case .integer(let a) = left, case .integer(let b) = right {
      let (value, overflows) =
        switch operation {
        case .add: a.addingReportingOverflow(b)
        case .subtract: a.subtractingReportingOverflow(b)
        case .multiply: a.multipliedReportingOverflow(by: b)
        case .divide: a.dividedReportingOverflow(by: b)
        case .remainder: a.remainderReportingOverflow(dividingBy: b)
        }
      return overflows ? .null : .integer(value)
    }
    guard let a = number(left), let b = number(right) else { return .null }
    let value: Double =
      switch operation {
      case .add: a + b
      case .subtract: a - b
      case .multiply: a * b
      case .divide: a / b
      case .remainder: a.truncatingRemainder(dividingBy: b)
      }
    return value.isFinite ? .real(value) : .null
  }

  private static func number(_ value: SQLValue) -> Double? {
    value.double ?? value.string.flatMap { Double($0) }
  }

  /// A total order of decimal texts by value; what is no number comes after all numbers, by its bytes.
  static func compareDecimals(_ left: String, _ right: String) -> Int {
    let locale = Locale(identifier: "en_US_POSIX")
    switch (Decimal(string: left, locale: locale), Decimal(string: right, locale: locale)) {
    case (let a?, let b?): return a < b ? -1 : a > b ? 1 : 0
    case (_?, nil): return -1
    case (nil, _?): return 1
    case (nil, nil): return left < right ? -1 : left > right ? 1 : 0
    }
  }
}
