// The functions of predicates, with everything about each function in one entry, which the format
// language, `#Predicate`, the compiler, the SQL functions and the evaluator in memory use. To add one,
// add a case with its entry, and a row in the generator of PredicateDifferential, whose coverage test
// reports what is missing.

internal import CipherSQLite
private import Foundation

/// A function in a predicate. It returns nil for nil.
public enum PredicateFunction: String, Sendable, Hashable, Codable, CaseIterable {
  /// A string in lower case, as Swift's `lowercased()` has it.
  case lowercase
  /// A string in upper case, as Swift's `uppercased()` has it.
  case uppercase
  /// The number of characters of a string, as Swift counts them: `count` of a string in a `#Predicate`.
  case length
  /// A number without its sign, in its own type; nil for the least `Int64`.
  ///
  /// In a `#Predicate`, `magnitude` of a `Double` or `Decimal`.
  case absolute = "abs"
  /// A string without case and nonspacing marks: what `[cd]` compares.
  case canonical
  /// The square root as a double; nil for a negative number.
  case squareRoot = "sqrt"
  /// The logarithm to the base 10 as a double; nil for 0 and below.
  case logarithm = "log"
  /// The natural logarithm as a double; nil for 0 and below.
  case naturalLogarithm = "ln"
  /// The exponential function as a double; nil on overflow.
  case exponential = "exp"
  /// The first number raised to the power of the second as a double; nil where that is not a real number,
  /// and on overflow: `raise:toPower:(2, 10)`, and `2 ** 10`.
  case raise = "raise:topower:"
  /// The least whole number that is not below a number, in the number's own type.
  case ceiling
  /// The greatest whole number that is not above a number, in the number's own type.
  case floor
  /// A number without its fraction, in its own type.
  case trunc
  /// The beginning of the day, week, month or year that contains a date:
  /// `startOf:in:(sentAt, 'month Europe/Berlin')`. Without a time zone it is UTC. See ``CalendarPeriod``.
  case periodStart = "startof:in:"
  /// A whole number that looks random, and is the same for the same number and seed:
  /// `shuffled:by:(id, 7)`. It serves a random order that can be repeated.
  case shuffled = "shuffled:by:"
}

extension PredicateFunction {
  /// The kind of an operand or of a result.
  enum Kind { case text, number, integer, date }

  /// The facts about one function.
  struct Entry: Sendable {
    /// The kinds of the operands, in order.
    let parameters: [Kind]
    /// The kind of the result; nil when it has the type of the first operand.
    let result: Kind?
    /// The function's symbol in the programs that `vault_math` runs.
    let symbol: Unicode.Scalar
    /// The properties of Swift types that mean this function in a `#Predicate`.
    let keyPaths: @Sendable () -> [AnyKeyPath]
    /// Applies the function, in SQL and in memory. There must be as many values as parameters.
    let apply: @Sendable ([SQLValue]) -> SQLValue
  }

  /// The facts about the function.
  var entry: Entry {
    switch self {
    case .lowercase:
      Entry(parameters: [.text], result: .text, symbol: "l", keyPaths: { [] }) {
        Self.text($0[0]) { $0.lowercased() }
      }
    case .uppercase:
      Entry(parameters: [.text], result: .text, symbol: "u", keyPaths: { [] }) {
        Self.text($0[0]) { $0.uppercased() }
      }
    case .length:
      Entry(parameters: [.text], result: .integer, symbol: "n", keyPaths: { [\String.count] }) {
        if case .text(let text) = $0[0] { .integer(Int64(text.count)) } else { .null }
      }
    case .absolute:
      Entry(
        parameters: [.number], result: nil, symbol: "a",
        keyPaths: { [\Double.magnitude, \Decimal.magnitude] }
      ) { ValueArithmetic.magnitude($0[0]) }
    case .canonical:
      Entry(parameters: [.text], result: .text, symbol: "k", keyPaths: { [] }) {
        Self.text($0[0]) { Folding.fold($0, [.caseInsensitive, .diacriticInsensitive]) }
      }
    case .squareRoot: Self.real("s") { $0.squareRoot() }
    case .logarithm: Self.real("g") { log10($0) }
    case .naturalLogarithm: Self.real("e") { log($0) }
    case .exponential: Self.real("x") { exp($0) }
    case .raise:
      Entry(parameters: [.number, .number], result: .number, symbol: "p", keyPaths: { [] }) {
        guard let base = $0[0].number, let exponent = $0[1].number else { return .null }
        return .finite(pow(base, exponent), infinite: base.isInfinite || exponent.isInfinite)
      }
    case .ceiling: Self.whole("c", .up)
    case .floor: Self.whole("f", .down)
    case .trunc: Self.whole("t", .towardZero)
    case .periodStart:
      Entry(parameters: [.date, .text], result: .date, symbol: "b", keyPaths: { [] }) {
        guard let date = $0[0].number, case .text(let name) = $0[1],
          let start = CalendarPeriods.named(name)?.start(of: date)
        else { return .null }
        return .real(start)
      }
    case .shuffled:
      Entry(parameters: [.integer, .integer], result: .integer, symbol: "h", keyPaths: { [] }) {
        guard let number = $0[0].int64, let seed = $0[1].int64 else { return .null }
        return .integer(Self.shuffled(number, by: seed))
      }
    }
  }

  /// Returns the number at a place of the sequence that SplitMix64 (Steele, Lea, Flood, 2014) has for a seed.
  private static func shuffled(_ number: Int64, by seed: Int64) -> Int64 {
    var bits = UInt64(bitPattern: seed) &+ UInt64(bitPattern: number) &* 0x9E37_79B9_7F4A_7C15
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return Int64(bitPattern: bits ^ bits >> 31)
  }

  private static func real(
    _ symbol: Unicode.Scalar, _ apply: @escaping @Sendable (Double) -> Double
  ) -> Entry {
    Entry(parameters: [.number], result: .number, symbol: symbol, keyPaths: { [] }) {
      guard let number = $0[0].number else { return .null }
      return .finite(apply(number), infinite: number.isInfinite)
    }
  }

  private static func whole(_ symbol: Unicode.Scalar, _ rule: FloatingPointRoundingRule) -> Entry {
    Entry(parameters: [.number], result: nil, symbol: symbol, keyPaths: { [] }) {
      ValueArithmetic.rounded($0[0], rule)
    }
  }

  private static func text(_ value: SQLValue, _ change: (String) -> String) -> SQLValue {
    if case .text(let text) = value { .text(change(text)) } else { .null }
  }

  /// Creates the function of a name in the format language, in upper or lower case, such as `abs` and
  /// `abs:`.
  init?(word: String) {
    let name = word.lowercased()
    self.init(rawValue: name.count { $0 == ":" } == 1 ? String(name.dropLast()) : name)
  }

  /// The function's name in the format language.
  var word: String {
    switch self {
    case .raise: "raise:toPower:"
    case .periodStart: "startOf:in:"
    case .shuffled: "shuffled:by:"
    default: rawValue
    }
  }

  /// Creates the function that a property of a Swift type means; nil when there is none.
  init?(keyPath: AnyKeyPath) {
    guard let found = Self.allCases.first(where: { $0.entry.keyPaths().contains(keyPath) }) else {
      return nil
    }
    self = found
  }

  /// The entries by their symbols in the programs of `vault_math`.
  static let bySymbol: [Unicode.Scalar: Entry] = Dictionary(
    allCases.map { ($0.entry.symbol, $0.entry) }, uniquingKeysWith: { first, _ in first })
}
