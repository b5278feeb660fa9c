// The tokens of the format language, each with its position in the text. The text is read by Unicode
// scalars: read by characters, a quote before a combining mark would not be a quote.

internal import CipherSQLite

struct FormatToken {
  enum Kind: Equatable {
    case word(String)
    /// A word after a `#`, which is always the name of a property.
    case name(String)
    case string(String)
    case integer(Int64)
    case real(Double)
    /// The digits of a number that is no `Int64`, and whose digits a `Double` does not preserve.
    case decimal(String)
    case symbol(String)
    /// `%@`, `%K` and the typed placeholders, by their letters.
    case placeholder(String)
    case end
  }
  let kind: Kind
  /// The position in Unicode scalars, counted from 0.
  let position: Int
}

struct FormatLexer {
  private let scalars: [Unicode.Scalar]
  private var index = 0

  private init(_ text: String) { scalars = Array(text.unicodeScalars) }

  /// Returns all tokens of a text; the last one is ``FormatToken/Kind/end``.
  static func tokens(of text: String) throws -> [FormatToken] {
    guard text.utf8.count <= PredicateError.maximumFormatBytes else {
      throw StoreError.predicate(
        PredicateError(
          "the format has \(text.utf8.count) bytes; at most \(PredicateError.maximumFormatBytes) are "
            + "allowed"))
    }
    var lexer = FormatLexer(text)
    var tokens: [FormatToken] = []
    repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
    return tokens
  }

  private func failure(_ reason: String, at place: Int) -> StoreError {
    .predicate(PredicateError(reason, place: place))
  }

  private mutating func next() throws -> FormatToken {
    while index < scalars.count, scalars[index].properties.isWhitespace { index += 1 }
    let start = index
    guard index < scalars.count else { return FormatToken(kind: .end, position: start) }
    let scalar = scalars[index]
    if scalar == "\"" || scalar == "'" { return try quotedString(scalar, start) }
    if isDigit(index) { return try number(start) }
    if scalar == "%", !isNext("%%") { return try placeholder(start) }
    if scalar == "#" {
      index += 1
      guard index < scalars.count, isWordStart(scalars[index]) else {
        throw failure("# must be followed by the name of a property", at: start)
      }
      return FormatToken(kind: .name(word()), position: start)
    }
    if isWordStart(scalar) || scalar == "@" || scalar == "$" {
      return FormatToken(kind: .word(selector(word())), position: start)
    }
    for symbol in Self.pairs where isNext(symbol) {
      index += 2
      return FormatToken(kind: .symbol(symbol), position: start)
    }
    guard "=<>!(){}[],.+-*/".unicodeScalars.contains(scalar) else {
      throw failure("the character \(Character(scalar)) has no meaning here", at: start)
    }
    index += 1
    return FormatToken(kind: .symbol(String(Character(scalar))), position: start)
  }

  /// The symbols of two characters, which are tried before symbols of one.
  private static let pairs =
    ComparisonOperator.byWord.keys.filter { $0.unicodeScalars.count == 2 } + ["&&", "||", "**", "%%"]

  private func isNext(_ text: String) -> Bool { scalars[index...].starts(with: text.unicodeScalars) }

  private func isDigit(_ index: Int) -> Bool { index < scalars.count && ("0"..."9").contains(scalars[index]) }

  // The characters of schema identifiers, and combining marks for names that were typed in decomposed
  // form.
  private func isWordStart(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar.properties.isAlphabetic
  }

