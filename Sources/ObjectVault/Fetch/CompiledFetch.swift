// SQL text with its bindings, as the compiler makes it.

public import CipherSQLite

/// The SQL of a fetch, with the values bound to its question marks.
public struct CompiledFetch: Sendable, Hashable {
  /// The statement.
  public internal(set) var text: String
  /// The values, in the order of the question marks.
  public internal(set) var bindings: [SQLValue]
}

extension CompiledFetch: CustomStringConvertible {
  /// The statement, and below it a line for each binding.
  public var description: String {
    ([text] + bindings.enumerated().map { "  ?\($0.offset + 1) = \($0.element.literal)" }).joined(
      separator: "\n")
  }
}

extension SQLValue {
  /// The value as it would stand in SQL, for reading.
  var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let value): "'\(value.replacing("'", with: "''"))'"
    case .blob(let value): "\(value.count) bytes"
    }
  }
}

/// A piece of SQL while it grows.
struct Fragment {
  var sql: String
  var bindings: [SQLValue] = []

  static func + (left: Fragment, right: Fragment) -> Fragment {
    Fragment(sql: left.sql + right.sql, bindings: left.bindings + right.bindings)
  }

  static func + (left: Fragment, right: String) -> Fragment {
    Fragment(sql: left.sql + right, bindings: left.bindings)
  }

  static func + (left: String, right: Fragment) -> Fragment {
    Fragment(sql: left + right.sql, bindings: right.bindings)
  }

  static func bound(_ value: SQLValue) -> Fragment { Fragment(sql: "?", bindings: [value]) }

  static func joined(_ parts: [Fragment], _ separator: String) -> Fragment {
    Fragment(sql: parts.map(\.sql).joined(separator: separator), bindings: parts.flatMap(\.bindings))
  }
}
