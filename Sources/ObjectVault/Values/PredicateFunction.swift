// The functions of predicates, all that there is to say of each in one entry: the format language, `#Predicate`, the
// compiler, the store's SQL functions and the evaluator in memory read it here. A new one is a case and its entry, and a
// row in the generator of PredicateDifferential, whose coverage test names what is missing.

internal import CipherSQLite
private import Foundation

/// A function in a predicate. What is given nil gives nil.
public enum PredicateFunction: String, Sendable, Hashable, Codable, CaseIterable {
  /// A string in lower case, as Swift's `lowercased()` has it.
  case lowercase
  /// A string in upper case, as Swift's `uppercased()` has it.
  case uppercase
  /// How many characters a string has, as Swift counts them: `count` of a string in a `#Predicate`.
  case length
  /// A number without its sign, of the type that it has; nil for the least `Int64`. In a `#Predicate`, `magnitude` of
  /// a `Double` or `Decimal`.
  case absolute = "abs"
}

extension PredicateFunction {
  /// What an operand has to be, and what comes out.
  enum Kind { case text, number, integer }

  struct Entry: Sendable {
    /// What the operands have to be, in order.
    let parameters: [Kind]
    /// What comes out; nil for what the first operand is.
    let result: Kind?
    /// Its name in the program that both engines hand to `vault_math`.
    let symbol: Unicode.Scalar
    /// The properties of Swift's types that mean it in a `#Predicate`.
    let keyPaths: @Sendable () -> [AnyKeyPath]
    /// Its meaning, in SQL and in memory. There are as many values as parameters.
    let apply: @Sendable ([SQLValue]) -> SQLValue
  }

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

  /// By the name that the format language has for it, in either case.
  init?(word: String) { self.init(rawValue: word.lowercased()) }

  /// By a property of a Swift type.
  init?(keyPath: AnyKeyPath) {
    guard let found = Self.allCases.first(where: { $0.entry.keyPaths().contains(keyPath) }) else {
      return nil
    }
    self = found
  }

  /// By the symbol in a program.
  static let bySymbol: [Unicode.Scalar: Entry] = Dictionary(
    allCases.map { ($0.entry.symbol, $0.entry) }, uniquingKeysWith: { first, _ in first })
}
