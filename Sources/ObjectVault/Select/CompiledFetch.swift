// SQL text with its bindings, as the compiler makes it.

public import CipherSQLite

/// The SQL of a fetch, with the values bound to its question marks.
public struct CompiledFetch: Sendable, Hashable {
  /// The statement.
  public internal(set) var text: String
  /// The values, in the order of the question marks.
  public internal(set) var bindings: [SQLValue]
  /// The same for whole rows, as they are fetched.
  var rowsQuery: RowsQuery
}

extension CompiledFetch: CustomStringConvertible {
  /// The statement, and below it a line for each binding.
  public var description: String {
    ([text] + bindings.enumerated().map { "  ?\($0.offset + 1) = \($0.element.literal)" }).joined(
      separator: "\n")
  }
}

/// A value behind a question mark.
struct Binding {
  var value: SQLValue
  /// The captured value that it is, unchanged, of those given to the compiler.
  var source: Int?
}

extension SQL {
  /// A question mark with its value.
  static func bound(_ value: SQLValue, source: Int? = nil) -> SQL { "\(value: value, number: source)" }

  /// The values of the question marks, in order.
  var bindings: [Binding] {
    var bindings = values.map { Binding(value: $0.sqlValue(dates: .secondsSince1970)) }
    for (place, number) in replaceable.places { bindings[place].source = number }
    return bindings
  }

  /// The value of a single question mark.
  var boundValue: SQLValue? { values.first?.sqlValue(dates: .secondsSince1970) }
}
