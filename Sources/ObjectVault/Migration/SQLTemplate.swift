// The names behind a dollar sign in the SQL of a step. Texts in quotes and comments are left as they stand.

enum SQLTemplate {
  /// Puts SQL in the place of `$User`, `$User.name` and the like. `$$` is a dollar sign.
  /// - Parameter name: The SQL for a name, given without its dollar sign.
  /// - Throws: What `name` throws.
  static func resolved<Failure>(
    _ sql: String, _ name: (String) throws(Failure) -> String
  ) throws(Failure) -> String {
    var scanner = SQLScanner(sql)
    var result = ""
    while let piece = scanner.next() {
      guard piece.kind == .other, scanner.scalars[piece.range.lowerBound] == "$" else {
        result += scanner.text(piece.range)
        continue
      }
      if scanner.scalar(at: scanner.position) == "$" {
        result += "$"
        scanner.position += 1
      } else {
        result += try name(scanner.name())
      }
    }
    return result
  }

  /// The statements between the semicolons that are in no quotes and in no comment.
  static func statements(_ sql: String) -> [String] {
    var scanner = SQLScanner(sql)
    var statements = [""]
    while let piece = scanner.next() {
      if piece.kind == .other, scanner.scalars[piece.range.lowerBound] == ";" {
        statements.append("")
      } else {
        statements[statements.count - 1] += scanner.text(piece.range)
      }
    }
    return statements
  }

  /// What a statement can speak of, in lower case: its words, the names in quotes, and of `$Status.tags` the entity.
  static func words(_ sql: String) -> Set<String> {
    var scanner = SQLScanner(sql)
    var words: Set<String> = []
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      switch piece.kind {
      case .word: words.insert(text.lowercased())
      case .text: words.insert(text.dropFirst().dropLast().lowercased())
      case .other where text == "$":
        if let name = scanner.name().split(separator: ".").first { words.insert(name.lowercased()) }
      case .other, .comment: break
      }
    }
    return words
  }

  /// The text with words, in no quotes and in no comment, replaced by others.
  static func replaced(_ sql: String, _ words: [String: String]) -> String {
    var scanner = SQLScanner(sql)
    var result = ""
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      result += piece.kind == .word ? words[text] ?? text : text
    }
    return result
  }
}
