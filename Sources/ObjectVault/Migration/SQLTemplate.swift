// The names behind a dollar sign in the SQL of a step. Text in quotes and in comments is left as it stands.

enum SQLTemplate {
  /// Puts SQL in the place of `$User`, `$User.name` and the like. `$$` is a dollar sign.
  /// - Parameter name: The SQL for a name, given without its dollar sign.
  static func resolved(_ sql: String, _ name: (String) throws -> String) rethrows -> String {
    var result = ""
    var rest = sql[...]
    var quote: Character?
    while let character = rest.first {
      rest.removeFirst()
      if let end = quote {
        result.append(character)
        // A doubled quote ends the text and begins it again at once, which comes to the same.
        if character == end { quote = nil }
      } else if character == "'" || character == "\"" || character == "`" {
        result.append(character)
        quote = character
      } else if character != "$" {
        result.append(character)
      } else if rest.first == "$" {
        result.append("$")
        rest.removeFirst()
      } else {
        var words = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        // A dot behind a name is SQL's own, as in `$User.$User.city`. Without it two quoted names would run
        // together, and SQLite takes what is no column for a text.
        while words.last == "." { words.removeLast() }
        rest = rest[words.endIndex...]
        result += try name(String(words))
      }
    }
    return result
  }

  /// The statements between the semicolons that are in no quotes.
  static func statements(_ sql: String) -> [String] {
    var statements = [""]
    var quote: Character?
    for character in sql {
      if let end = quote {
        if character == end { quote = nil }
      } else if character == "'" || character == "\"" || character == "`" {
        quote = character
      } else if character == ";" {
        statements.append("")
        continue
      }
      statements[statements.count - 1].append(character)
    }
    return statements
  }

  /// The text with words, in no quotes, replaced by others.
  static func replaced(_ sql: String, _ words: [String: String]) -> String {
    var (result, word) = ("", "")
    var quote: Character?
    for character in sql {
      if quote == nil, character.isLetter || character.isNumber || character == "_" {
        word.append(character)
        continue
      }
      result += words[word] ?? word
      word = ""
      result.append(character)
      if let end = quote {
        if character == end { quote = nil }
      } else if character == "'" || character == "\"" || character == "`" {
        quote = character
      }
    }
    return result + (words[word] ?? word)
  }
}
