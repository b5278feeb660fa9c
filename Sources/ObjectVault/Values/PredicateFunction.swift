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
}

extension PredicateFunction {
  /// The kind of an operand or of a result.
  enum Kind { case text, number, integer }

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
    }
  }

  private static func text(_ value: SQLValue, _ change: (String) -> String) -> SQLValue {
    if case .text(let text) = value { .text(change(text)) } else { .null }
  }

  /// Creates the function of a name in the format language, in upper or lower case.
  init?(word: String) { self.init(rawValue: word.lowercased()) }

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
