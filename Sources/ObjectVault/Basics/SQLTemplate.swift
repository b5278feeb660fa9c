// The names behind a dollar sign in SQL that a person wrote. Texts in quotes and comments are left as they stand.

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

  /// Puts other names behind dollar signs.
  static func renamed(_ sql: String, _ name: (String) -> String) -> String {
    var scanner = SQLScanner(sql)
    var result = ""
    while let piece = scanner.next() {
      result += scanner.text(piece.range)
      guard piece.kind == .other, scanner.scalars[piece.range.lowerBound] == "$" else { continue }
      if scanner.scalar(at: scanner.position) == "$" {
        result += "$"
        scanner.position += 1
      } else {
        result += name(scanner.name())
      }
    }
    return result
  }

  /// The names behind dollar signs, in order.
  static func names(_ sql: String) -> [String] {
    var names: [String] = []
    _ = renamed(sql) { name in
      names.append(name)
      return name
    }
    return names
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

  /// The words that stand in no quotes, in no comment and behind no dollar sign, in order.
  static func plainWords(_ sql: String) -> [String] {
    var scanner = SQLScanner(sql)
    var words: [String] = []
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      if piece.kind == .word { words.append(text) }
      if piece.kind == .other, text == "$" { _ = scanner.name() }
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
