// SQL text, with its values kept separately until the statement runs.

/// A fragment of SQL, and the values of its parameters.
///
/// Written as a literal. Interpolated values are bound, never spliced into the text:
/// ```swift
/// let name = "Robert'); DROP TABLE students;--"
/// try connection.execute("INSERT INTO students(name) VALUES (\(name))")
/// // runs: INSERT INTO students(name) VALUES (?)
/// ```
/// `\(identifier: x)` puts a name in double quotes, `\(list: xs)` becomes `?, ?, ?`, and another ``SQL``
/// is inserted with its values. An interpolated `String` is a bound value. SQL text that is built at run
/// time cannot be interpolated; pass it to the methods with the label `sql:`. Interpolations for this
/// package's own modules are in SQL+Building.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
  /// The text, with `?` for each value.
  public private(set) var text: String
  /// The values, in order.
  public private(set) var values: [any SQLConvertible]
  /// The values that may be replaced when the text is used again.
  package private(set) var replaceable = ReplaceableValues()

  /// Creates a fragment from a literal without values.
  public init(stringLiteral value: StaticString) {
    text = value.description
    values = []
  }

  /// Creates a fragment from a literal with values; called by the compiler.
  public init(stringInterpolation: StringInterpolation) {
    text = stringInterpolation.text
    values = stringInterpolation.values
    replaceable = stringInterpolation.replaceable
  }

  private init(text: String, values: [any SQLConvertible]) {
    self.text = text
    self.values = values
  }

  /// Appends another fragment with its values.
  package mutating func append(_ piece: SQL) {
    text += piece.text
    replaceable.append(piece.replaceable, after: values.count)
    if values.isEmpty { values = piece.values } else if !piece.values.isEmpty { values += piece.values }
  }

  /// Joins fragments, with a separator between them.
  /// - Parameters:
  ///   - pieces: The fragments.
  ///   - separator: The separator.
  /// - Returns: One fragment with all values, in order.
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

  /// Collects the parts of a literal.
  public struct StringInterpolation: StringInterpolationProtocol {
    var text = ""
    var values: [any SQLConvertible] = []
    var replaceable = ReplaceableValues()

    /// Creates an empty interpolation; called by the compiler.
    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount)
    }
    /// Appends literal text of the program.
    public mutating func appendLiteral(_ literal: StaticString) { text += literal.description }
    /// Appends a bound value.
    public mutating func appendInterpolation(_ value: some SQLConvertible) {
      text += "?"
      values.append(value)
    }
    /// Appends a bound value, or NULL for nil.
    public mutating func appendInterpolation<Value: SQLConvertible>(_ value: Value?) {
      text += "?"
      values.append(value)
    }
    /// Appends the name of a table or column, in double quotes.
    public mutating func appendInterpolation(identifier: String) { text += quoted(identifier) }
    /// Appends several bound values for `IN (…)`; an empty list becomes `NULL`, which matches nothing.
    public mutating func appendInterpolation(list: some Sequence<some SQLConvertible>) {
      let list = Array(list)
      text += list.isEmpty ? "NULL" : list.map { _ in "?" }.joined(separator: ", ")
      values += list
    }
    /// Appends another fragment with its values.
    public mutating func appendInterpolation(_ piece: SQL) {
      text += piece.text
      replaceable.append(piece.replaceable, after: values.count)
      if values.isEmpty { values = piece.values } else if !piece.values.isEmpty { values += piece.values }
    }
  }

  /// Creates a fragment from text with the placeholders of C's `printf`, each of which gets one bound value.
  ///
  /// `%@` and `%s` accept any value; `%d %i %u %ld %li %lu %lld %lli %llu %qd %zd %zu` an integer or nil;
  /// `%f %F %g %G %e %E %lf` a number or nil; `%%` is a per cent sign. For code that used
  /// `executeUpdateWithFormat:`.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - values: One value for each placeholder.
  /// - Throws: ``SQLError/format(position:reason:sql:)`` at a placeholder that is unknown or incomplete,
  ///   or does not match its value, or when the numbers of placeholders and values differ.
  public init(format: StaticString, _ values: (any SQLConvertible)?...) throws {
    var formatter = FormatReader(text: "\(format)", values: values)
    try formatter.read()
    self.init(text: formatter.output, values: formatter.bound)
  }
}

/// Converts printf's placeholders to SQL's.
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
      throw failure(position, "%\(letter) is not a placeholder")
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
    default: throw failure(position, "%\(letter) does not accept a \(type(of: value))")
    }
    output += "?"
    bound.append(value)
  }

  private func failure(_ index: String.Index, _ reason: String) -> SQLError {
    .format(position: text.distance(from: text.startIndex, to: index) + 1, reason: reason, sql: text)
  }
}
