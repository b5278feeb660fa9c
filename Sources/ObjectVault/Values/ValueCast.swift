// The conversions of CAST in predicates, with equal results in SQL and in memory.

internal import CipherSQLite

/// A conversion of a stored value to another type. Its raw value is its symbol in the programs that
/// `vault_math` runs. What cannot be converted becomes nil.
enum ValueCast: Unicode.Scalar {
  /// A number, or a text that is one, to an integer: without its fraction, nil beyond 64 bits.
  case integer = "I"
  /// A number, or a text that is one, to a double.
  case real = "R"
  /// A number, or a text that is one, to a decimal, with at most 38 digits.
  case decimal = "D"
  /// A number or a text to a text.
  case text = "W"
  /// A date to a text such as `2024-05-01T18:30:00.250Z`.
  case dateText = "Y"
  /// A text to a date; see ``DateText``.
  case date = "E"

  /// Returns a value in stored form, converted.
  func apply(_ value: SQLValue) -> SQLValue {
    switch self {
    case .integer:
      if case .integer = value { return value }
      if case .real(let number) = value {
        return Int64(exactly: number.rounded(.towardZero)).map { .integer($0) } ?? .null
      }
      let whole = DecimalText(value)?.truncated.floor
      return whole.map { .integer($0.value) } ?? .null
    case .real:
      guard let number = value.number else { return .null }
      return .finite(number, infinite: value.double != nil)
    case .decimal:
      guard let number = DecimalText(value) else { return .null }
      return DecimalText.calculate(number, .add, with: DecimalText()).map { .text($0.text) } ?? .null
    case .text:
      switch value {
      case .integer(let number): return .text("\(number)")
      case .real(let number): return .text("\(number)")
      case .text: return value
      case .null, .blob: return .null
      }
    case .dateText:
      guard case .real(let seconds) = value else { return .null }
      return DateText.text(seconds).map { .text($0) } ?? .null
    case .date:
      guard case .text(let text) = value else { return .null }
      return DateText.seconds(text).map { .real($0) } ?? .null
    }
  }
}
