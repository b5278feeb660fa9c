// A position in the words of one line of a migration file, and functions that take the next words.
// MigrationWords splits the line into words; MigrationLine+Operations parses whole operations.

internal import Foundation

struct MigrationLine {
  private let file: String
  private let number: Int
  private let line: MigrationWords
  private var index = 0
  private var words: [MigrationWords.Word] { line.words }

  /// Splits a line into words.
  /// - Throws: ``StoreError/migrationSyntax(_:)`` for a string without a closing quote, and for an
  ///   unknown escape.
  init(_ text: String, file: String, number: Int) throws {
    (self.file, self.number, line) = (file, number, MigrationWords(text))
    if let column = line.openText {
      throw failure(
        "this text is not closed", hint: "close it with \" on the same line; write \\n for a line break",
        at: column)
    }
    if let column = line.unknownEscape {
      let sign = line.scalars[column + 1]
      throw failure(
        "\\\(sign) has no meaning in a text",
        hint:
          "write \\\\ for a backslash; in a released step, remove the backslash, which had no effect; valid "
          + "are \\n, "
          + "\\r, \\\" and \\\\", at: column)
    }
  }

  func failure(_ reason: String, hint: String, at column: Int? = nil) -> StoreError {
    .migrationSyntax(
      MigrationSyntaxError(
        file: file, line: number, column: (column ?? self.column) + 1, reason: reason, hint: hint))
  }

  // MARK: Words

  /// The next word; nil at the end of the line and at a quoted string.
  var next: String? { index < words.count && !words[index].isString ? words[index].text : nil }

  /// The column of the next word, or of the end of the line, counted from 0.
  var column: Int { index < words.count ? words[index].column : line.end }

  /// The column of the first unquoted word that equals `word`; nil if the line has none.
  func column(of word: String) -> Int? { words.first { !$0.isString && $0.text == word }?.column }

  mutating func skip() { index += 1 }

  mutating func take(_ word: String) -> Bool {
    guard next == word else { return false }
    index += 1
    return true
  }

  mutating func expect(_ word: String) throws {
    guard take(word) else {
      throw failure(
        "\(word) is missing\(next.map { " before \($0)" } ?? "")", hint: "write \(word) here")
    }
  }

  /// Takes the brace that opens a block of SQL. It is the last word of the line, because the SQL after it
  /// is not split into words.
  /// - Returns: The number of scalars before the block's SQL.
  mutating func brace(after word: String) throws -> Int {
    guard take("{") else {
      throw failure("{ is missing after \(word)", hint: "write the SQL in braces")
    }
    return line.sqlColumn ?? line.end
  }

  var isAtEnd: Bool { index == words.count }

  mutating func end() throws {
    guard index < words.count else { return }
    throw failure("\"\(words[index].text)\" has no meaning here", hint: "end the line before it")
  }

  private static let composedLetters =
    "its accents are separate characters: write it with composed letters"

