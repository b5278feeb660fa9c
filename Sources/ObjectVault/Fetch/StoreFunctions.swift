// The SQL functions and the collation that compiled predicates and decimal columns rely on.

internal import CipherSQLite

enum StoreFunctions {
  /// Registers everything on a connection of a store.
  static func register(on connection: Connection) throws {
    try connection.register(function: "vault_fold", argumentCount: 2) { arguments in
      guard case .text(let text) = arguments[0], case .integer(let options) = arguments[1] else {
        return .null
      }
      return .text(Folding.fold(text, StringOptions(rawValue: Int(truncatingIfNeeded: options))))
    }
    // Rows are compared with one pattern after another: it is taken apart once.
    let last = Locked<LikePattern?>(nil)
    try connection.register(function: "vault_like", argumentCount: 2) { arguments in
      guard case .text(let text) = arguments[0], case .text(let source) = arguments[1] else { return .null }
      let pattern = last.withLock { last in
        if let last, last.source.utf8.elementsEqual(source.utf8) { return last }
        let made = LikePattern(source)
        last = made
        return made
      }
      return .integer(pattern.matches(text) ? 1 : 0)
    }
    try connection.register(function: "vault_ends", argumentCount: 2) { arguments in
      guard case .text(let text) = arguments[0], case .text(let end) = arguments[1] else { return .null }
      return .integer(text.utf8.reversed().starts(with: end.utf8.reversed()) ? 1 : 0)
    }
    // -1: any number of arguments, as many as a calculation has operands.
    try connection.register(function: "vault_math", argumentCount: -1) { arguments in
      guard case .text(let program)? = arguments.first else { return .null }
      return run(program, arguments.dropFirst())
    }
    try connection.register(function: "vault_compare", argumentCount: 2) { arguments in
      compareNumbers(arguments[0], arguments[1]).map { .integer(Int64($0)) } ?? .null
    }
    try connection.register(function: "vault_unpack", argumentCount: 1) { PackedList.unpack($0[0]) }
    try connection.register(collation: "vault_decimal") { left, right in compareDecimals(left, right) }
  }

  // MARK: Calculations

  /// A calculation in the order in which it is done: `.` takes the next operand, an operator the two last, `?`
  /// the first of the two that is not nil; `d` and `r` make the last one a Decimal or a Double.
  static func run(_ program: String, _ operands: some Collection<SQLValue>) -> SQLValue {
    var stack: [SQLValue] = []
    var rest = operands.makeIterator()
    for symbol in program.unicodeScalars {
      if symbol == "." {
        stack.append(rest.next() ?? .null)
        continue
      }
      guard let right = stack.popLast() else { return .null }
      if symbol == "d" || symbol == "r" {
        stack.append(symbol == "r" ? right.double.map { .real($0) } ?? .null : decimal(right))
        continue
      }
      guard let left = stack.popLast() else { return .null }
      if symbol == "?" {
        stack.append(left.isNull ? right : left)
      } else if let operation = ArithmeticOperator(rawValue: String(symbol)) {
        stack.append(calculate(left, operation, right))
      }
    }
    return stack.last ?? .null
  }

  /// Overflow, division by zero and nil give nil. Text is a Decimal, and what it meets becomes one.
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
    guard let a = left.double, let b = right.double else {
      guard let a = DecimalText(left), let b = DecimalText(right) else { return .null }
      return DecimalText.calculate(a, operation, b).map { .text($0.text) } ?? .null
    }
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

  private static func decimal(_ value: SQLValue) -> SQLValue {
    DecimalText(value).map { .text($0.text) } ?? .null
  }

  // MARK: Order

  /// Two numbers of any types by value; nil when one of them is none.
  static func compareNumbers(_ left: SQLValue, _ right: SQLValue) -> Int? {
    switch (left, right) {
    case (.integer(let a), .integer(let b)): return a < b ? -1 : a > b ? 1 : 0
    case (.real(let a), .real(let b)): return a < b ? -1 : a > b ? 1 : 0
    case (.integer(let a), .real(let b)): return compare(a, b)
    case (.real(let a), .integer(let b)): return -compare(b, a)
    case (.real(let a), .text) where a.isInfinite: return a > 0 ? 1 : -1
    case (.text, .real(let b)) where b.isInfinite: return b > 0 ? -1 : 1
    default:
      guard let a = DecimalText(left), let b = DecimalText(right) else { return nil }
      return DecimalText.compare(a, b)
    }
  }

  private static func compare(_ integer: Int64, _ real: Double) -> Int {
    if real >= 0x1p63 { return -1 }
    if real < -0x1p63 { return 1 }
    guard let floor = Int64(exactly: real.rounded(.down)) else { return 0 }
    if integer != floor { return integer < floor ? -1 : 1 }
    return real > real.rounded(.down) ? -1 : 0
  }

  /// A total order of decimal texts by value; what is no number comes after all numbers, by its bytes.
  static func compareDecimals(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    switch (DecimalText(left), DecimalText(right)) {
    case (let a?, let b?): return DecimalText.compare(a, b)
    case (_?, nil): return -1
    case (nil, _?): return 1
    case (nil, nil): return left.elementsEqual(right) ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }
  }
}
