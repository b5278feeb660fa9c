// What SQL needs that is put together at run time, still without a way in for a run-time String: quoted names, aliases,
// numbers and texts as literals, question marks that are filled when the statement runs. One door is open, and says so:
// SQL that a person wrote.

/// A name of a table or column, quoted once, for ``SQL`` that is made many times.
package struct SQLName: Sendable, Hashable, CustomStringConvertible {
  /// In double quotes, as it stands in SQL.
  package let description: String

  package init(_ name: String) { description = quoted(name) }
}

/// Values that are others when a text is used again, such as what a predicate captures: by their places among all values.
package struct ReplaceableValues: Sendable {
  /// The place, and the number by which whoever uses the text again knows the value.
  package private(set) var places: [(place: Int, number: Int)] = []

  package var isEmpty: Bool { places.isEmpty }

  mutating func append(_ other: ReplaceableValues, behind count: Int) {
    guard !other.places.isEmpty else { return }
    if places.isEmpty, count == 0 {
      places = other.places
    } else {
      for (place, number) in other.places { places.append((place + count, number)) }
    }
  }

  fileprivate mutating func append(_ place: Int, _ number: Int) { places.append((place, number)) }
}

extension SQL {
  /// Whether there is no text.
  package var isEmpty: Bool { text.isEmpty }

  /// The columns of a list, as `"a", "b"`.
  package static func names(_ names: some Sequence<SQLName>) -> SQL {
    .joined(names.map { "\($0)" })
  }
}

extension SQL.StringInterpolation {
  /// A quoted name.
  package mutating func appendInterpolation(_ name: SQLName) { text += name.description }

  /// A value: bound. One with a number is another when the text is used again.
  package mutating func appendInterpolation(value: SQLValue, number: Int?) {
    text += "?"
    if let number { replaceable.append(values.count, number) }
    values.append(value)
  }

  /// The alias of a table, such as `t3`.
  package mutating func appendInterpolation(alias number: Int) {
    text += "t"
    text += String(number)
  }

  /// A whole number, written out.
  package mutating func appendInterpolation(number: some BinaryInteger) { text += String(number) }

  /// A text as a literal of SQL, for what cannot be bound: defaults, and what a view or an index is made of.
  package mutating func appendInterpolation(literal: String) {
    text += literal.enclosed(in: "'")
  }

  /// So many question marks, whose values are given when the statement runs.
  package mutating func appendInterpolation(parameters count: Int) {
    guard count > 0 else { return }
    text.reserveCapacity(text.utf8.count + 3 * count)
    text += "?"
    text += String(repeating: ", ?", count: count - 1)
  }

  /// SQL that a person wrote: an expression of a migration, a default of a table. Nothing is quoted in it.
  package mutating func appendInterpolation(written: String) { text += written }
}
