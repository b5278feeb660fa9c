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

/// A value behind a question mark.
struct Binding {
  var value: SQLValue
  /// The captured value that it is, unchanged, of those given to the compiler.
  var source: Int?
}

/// A piece of SQL while it grows.
struct Fragment {
  var sql: String
  var bindings: [Binding] = []

  static func + (left: consuming Fragment, right: Fragment) -> Fragment {
    left.append(right)
    return left
  }

  static func + (left: consuming Fragment, right: String) -> Fragment {
    left.sql += right
    return left
  }

  static func + (left: String, right: Fragment) -> Fragment {
    Fragment(sql: left + right.sql, bindings: right.bindings)
  }

  mutating func append(_ other: Fragment) {
    sql += other.sql
    if bindings.isEmpty {
      bindings = other.bindings
    } else if !other.bindings.isEmpty {
      bindings += other.bindings
    }
  }

  static func bound(_ value: SQLValue, source: Int? = nil) -> Fragment {
    Fragment(sql: "?", bindings: [Binding(value: value, source: source)])
  }

  static func joined(_ parts: [Fragment], _ separator: String) -> Fragment {
    guard var joined = parts.first else { return Fragment(sql: "") }
    for part in parts.dropFirst() {
      joined.sql += separator
      joined.append(part)
    }
    return joined
  }
}
