// Calculations with stored values and comparisons of them, with equal results in SQL and in memory.

internal import CipherSQLite

enum ValueArithmetic {
  /// Runs a calculation that is written in postfix order and returns its result.
  ///
  /// Each symbol of the program works on a stack: `.` pushes the next operand; an operator replaces the
  /// last two values by its result; `?` replaces the last two values by the first of them that is not
  /// nil; `d` and `r` convert the last value to a Decimal or a Double; the other small letters are the
  /// symbols of ``PredicateFunction``. A capital letter is a ``ValueCast``, or a ``CollectionFunction``
  /// after the number of its operands: `...3S` is the sum of three.
  static func run(_ program: String, _ operands: some Collection<SQLValue>) -> SQLValue {
    var stack: [SQLValue] = []
    var rest = operands.makeIterator()
    var count = 0
    for symbol in program.unicodeScalars {
      switch symbol {
      case "0"..."9": count = min(count * 10 + Int(symbol.value - 0x30), 1_000_000)
      case ".": stack.append(rest.next() ?? .null)
      case "d", "r":
        guard let last = stack.popLast() else { return .null }
        stack.append(cast(last, toDecimal: symbol == "d"))
      case "a"..."z":
        guard let function = PredicateFunction.bySymbol[symbol], stack.count >= function.parameters.count
        else {
          return .null
        }
        let arguments = Array(stack.suffix(function.parameters.count))
        stack.removeLast(arguments.count)
        stack.append(function.apply(arguments))
      case "A"..."Z":
        if let cast = ValueCast(rawValue: symbol) {
          guard let last = stack.popLast() else { return .null }
          stack.append(cast.apply(last))
        } else {
          guard let function = CollectionFunction.bySymbol[symbol], count <= stack.count else { return .null }
          let values = Array(stack.suffix(count))
          stack.removeLast(count)
          stack.append(function.apply(values, areNumbers: true))
          count = 0
        }
      default:
        guard let right = stack.popLast(), let left = stack.popLast() else { return .null }
        if symbol == "?" {
          stack.append(left.isNull ? right : left)
        } else if let operation = ArithmeticOperator(rawValue: String(symbol)) {
          stack.append(calculate(left, operation, with: right))
        }
      }
    }
    return stack.last ?? .null
  }

  /// Returns the result of one calculation.
  ///
  /// Overflow, division by zero, nil operands and undefined results, such as infinity minus infinity,
  /// give nil. Text is a Decimal, and the other operand is converted to one.
  static func calculate(_ left: SQLValue, _ operation: ArithmeticOperator, with right: SQLValue) -> SQLValue {
    if case .integer(let a) = left, case .integer(let b) = right {
      let (value, overflows) = operation.entry.integers(a, b)
      return overflows ? .null : .integer(value)
    }
    guard let a = left.double, let b = right.double else {
      guard let a = DecimalText(left), let b = DecimalText(right) else { return .null }
      return DecimalText.calculate(a, operation, with: b).map { .text($0.text) } ?? .null
    }
    if operation == .divide, b == 0 { return .null }
    let value = operation.entry.reals(a, b)
    // An infinite result is right when an operand was infinite.
    let overflows = value.isInfinite && a.isFinite && b.isFinite
    return value.isNaN || overflows ? .null : .real(value)
  }

  /// Returns a whole number next to a number, in its own type; nil for what is not a number.
  static func rounded(_ value: SQLValue, _ rule: FloatingPointRoundingRule) -> SQLValue {
    switch value {
    case .integer: return value
    case .real(let number): return .real(number.rounded(rule))
    case .text:
      guard let number = DecimalText(value) else { return .null }
      let whole = number.truncated
      if whole == number || rule == .towardZero || (rule == .up) == number.isNegative {
        return .text(whole.text)
      }
      let one = DecimalText(.integer(number.isNegative ? -1 : 1)) ?? DecimalText()
      return .text(DecimalText.sum(whole, and: one).text)
    case .null, .blob: return .null
    }
  }

  /// Converts a number to a Decimal or a Double; nil for what is not a number.
  static func cast(_ value: SQLValue, toDecimal: Bool) -> SQLValue {
    toDecimal ? DecimalText(value).map { .text($0.text) } ?? .null : value.double.map { .real($0) } ?? .null
  }

  /// Returns a number without its sign; nil for what is not a number, and for the least `Int64`.
  static func magnitude(_ value: SQLValue) -> SQLValue {
    switch value {
    case .integer(let number): return number == .min ? .null : .integer(abs(number))
    case .real(let number): return .real(abs(number))
    case .text:
      guard let text = DecimalText(value)?.text else { return .null }
      return .text(text.hasPrefix("-") ? String(text.dropFirst()) : text)
    case .null, .blob: return .null
    }
  }

  // MARK: Order

  /// Compares two numbers of any types by value; nil when one of the values is no number. Neither may be
  /// NaN.
  static func compareNumbers(_ left: SQLValue, with right: SQLValue) -> Int? {
    switch (left, right) {
    case (.integer(let a), .integer(let b)): return a < b ? -1 : a > b ? 1 : 0
    case (.real(let a), .real(let b)): return a < b ? -1 : a > b ? 1 : 0
    case (.integer(let a), .real(let b)): return compare(a, b)
    case (.real(let a), .integer(let b)): return -compare(b, a)
    case (.real(let a), .text) where a.isInfinite: return a > 0 ? 1 : -1
    case (.text, .real(let b)) where b.isInfinite: return b > 0 ? -1 : 1
    default:
      guard let a = DecimalText(left), let b = DecimalText(right) else { return nil }
      return DecimalText.compare(a, with: b)
    }
  }

  /// Compares two values as the engine does without a collation: first NULL, then numbers, then text and
  /// at last blobs, both by their bytes.
  static func compareStored(_ left: SQLValue, with right: SQLValue) -> Int {
    switch (left, right) {
    case (.text(let a), .text(let b)): return compareBytes(a.utf8, with: b.utf8)
    case (.blob(let a), .blob(let b)): return compareBytes(a, with: b)
    case (.integer, .integer), (.integer, .real), (.real, .integer), (.real, .real):
      return compareNumbers(left, with: right) ?? 0
    default: return rank(left) - rank(right)
    }
  }

  private static func compareBytes(_ a: some Sequence<UInt8>, with b: some Sequence<UInt8>) -> Int {
    if a.elementsEqual(b) { return 0 }
    return a.lexicographicallyPrecedes(b) ? -1 : 1
  }

  private static func rank(_ value: SQLValue) -> Int {
    switch value {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }

  private static func compare(_ integer: Int64, _ real: Double) -> Int {
    if real >= 0x1p63 { return -1 }
    if real < -0x1p63 { return 1 }
    guard let floor = Int64(exactly: real.rounded(.down)) else { return 0 }
    if integer != floor { return integer < floor ? -1 : 1 }
    return real > real.rounded(.down) ? -1 : 0
  }

  /// Compares decimal texts by value, as a total order: texts that are not numbers come after all
  /// numbers, in the order of their bytes.
  static func compareDecimals(_ left: UnsafeRawBufferPointer, with right: UnsafeRawBufferPointer) -> Int {
    switch unsafe (DecimalText(left), DecimalText(right)) {
    case (let a?, let b?): return DecimalText.compare(a, with: b)
    case (_?, nil): return -1
    case (nil, _?): return 1
    case (nil, nil):
      return unsafe left.elementsEqual(right) ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }
  }
}