  private func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
    if isWordStart(scalar) || scalar.properties.numericType == .decimal { return true }
    return [.nonspacingMark, .spacingMark].contains(scalar.properties.generalCategory)
  }

  private mutating func word() -> String {
    let start = index
    index += 1
    while index < scalars.count, isWordPart(scalars[index]) { index += 1 }
    return text(start..<index)
  }

  /// Reads the rest of a name with colons, such as `raise:toPower:`, after its first word.
  private mutating func selector(_ first: String) -> String {
    let start = index
    while index < scalars.count, scalars[index] == ":" {
      index += 1
      if index < scalars.count, isWordStart(scalars[index]) { _ = word() }
    }
    return first + text(start..<index)
  }

  private func text(_ range: Range<Int>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars[range])
    return String(view)
  }

  // MARK: Strings

  private mutating func quotedString(_ quote: Unicode.Scalar, _ start: Int) throws -> FormatToken {
    index += 1
    var value = String.UnicodeScalarView()
    while index < scalars.count, scalars[index] != quote {
      if scalars[index] == "\\" {
        value.append(try escaped())
      } else {
        value.append(scalars[index])
        index += 1
      }
    }
    guard index < scalars.count else {
      throw failure("this string has no closing \(Character(quote))", at: start)
    }
    index += 1
    return FormatToken(kind: .string(String(value)), position: start)
  }

  /// Reads an escape sequence: one with the meaning that it has in Swift, or `\uXXXX`. A backslash before
  /// any other character stays, so that the backslashes of LIKE need not be doubled.
  private mutating func escaped() throws -> Unicode.Scalar {
    index += 1
    guard index < scalars.count else { return "\\" }
    let plain: Unicode.Scalar
    switch scalars[index] {
    case "n": plain = "\n"
    case "r": plain = "\r"
    case "t": plain = "\t"
    case "0": plain = "\0"
    case "\"", "'", "\\": plain = scalars[index]
    case "u": return try numbered()
    default: return "\\"
    }
    index += 1
    return plain
  }

  /// Reads `\uXXXX`, or two of them as a surrogate pair for a code point above U+FFFF.
  private mutating func numbered() throws -> Unicode.Scalar {
    let start = index - 1
    guard let unit = codeUnit(at: index) else { return "\\" }
    index += 5
    if let scalar = Unicode.Scalar(unit) { return scalar }
    if UTF16.isLeadSurrogate(unit), index < scalars.count, scalars[index] == "\\",
      let second = codeUnit(at: index + 1), UTF16.isTrailSurrogate(second)
    {
      index += 6
      let bits = (UInt32(unit) & 0x3FF) << 10 | (UInt32(second) & 0x3FF)
      return Unicode.Scalar(bits + 0x10000) ?? "\u{FFFD}"
    }
    throw failure(
      "\\u\(String(unit, radix: 16)) is half of a surrogate pair; the other half is missing", at: start)
  }

  private func codeUnit(at place: Int) -> UInt16? {
    guard place + 4 < scalars.count, scalars[place] == "u" else { return nil }
    let digits = text(place + 1..<place + 5)
    return digits.allSatisfy(\.isHexDigit) ? UInt16(digits, radix: 16) : nil
  }

  // MARK: Numbers and placeholders

  private mutating func number(_ start: Int) throws -> FormatToken {
    if let value = try prefixedNumber(start) { return FormatToken(kind: .integer(value), position: start) }
    var isReal = false
    while isDigit(index) { index += 1 }
    if index < scalars.count, scalars[index] == ".", isDigit(index + 1) {
      isReal = true
      index += 1
      while isDigit(index) { index += 1 }
    }
    if index < scalars.count, scalars[index] == "e" || scalars[index] == "E" {
      let isSigned = index + 1 < scalars.count && (scalars[index + 1] == "-" || scalars[index + 1] == "+")
      if isDigit(index + (isSigned ? 2 : 1)) {
        isReal = true
        index += isSigned ? 2 : 1
        while isDigit(index) { index += 1 }
      }
    }
    let digits = text(start..<index)
    if !isReal, let value = Int64(digits) { return FormatToken(kind: .integer(value), position: start) }
    guard let value = Double(digits), let exact = DecimalText(digits.utf8) else {
      throw failure("\(shortened(digits)) is not a number", at: start)
    }
    guard value.isFinite, abs(exact.exponent) < 400 else {
      throw failure("\(shortened(digits)) is outside the range of Double and Decimal", at: start)
    }
    return FormatToken(
      kind: DecimalText(.real(value)) == exact ? .real(value) : .decimal(exact.text), position: start)
  }

  /// Reads `0x1F`, `0o17` or `0b11`; nil for a number without such a prefix.
  private mutating func prefixedNumber(_ start: Int) throws -> Int64? {
    guard scalars[start] == "0", start + 1 < scalars.count,
      let radix = ["x": 16, "X": 16, "o": 8, "O": 8, "b": 2, "B": 2][scalars[start + 1]]
    else { return nil }
    index += 2
    while index < scalars.count, isWordPart(scalars[index]) { index += 1 }
    let digits = text(start + 2..<index)
    guard let value = Int64(digits, radix: radix) else {
      throw failure(
        "\(shortened(text(start..<index))) is not an integer to the base \(radix) with at most 63 bits",
        at: start)
    }
    return value
  }

  private mutating func placeholder(_ start: Int) throws -> FormatToken {
    // Longer ones first.
    for letters in ["@", "K", "lld", "llu", "ld", "lu", "lf", "d", "i", "u", "f", "g", "e"]
    where scalars[(index + 1)...].starts(with: letters.unicodeScalars) {
      index += 1 + letters.count
      return FormatToken(kind: .placeholder(letters), position: start)
    }
    throw failure(
      "% must be followed by @ for a value, K for a key path, or d, ld, u, f, g for a number; %% is the "
        + "remainder of a division", at: start)
  }
}
