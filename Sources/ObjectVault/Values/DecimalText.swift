// Decimal numbers as digits. They are compared and calculated here because Foundation's `Decimal` traps
// on overflow on Linux and reads "12abc" as 12.

internal import CipherSQLite
private import Foundation

/// A decimal number of any length: 0.d₁d₂d₃… × 10^exponent.
struct DecimalText: Equatable {
  var isNegative = false
  /// Digits from 0 to 9, without leading or trailing zeros; empty for 0.
  var digits: [UInt8] = []
  var exponent = 0

  /// The number of digits that every `Decimal` can hold.
  static let maximumDigits = 38
  /// The powers of ten that the last digit of a `Decimal` can have.
  private static let powers = -128...127

  init() {}

  private init(_ isNegative: Bool, _ digits: some Sequence<UInt8>, lowest: Int) {
    var digits = Array(digits)
    var lowest = lowest
    while digits.last == 0 {
      digits.removeLast()
      lowest += 1
    }
    digits.removeFirst(digits.firstIndex { $0 != 0 } ?? digits.count)
    self.digits = digits
    exponent = digits.isEmpty ? 0 : lowest + digits.count
    self.isNegative = isNegative && !digits.isEmpty
  }

  /// Parses a number such as `-12.50` or `1e-7`; nil unless the whole text is a number.
  init?(_ text: some Sequence<UInt8>) {
    var digits: [UInt8] = []
    var (isNegative, hasDigit, fraction) = (false, false, -1)
    var (power, powerSign, powerDigits, powerStart) = (0, 1, -1, -1)
    for (index, byte) in text.enumerated() {
      switch byte {
      case 0x2B where index == 0: continue
      case 0x2D where index == 0: isNegative = true
      case 0x2B where powerStart == index, 0x2D where powerStart == index: powerSign = byte == 0x2D ? -1 : 1
      case 0x30...0x39 where powerDigits >= 0:
        power = min(power * 10 + Int(byte & 15), 1_000_000)
        powerDigits += 1
      case 0x30...0x39:
        digits.append(byte & 15)
        hasDigit = true
        if fraction >= 0 { fraction += 1 }
      case 0x2E where fraction < 0 && powerDigits < 0: fraction = 0
      case 0x65 where hasDigit && powerDigits < 0, 0x45 where hasDigit && powerDigits < 0:
        (powerDigits, powerStart) = (0, index + 1)
      default: return nil
      }
    }
    guard hasDigit, powerDigits != 0 else { return nil }
    self.init(isNegative, digits, lowest: powerSign * power - max(fraction, 0))
  }

