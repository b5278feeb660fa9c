// Builds SQL at run time without inserting run-time strings unchecked. Names are quoted, numbers and texts
// become literals, and values are bound to question marks when the statement runs. The only exception is
// `written:`, for SQL that a person wrote.

/// The name of a table or column, quoted once, for ``SQL`` that is built many times.
package struct SQLName: Sendable, Hashable, CustomStringConvertible {
  /// The name in double quotes, as in SQL.
  package let description: String

  package init(_ name: String) { description = quoted(name) }
}

/// The positions of values that may be replaced when an SQL text is used again, such as the values that a
/// predicate captures.
package struct ReplaceableValues: Sendable {
  /// For each value: its position among all values, and the number by which the caller identifies it.
  package private(set) var places: [(place: Int, number: Int)] = []

  package var isEmpty: Bool { places.isEmpty }

  mutating func append(_ other: ReplaceableValues, after count: Int) {
    guard !other.places.isEmpty else { return }
    if places.isEmpty, count == 0 {
      places = other.places
    } else {
      for (place, number) in other.places { places.append((place + count, number)) }
    }
  }

  fileprivate mutating func append(place: Int, number: Int) { places.append((place, number)) }
}

extension SQL {
  /// Whether the text is empty.
  package var isEmpty: Bool { text.isEmpty }

  /// Returns a list of columns, such as `"a", "b"`.
  package static func names(_ names: some Sequence<SQLName>) -> SQL {
    .joined(names.map { "\($0)" })
  }
}

extension SQL.StringInterpolation {
  /// Appends a quoted name.
  package mutating func appendInterpolation(_ name: SQLName) { text += name.description }

  /// Appends a bound value. A value that has a `number` may be replaced when the text is used again.
  package mutating func appendInterpolation(value: SQLValue, number: Int?) {
    text += "?"
    if let number { replaceable.append(place: values.count, number: number) }
    values.append(value)
  }

  /// Appends the alias of a table, such as `t3`.
  package mutating func appendInterpolation(alias number: Int) {
    text += "t"
    text += String(number)
  }

  /// Appends a whole number as text.
  package mutating func appendInterpolation(number: some BinaryInteger) { text += String(number) }

  /// Appends a text as an SQL literal, for places where nothing can be bound: defaults, and the
  /// definitions of views and indexes.
  package mutating func appendInterpolation(literal: String) {
    text += literal.enclosed(in: "'")
  }

  /// Appends `count` question marks, whose values are bound when the statement runs.
  package mutating func appendInterpolation(parameters count: Int) {
    guard count > 0 else { return }
    text.reserveCapacity(text.utf8.count + 3 * count)
    text += "?"
    text += String(repeating: ", ?", count: count - 1)
  }

  /// Appends SQL that a person wrote, unchanged: an expression of a migration, a default of a table.
  package mutating func appendInterpolation(written: String) { text += written }
}
