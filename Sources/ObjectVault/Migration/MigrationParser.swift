// The text of a migration file -> operations. Line-based; `#` begins a comment; SQL stands in braces.

struct MigrationParser {
  struct Result {
    var header: [String: String] = [:]
    var up: [MigrationOperation] = []
    var down: [MigrationOperation]?
  }

  private let file: String
  private let lines: [String]
  private var index = 0

  init(_ text: String, file: String) {
    self.file = file
    let clean = text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text
    // "\r\n" is one Character in Swift.
    lines = clean.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }.map(
      String.init)
  }

  private func failure(_ reason: String, _ hint: String, line: Int? = nil, column: Int = 1) -> StoreError {
    .migrationSyntax(
      MigrationSyntaxError(file: file, line: (line ?? index) + 1, column: column, reason: reason, hint: hint))
  }

  mutating func parse() throws -> Result {
    var result = Result()
    try header(&result)
    guard result.header["format"] == "1" else {
      let found = result.header["format"]
      throw failure(
        found.map { "format \($0) is unknown" } ?? "the line \"format: 1\" is missing",
        "begin the file with format: 1",
        line: 0)
    }
    var section: String?
    while index < lines.count {
      let line = Self.stripped(lines[index])
      if line.isEmpty {
        index += 1
      } else if line == "[up]" || line == "[down]" {
        section = line
        index += 1
        if line == "[down]" { result.down = [] }
      } else if section == "[down]" {
        if line.hasPrefix("irreversible") {
          result.down = nil
          index += 1
        } else {
          result.down?.append(try operation(line))
        }
      } else if section == "[up]" {
        result.up.append(try operation(line))
      } else {
        throw failure("\"\(line.prefix(40))\" stands before [up]", "write [up] on a line of its own first")
      }
    }
    guard section != nil else {
      throw failure("there is no [up] section", "write [up], and the operations below it")
    }
    return result
  }

  private mutating func header(_ result: inout Result) throws {
    let known = ["format", "name", "note", "reader", "backup", "allow"]
    while index < lines.count {
      let line = Self.stripped(lines[index])
      if line.hasPrefix("[") { return }
      index += 1
      if line.isEmpty { continue }
      guard let colon = line.firstIndex(of: ":") else {
        index -= 1
        throw failure(
          "\"\(line.prefix(40))\" is no header line", "write key: value, or [up] before operations")
      }
      let key = line[..<colon].trimmed
      guard known.contains(key) else {
        index -= 1
        let near = nearest(key, among: known).first
        throw failure(
          "\(key) is no header",
          near.map { "did you mean \($0)?" } ?? "there are \(known.joined(separator: ", "))")
      }
      let value = line[line.index(after: colon)...].trimmed
      if key == "backup", BackupRule(rawValue: value) == nil {
        throw failure(
          "\(value) says nothing about a backup",
          "write backup: \(BackupRule.allCases.map(\.rawValue).joined(separator: ", or backup: "))",
          line: index - 1)
      }
      if key == "reader", Int(value) == nil {
        throw failure("reader takes a number", "write reader: 7", line: index - 1)
      }
      result.header[key] = value
    }
  }

  // MARK: Operations

  private mutating func operation(_ line: String) throws -> MigrationOperation {
    let start = index
    if line.hasPrefix("create entity") { return try createEntity() }
    if let body = try dataBlock(line) { return body }
    index += 1
    var words = MigrationLine(line, file: file, number: start + 1, offset: Self.indent(of: lines[start]))
    return try words.operation()
  }

  private mutating func createEntity() throws -> MigrationOperation {
    let start = index
    var head = MigrationLine(
      Self.stripped(lines[index]), file: file, number: index + 1, offset: Self.indent(of: lines[index]))
    try head.expect("create")
    try head.expect("entity")
    var entity = EntityDescription(name: try head.name("the entity's name"))
    try head.expect("{")
    try head.end()
    index += 1
    while index < lines.count {
      let line = Self.stripped(lines[index])
      if line == "}" {
        index += 1
        return .createEntity(entity)
      }
      if !line.isEmpty {
        var member = MigrationLine(line, file: file, number: index + 1, offset: Self.indent(of: lines[index]))
        try member.member(of: &entity)
      }
      index += 1
    }
    throw failure(
      "create entity \(entity.name) has no end", "close it with } on a line of its own", line: start)
  }

  /// `transform sql { … }`, `seed { … }`, `require "text" { … }`; nil when the line is none of them.
  private mutating func dataBlock(_ line: String) throws -> MigrationOperation? {
    let start = index
    if line.hasPrefix("transform swift") {
      throw failure(
        "transform swift needs a program of its own and cannot be run from a file",
        "write transform sql { … }")
    }
    for words in ["transform sql", "seed"] where line.hasPrefix(words) {
      var head = head(of: start, isQuoted: false)
      for word in words.split(separator: " ") { try head.expect(String(word)) }
      try head.end()
      let sql = try block(after: words, start)
      return words == "seed" ? .seed(sql) : .transform(sql)
    }
    guard line.hasPrefix("require") else { return nil }
    var head = head(of: start, isQuoted: true)
    try head.expect("require")
    let text = try head.string("what is required, in quotes")
    try head.end()
    return .require(text, try block(after: nil, start))
  }

  /// What stands before the brace of a block.
  private func head(of start: Int, isQuoted: Bool) -> MigrationLine {
    let line = lines[start]
    let brace = Self.opening(of: line[...], isQuoted: isQuoted) ?? line.endIndex
    return MigrationLine(
      line[..<brace].trimmed, file: file, number: start + 1, offset: Self.indent(of: line))
  }

  /// The text between the first brace of the line `start` and its partner, on this line or a later one.
  private mutating func block(after word: String?, _ start: Int) throws -> String {
    var scanner = SQLScanner()
    var body: [String] = []
    var isOpen = false
    while index < lines.count {
      var text = Substring(lines[index])
      if !isOpen {
        guard let brace = Self.opening(of: text, isQuoted: word == nil) else {
          throw failure(
            "{ is missing behind \(word ?? "require \"…\"")", "write the SQL in braces", line: start)
        }
        text = text[text.index(after: brace)...]
        isOpen = true
      }
      let begins = scanner.isInString
      let (line, rest) = scanner.scan(text)
      // Spaces and blank lines are trimmed, but for those inside a text, which belong to it.
      var piece = line[...]
      if !begins { piece = piece.drop { $0.isWhitespace } }
      if !scanner.isInString { while piece.last?.isWhitespace == true { piece.removeLast() } }
      if begins || scanner.isInString || !piece.isEmpty { body.append(String(piece)) }
      index += 1
      if let rest {
        guard Self.stripped(String(rest)).isEmpty else {
          throw failure(
            "something stands behind }", "write the next operation on a line of its own", line: index - 1)
        }
        return body.joined(separator: "\n")
      }
    }
    throw failure("this block has no end", "close it with }", line: start)
  }

  /// The brace that opens a block; behind the text of a requirement, which may have braces itself.
  private static func opening(of line: Substring, isQuoted: Bool) -> Substring.Index? {
    guard isQuoted else { return line.firstIndex(of: "{") }
    var (quotes, isEscaped) = (0, false)
    for index in line.indices {
      if isEscaped {
        isEscaped = false
      } else if line[index] == "\\" && quotes == 1 {
        isEscaped = true
      } else if line[index] == "\"" && quotes < 2 {
        quotes += 1
      } else if line[index] == "{" && quotes == 2 {
        return index
      }
    }
    return nil
  }

  /// The line without its comment and the spaces around.
  static func stripped(_ line: String) -> String {
    var isQuoted = false
    var isEscaped = false
    for index in line.indices {
      let character = line[index]
      if isEscaped {
        isEscaped = false
      } else if character == "\\" && isQuoted {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == "#" && !isQuoted {
        return line[..<index].trimmed
      }
    }
    return line[...].trimmed
  }

  private static func indent(of line: String) -> Int { line.prefix { $0 == " " || $0 == "\t" }.count }
}

