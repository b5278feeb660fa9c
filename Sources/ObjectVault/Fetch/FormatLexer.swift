// The words of the format language, each with its place in the text.

struct FormatToken {
  enum Kind: Equatable {
    case word(String)
    case string(String)
    case integer(Int64)
    case real(Double)
    case symbol(String)
    /// `%@`, `%K` and the typed ones, by their letters.
    case placeholder(String)
    case end
  }
  let kind: Kind
  /// Counted in characters from 0.
  let position: Int
}

struct FormatLexer {
  private let text: String
  private let characters: [Character]
  private var index = 0

  init(_ text: String) {
    self.text = text
    characters = Array(text)
  }

  /// All tokens, the last of them ``FormatToken/Kind/end``.
  static func tokens(of text: String) throws -> [FormatToken] {
    guard text.utf8.count <= PredicateError.maximumFormatBytes else {
      throw StoreError.predicate(
        PredicateError(
          "the format has \(text.utf8.count) bytes; \(PredicateError.maximumFormatBytes) are possible"))
    }
    var lexer = FormatLexer(text)
    var tokens: [FormatToken] = []
    repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
    return tokens
  }

  private func failure(_ reason: String, at position: Int) -> StoreError {
    .predicate(PredicateError(reason, format: text, position: position))
  }

  private mutating func next() throws -> FormatToken {
    while index < characters.count, characters[index].isWhitespace { index += 1 }
    let start = index
    guard index < characters.count else { return FormatToken(kind: .end, position: start) }
    let character = characters[index]
    if character == "\"" || character == "'" { return try quotedString(character, start) }
    if character.isNumber { return try number(start) }
    if character == "%" { return try placeholder(start) }
    if character.isLetter || character == "_" || character == "@" || character == "$" {
      index += 1
      while index < characters.count,
        characters[index].isLetter || characters[index].isNumber || characters[index] == "_"
      {
        index += 1
      }
      return FormatToken(kind: .word(String(characters[start..<index])), position: start)
    }
    for symbol in ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||"] where starts(with: symbol) {
      index += 2
      return FormatToken(kind: .symbol(symbol), position: start)
    }
    guard "=<>!(){}[],.+-*/".contains(character) else {
      throw failure("the character \(character) has no meaning here", at: start)
    }
    index += 1
    return FormatToken(kind: .symbol(String(character)), position: start)
  }

  private func starts(with symbol: String) -> Bool { characters[index...].starts(with: symbol) }

  private mutating func quotedString(_ quote: Character, _ start: Int) throws -> FormatToken {
    index += 1
    var value = ""
    while index < characters.count, characters[index] != quote {
      if characters[index] == "\\", index + 1 < characters.count {
        let next = characters[index + 1]
        // A backslash before a quote or a backslash stands for that; before anything else it stays, for LIKE.
        if next == quote || next == "\\" { index += 1 }
      }
      value.append(characters[index])
      index += 1
    }
    guard index < characters.count else { throw failure("this string has no closing \(quote)", at: start) }
    index += 1
    return FormatToken(kind: .string(value), position: start)
  }

  private mutating func number(_ start: Int) throws -> FormatToken {
    var isReal = false
    while index < characters.count {
      let character = characters[index]
      if character == ".", index + 1 < characters.count, characters[index + 1].isNumber {
        isReal = true
      } else if character == "e" || character == "E" {
        isReal = true
        if index + 1 < characters.count, characters[index + 1] == "-" || characters[index + 1] == "+" {
          index += 1
        }
      } else if !character.isNumber {
        break
      }
      index += 1
    }
    let digits = String(characters[start..<index])
    if !isReal, let value = Int64(digits) { return FormatToken(kind: .integer(value), position: start) }
    guard let value = Double(digits), value.isFinite else {
      throw failure("\(digits) is no number", at: start)
    }
    return FormatToken(kind: .real(value), position: start)
  }

  private mutating func placeholder(_ start: Int) throws -> FormatToken {
    // The longest first.
    for letters in ["@", "K", "lld", "llu", "ld", "lu", "lf", "d", "i", "u", "f", "g", "e"]
    where characters[(index + 1)...].starts(with: letters) {
      index += 1 + letters.count
      return FormatToken(kind: .placeholder(letters), position: start)
    }
    throw failure(
      "after % belongs @ for a value, K for a key path, or d, ld, u, f, g for a number", at: start)
  }
}