  /// Returns whether a text has the stored form of a decimal: an optional minus sign, digits with an
  /// optional point between them, no exponent.
  static func isStored(_ text: String) -> Bool {
    let parts = (text.hasPrefix("-") ? text.dropFirst() : text[...]).utf8.split(
      separator: 0x2E, maxSplits: 1, omittingEmptySubsequences: false)
    return parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { (0x30...0x39).contains($0) } }
  }

  /// Creates the number that a stored value represents; nil when the value is not a finite number.
  ///
  /// A double with a fraction becomes its shortest decimal, so that 0.1 is 0.1; a whole double keeps its
  /// exact value.
  init?(_ value: SQLValue) {
    switch value {
    case .integer(let number): self.init("\(number)".utf8)
    case .real(let number):
      guard number.isFinite else { return nil }
      self.init((abs(number) < 0x1p53 ? "\(number)" : String(format: "%.0f", number)).utf8)
    case .text(let text): self.init(text.utf8)
    case .null, .blob: return nil
    }
  }

  /// The power of ten of the last digit.
  private var lowest: Int { exponent - digits.count }

  /// Returns the digits, extended with zeros down to a power of ten that is not above ``lowest``.
  private func digits(downTo power: Int) -> [UInt8] {
    digits + [UInt8](repeating: 0, count: max(0, lowest - power))
  }

  /// The number written out, without an exponent.
  var text: String {
    if digits.isEmpty { return "0" }
    var result = isNegative ? "-" : ""
    let written = digits.map { Character(Unicode.Scalar($0 + 0x30)) }
    if exponent <= 0 {
      result += "0." + String(repeating: "0", count: -exponent) + written
    } else if exponent >= written.count {
      result += written + String(repeating: "0", count: exponent - written.count)
    } else {
      result += written[..<exponent] + "." + written[exponent...]
    }
    return result
  }

  /// The largest integer that is not above the number, and whether both are equal; nil outside 64 bits.
  var floor: (value: Int64, isExact: Bool)? {
    if digits.isEmpty { return (0, true) }
    guard exponent <= 19 else { return nil }
    let whole = exponent <= 0 ? [] : Array(digits(downTo: 0).prefix(exponent))
    let text = String(whole.map { Character(Unicode.Scalar($0 + 0x30)) })
    guard let value = Int64((isNegative ? "-" : "") + (text.isEmpty ? "0" : text)) else { return nil }
    let isExact = lowest >= 0
    guard !isExact, isNegative else { return (value, isExact) }
    let (below, overflows) = value.subtractingReportingOverflow(1)
    return overflows ? nil : (below, false)
  }

  /// The number without its fraction.
  var truncated: DecimalText {
    lowest >= 0 ? self : DecimalText(isNegative, digits.prefix(max(0, exponent)), lowest: 0)
  }

  // MARK: Order

  /// Compares two numbers: -1, 0 or 1.
  static func compare(_ a: DecimalText, with b: DecimalText) -> Int {
    if a.isNegative != b.isNegative { return a.isNegative ? -1 : 1 }
    return a.isNegative ? -magnitudes(a, comparedWith: b) : magnitudes(a, comparedWith: b)
  }

  private static func magnitudes(_ a: DecimalText, comparedWith b: DecimalText) -> Int {
    if a.digits.isEmpty || b.digits.isEmpty { return a.digits.count.signum() - b.digits.count.signum() }
    if a.exponent != b.exponent { return a.exponent < b.exponent ? -1 : 1 }
    for (left, right) in zip(a.digits, b.digits) where left != right { return left < right ? -1 : 1 }
    return (a.digits.count - b.digits.count).signum()
  }

  // MARK: Calculations

  /// Returns the result with at most 38 digits; nil on overflow and division by zero.
  static func calculate(_ a: DecimalText, _ operation: ArithmeticOperator, with b: DecimalText)
    -> DecimalText?
  {
    guard let a = a.rounded(), let b = b.rounded() else { return nil }
    switch operation {
    case .add: return sum(a, and: b).rounded()
    case .subtract:
      var negative = b
      negative.isNegative = !b.isNegative && !b.digits.isEmpty
      return sum(a, and: negative).rounded()
    case .multiply:
      let digits = product(a.digits, times: b.digits)
      return DecimalText(a.isNegative != b.isNegative, digits, lowest: a.lowest + b.lowest).rounded()
    case .divide:
      guard !b.digits.isEmpty else { return nil }
      // Enough digits for 38 in the result, and one more to round by.
      let extra = max(0, maximumDigits + 2 + b.digits.count - a.digits.count)
      let (quotient, _) = divided(a.digits + [UInt8](repeating: 0, count: extra), by: b.digits)
      let lowest = a.lowest - extra - b.lowest
      return DecimalText(a.isNegative != b.isNegative, quotient, lowest: lowest).rounded()
    case .remainder:
      guard !b.digits.isEmpty else { return nil }
      let low = min(a.lowest, b.lowest)
      let (_, rest) = divided(a.digits(downTo: low), by: b.digits(downTo: low))
      return DecimalText(a.isNegative, rest, lowest: low).rounded()
    }
  }

  /// Returns the number rounded to what a `Decimal` can hold; nil when it is too large.
  private func rounded() -> DecimalText? {
    if digits.isEmpty { return self }
    let keep = min(Self.maximumDigits, exponent - Self.powers.lowerBound)
    if keep < 0 { return DecimalText() }
    var result = self
    if digits.count > keep {
      var kept = Array(digits[..<keep])
      if digits[keep] >= 5 { kept = Self.added([0] + kept, to: [1]) }
      result = DecimalText(isNegative, kept, lowest: exponent - keep)
    }
    // A `Decimal` has 128 bits for its digits, so it also holds 39 digits up to about 3.4 × 10^38. Hence
    // the 1.
    let isTooLarge = result.exponent > Self.powers.upperBound + Self.maximumDigits + 1
    return isTooLarge ? nil : result
  }

  /// Whether a `Decimal` can hold the number exactly.
  var isRepresentable: Bool { rounded() == self }

  /// Returns the exact sum, of any length.
  static func sum(_ a: DecimalText, and b: DecimalText) -> DecimalText {
    let low = min(a.digits.isEmpty ? b.lowest : a.lowest, b.digits.isEmpty ? a.lowest : b.lowest)
    let (left, right) = (a.digits(downTo: low), b.digits(downTo: low))
    if a.isNegative == b.isNegative {
      return DecimalText(a.isNegative, added(left, to: right), lowest: low)
    }
    return magnitudes(a, comparedWith: b) >= 0
      ? DecimalText(a.isNegative, subtracted(left, minus: right), lowest: low)
      : DecimalText(b.isNegative, subtracted(right, minus: left), lowest: low)
  }

  private static func added(_ a: [UInt8], to b: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: max(a.count, b.count) + 1)
    var carry: UInt8 = 0
    for place in 1...result.count {
      let digit =
        (place <= a.count ? a[a.count - place] : 0) + (place <= b.count ? b[b.count - place] : 0) + carry
      result[result.count - place] = digit % 10
      carry = digit / 10
    }
    return result
  }

  /// Returns `a - b`. `a` must not be less than `b`.
  private static func subtracted(_ a: [UInt8], minus b: [UInt8]) -> [UInt8] {
    var result = a
    var borrow: Int8 = 0
    for place in 1...max(1, a.count) where place <= a.count {
      var digit = Int8(a[a.count - place]) - borrow
      if place <= b.count { digit -= Int8(b[b.count - place]) }
      borrow = digit < 0 ? 1 : 0
      result[a.count - place] = UInt8(digit < 0 ? digit + 10 : digit)
    }
    return result
  }

  private static func product(_ a: [UInt8], times b: [UInt8]) -> [UInt8] {
    var sums = [Int](repeating: 0, count: a.count + b.count)
    for (i, x) in a.enumerated() { for (j, y) in b.enumerated() { sums[i + j + 1] += Int(x) * Int(y) } }
    for index in sums.indices.dropFirst().reversed() {
      sums[index - 1] += sums[index] / 10
      sums[index] %= 10
    }
    return sums.map { UInt8($0) }
  }

  private static func divided(_ a: [UInt8], by b: [UInt8]) -> (quotient: [UInt8], rest: [UInt8]) {
    var (quotient, rest): ([UInt8], [UInt8]) = ([], [])
    for digit in a {
      if !rest.isEmpty || digit > 0 { rest.append(digit) }
      var count: UInt8 = 0
      while rest.count > b.count || (rest.count == b.count && !rest.lexicographicallyPrecedes(b)) {
        rest = Array(subtracted(rest, minus: b).drop { $0 == 0 })
        count += 1
      }
      quotient.append(count)
    }
    return (quotient, rest)
  }
}