/// Walks through SQL, over strings and comments, to the brace that ends a block. Comments are left out.
private struct SQLScanner {
  private enum State { case code, comment, string(Character) }
  private var state = State.code
  private var depth = 0

  /// Whether the text so far ends inside quotes.
  var isInString: Bool { if case .string = state { true } else { false } }

  /// - Returns: The SQL of this line, and what stands behind the closing brace if it is here.
  mutating func scan(_ text: Substring) -> (line: String, rest: Substring?) {
    var line = ""
    var index = text.startIndex
    while index < text.endIndex {
      let character = text[index]
      let next = text.index(after: index)
      let pair = next < text.endIndex ? String([character, text[next]]) : ""
      switch state {
      case .comment:
        if pair == "*/" {
          state = .code
          index = next
        }
      case .string(let quote):
        line.append(character)
        if character == quote { state = .code }
      case .code:
        if pair == "--" { return (line, nil) }
        if pair == "/*" {
          state = .comment
          index = next
        } else if character == "'" || character == "\"" || character == "`" {
          state = .string(character)
          line.append(character)
        } else if character == "}" && depth == 0 {
          return (line, text[next...])
        } else {
          if character == "{" { depth += 1 }
          if character == "}" { depth -= 1 }
          line.append(character)
        }
      }
      index = text.index(after: index)
    }
    return (line, nil)
  }
}

extension Substring {
  var trimmed: String {
    let start = firstIndex { !$0.isWhitespace } ?? endIndex
    guard let last = lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(self[start...last])
  }
}