  mutating func name(_ what: String) throws -> String {
    guard let word = next, Schema.isIdentifier(word) else {
      throw failure(
        "\(what) is missing\(next.map { "; \"\($0)\" is not a name" } ?? "")",
        hint: next.map { Schema.isIdentifier($0.precomposedStringWithCanonicalMapping) } == true
          ? Self.composedLetters
          : "a name begins with a letter, has letters, digits and underscores, and has at most "
            + "\(SchemaFault.longestName) bytes"
      )
    }
    index += 1
    return word
  }

  /// Takes a word of the form `Entity.property`.
  mutating func property() throws -> (String, String) {
    guard let word = next else {
      throw failure("Entity.property is missing", hint: "write it like User.city")
    }
    let parts = word.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, parts.allSatisfy(Schema.isIdentifier) else {
      // Whether the names are invalid only because some of their accents are separate characters.
      let isDecomposed = parts.allSatisfy {
        Schema.isIdentifier($0.precomposedStringWithCanonicalMapping)
      }
      throw failure(
        "\"\(word)\" is not of the form Entity.property",
        hint: parts.count == 2 && parts.contains { $0.utf8.count > SchemaFault.longestName }
          ? "a name has at most \(SchemaFault.longestName) bytes"
          : parts.count == 2 && isDecomposed ? Self.composedLetters : "write it like User.city")
    }
    index += 1
    return (parts[0], parts[1])
  }

  mutating func string(_ what: String) throws -> String {
    guard index < words.count, words[index].isString else {
      throw failure("\(what) is missing", hint: "write it in double quotes")
    }
    index += 1
    return words[index - 1].text
  }

  mutating func type() throws -> AttributeType {
    guard let word = next else {
      throw failure("the type is missing", hint: "types are \(Self.typeNames.joined(separator: " "))")
    }
    guard let type = AttributeType(rawValue: word == "int64" ? "int" : word) else {
      if Self.attributeOptions.contains(word) {
        throw failure(
          "the type is missing before \(word)",
          hint: "write it after the name; types are \(Self.typeNames.joined(separator: " "))")
      }
      throw failure("\"\(word)\" is not a type", hint: Self.hint(forType: word))
    }
    index += 1
    return type
  }

  private static let typeNames = AttributeType.allCases.map(\.rawValue)

  private static func hint(forType word: String) -> String {
    // The word is spelled as in Swift: `String?`.
    if word.hasSuffix("?"), let type = nearest(String(word.dropLast()), among: typeNames).first {
      return "for an attribute that may be nil, write optional after its type: \(type) optional"
    }
    return didYouMean(nearest(word, among: typeNames)) ?? "types are \(typeNames.joined(separator: " "))"
  }

  /// Takes a number, a Boolean or a quoted string.
  /// - Parameter form: The form that an error suggests.
  mutating func value(_ form: String = "a number, true, false or a \"text\"") throws -> DefaultValue {
    let before = index > 0 && !words[index - 1].isString ? words[index - 1].text : ""
    guard index < words.count else {
      throw failure("a value is missing after \(before)", hint: "write \(form)")
    }
    let word = words[index]
    index += 1
    if word.isString { return .text(word.text) }
    if word.text == "true" { return .integer(1) }
    if word.text == "false" { return .integer(0) }
    if let value = Int64(word.text) { return .integer(value) }
    if let value = Double(word.text), value.isFinite { return .real(value) }
    index -= 1
    throw failure(
      "\"\(word.text)\" is not a value", hint: Self.hint(forValue: word.text, after: before, form))
  }

  mutating func kind(_ kinds: [String]) throws -> String {
    guard let word = next, kinds.contains(word) else {
      throw failure(
        next.map { "\"\($0)\" is not one of \(kinds.joined(separator: ", "))" }
          ?? "\(kinds.joined(separator: " or ")) is missing",
        hint: next.map { didYouMean(nearest($0, among: kinds)) ?? "write one of these" }
          ?? "write one of these")
    }
    index += 1
    return word
  }

  mutating func names() throws -> [String] {
    try expect("(")
    var names = [try name("a property's name")]
    var seen = Set(names)
    while take(",") {
      let column = column
      let name = try name("a property's name")
      guard seen.insert(name).inserted else {
        throw failure("\(name) occurs here twice", hint: "name each property once", at: column)
      }
      names.append(name)
    }
    try expect(")")
    return names
  }

  /// Takes the SQL in the brackets after `using` or `picking`, without changing its text.
  mutating func expression(after word: String) throws -> String {
    let before = String(line.scalars[..<(line.sqlColumn ?? line.end)]).utf8.count
    var scanner = SQLScanner(Array(String(line.scalars).utf8), from: before)
    while let scalar = scanner.scalar(at: scanner.position), scalar.properties.isWhitespace {
      scanner.position += UTF8.width(scalar)
    }
    let start = scanner.position
    let column = scanner.scalarCount(before: start)
    guard scanner.scalar(at: start) == "(" else {
      throw failure(
        "( … ) is missing after \(word)", hint: "write an SQL expression in parentheses", at: column)
    }
    var depth = 0
    while let piece = scanner.next() {
      // A `--` comment would include the rest of the line, with the closing bracket.
      guard piece.kind != .comment || scanner.sign(of: piece) == "/" else {
        throw failure(
          "this comment includes the rest of the line, with the )", hint: "write it as /* … */",
          at: scanner.scalarCount(before: piece.range.lowerBound))
      }
      guard piece.isClosed else { break }
      guard piece.kind == .other else { continue }
      let sign = scanner.sign(of: piece)
      if sign == "(" { depth += 1 }
      if sign == ")" { depth -= 1 }
      guard depth == 0 else { continue }
      let rest = line.scalars[scanner.scalarCount(before: scanner.position)...].drop {
        $0.properties.isWhitespace
      }
      guard rest.isEmpty || rest.first == "#" else {
        throw failure("there is text after )", hint: "end the line there", at: rest.startIndex)
      }
      let expression = scanner.text(start + 1..<piece.range.lowerBound)[...].trimmed
      guard !expression.isEmpty else {
        throw failure("the parentheses are empty", hint: "write an SQL expression", at: column)
      }
      return expression
    }
    throw failure(
      "the parenthesis after \(word) is not closed on this line", hint: "close it with ) on this line",
      at: column)
  }
}
