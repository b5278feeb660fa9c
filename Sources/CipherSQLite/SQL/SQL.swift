// SQL text with its values apart, to the last step.

/// A piece of SQL, and the values of its parameters.
///
/// Written as a literal. What is interpolated is bound, never spliced into the text:
/// ```swift
/// let name = "Robert'); DROP TABLE students;--"
/// try connection.execute("INSERT INTO students(name) VALUES (\(name))")
/// // runs: INSERT INTO students(name) VALUES (?)
/// ```
/// `\(identifier: x)` puts a name in double quotes, `\(list: xs)` makes `?, ?, ?`, and another ``SQL`` joins
/// with its values. Text made at run time has no way in; it goes through the calls with the label `sql:`. What the
/// package's own modules add for names, aliases and the like is in SQL+Building.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
  /// The text, `?` for each value.
  public private(set) var text: String
  /// The values, in order.
  public private(set) var values: [any SQLConvertible]
  /// Those of the values that are others when the text is used again.
  package private(set) var replaceable = ReplaceableValues()

  /// A literal without values.
  public init(stringLiteral value: StaticString) {
    text = value.description
    values = []
  }

  /// What the compiler makes of a literal with values.
  public init(stringInterpolation: StringInterpolation) {
    text = stringInterpolation.text
    values = stringInterpolation.values
    replaceable = stringInterpolation.replaceable
  }

  private init(text: String, values: [any SQLConvertible]) {
    self.text = text
    self.values = values
  }

  /// Puts another piece behind it, with its values.
  package mutating func append(_ piece: SQL) {
    text += piece.text
    replaceable.append(piece.replaceable, behind: values.count)
    if values.isEmpty { values = piece.values } else if !piece.values.isEmpty { values += piece.values }
  }

  /// Pieces, with a literal between them.
  public static func joined(_ pieces: [SQL], by separator: SQL = ", ") -> SQL {
    guard var joined = pieces.first else { return SQL(text: "", values: []) }
    if pieces.count > 1 {
      joined.text.reserveCapacity(pieces.reduce(0) { $0 + $1.text.utf8.count + separator.text.utf8.count })
    }
    for piece in pieces.dropFirst() {
      joined.append(separator)
      joined.append(piece)
    }
    return joined
  }

  /// Collects the pieces of a literal.
  public struct StringInterpolation: StringInterpolationProtocol {
    var text = ""
    var values: [any SQLConvertible] = []
    var replaceable = ReplaceableValues()

    /// Empty.
    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount)
    }
    /// Text of the program.
    public mutating func appendLiteral(_ literal: StaticString) { text += literal.description }
    /// A value: bound.
    public mutating func appendInterpolation(_ value: some SQLConvertible) {
      text += "?"
      values.append(value)
    }
    /// A value or NULL: bound.
    public mutating func appendInterpolation<Value: SQLConvertible>(_ value: Value?) {
      text += "?"
      values.append(value)
    }
    /// A name of a table or column: in double quotes.
    public mutating func appendInterpolation(identifier: String) { text += quoted(identifier) }
    /// Several values for `IN (…)`: each bound. None give `NULL`, which is in no list.
    public mutating func appendInterpolation(list: some Sequence<some SQLConvertible>) {
      let list = Array(list)
      text += list.isEmpty ? "NULL" : list.map { _ in "?" }.joined(separator: ", ")
      values += list
    }
    /// Another piece, with its values.
    public mutating func appendInterpolation(_ piece: SQL) {
      text += piece.text
      replaceable.append(piece.replaceable, behind: values.count)
      if values.isEmpty { values = piece.values } else if !piece.values.isEmpty { values += piece.values }
    }
  }

  /// Text with the placeholders of C's `printf`, each of which binds one value and splices nothing:
  /// `%@` and `%s` anything; `%d %i %u %ld %lld %lu %llu` an integer; `%f %g %e %lf` a number; `%%` a per cent
  /// sign. For those who come from `executeUpdateWithFormat:`.
  ///
  /// - Throws: ``SQLError/format(position:reason:sql:)`` at a placeholder that is unknown or does not suit its
  ///   value, or when the numbers of placeholders and values differ.
  public init(format: StaticString, _ values: (any SQLConvertible)?...) throws {
    var formatter = FormatReader(text: "\(format)", values: values)
    try formatter.read()
    self.init(text: formatter.output, values: formatter.bound)
  }
}

/// Turns printf's placeholders into SQL's.
private struct FormatReader {
  let text: String
  let values: [(any SQLConvertible)?]
  var output = ""
  var bound: [any SQLConvertible] = []

  private static let integers: Set<String> = [
    "d", "i", "u", "ld", "li", "lu", "lld", "lli", "llu", "qd", "zd", "zu",
  ]
  private static let reals: Set<String> = ["f", "g", "e", "lf", "F", "G", "E"]

  mutating func read() throws {
    var rest = text[...]
    while let percent = rest.firstIndex(of: "%") {
      output += rest[..<percent]
      let start = text.index(after: percent)
      var end = start
      while end < text.endIndex, "lqz".contains(text[end]) { end = text.index(after: end) }
      guard end < text.endIndex else { throw failure(percent, "the placeholder has no letter") }
      end = text.index(after: end)
      rest = text[end...]
      let letter = String(text[start..<end])
      if letter == "%" { output += "%" } else { try bind(letter, percent) }
    }
    output += rest
    guard bound.count == values.count else {
      throw failure(
        text.endIndex, "\(counted(values.count, "value")) for \(counted(bound.count, "placeholder"))")
    }
  }

  private mutating func bind(_ letter: String, _ position: String.Index) throws {
    let isAny = letter == "@" || letter == "s"
    guard isAny || Self.integers.contains(letter) || Self.reals.contains(letter) else {
      throw failure(position, "%\(letter) is no placeholder")
    }
    guard bound.count < values.count else {
      throw failure(
        position, "there \(values.count == 1 ? "is" : "are") only \(counted(values.count, "value"))")
    }
    let value: any SQLConvertible = values[bound.count] ?? SQLValue.null
    switch value.sqlValue(dates: .secondsSince1970) {
    case _ where isAny, .null: break
    case .integer: break
    case .real where Self.reals.contains(letter): break
    default: throw failure(position, "%\(letter) does not suit a \(type(of: value))")
    }
    output += "?"
    bound.append(value)
  }

  private func failure(_ index: String.Index, _ reason: String) -> SQLError {
    .format(position: text.distance(from: text.startIndex, to: index) + 1, reason: reason, sql: text)
  }
}
