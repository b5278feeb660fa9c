// Replaces names after a dollar sign (`$User.name`) in SQL that a person wrote, and analyzes such SQL.
// Quoted texts and comments are never changed.

package enum SQLTemplate {
  /// Replaces `$User`, `$User.name` and the like by SQL. `$$` becomes a dollar sign.
  /// - Parameter name: Returns the SQL for a name, which is passed without its dollar sign.
  /// - Throws: What `name` throws.
  static func resolved<Failure>(
    _ sql: String, _ name: (String) throws(Failure) -> String
  ) throws(Failure) -> String {
    guard sql.containsByte("$") else { return sql }
    var scanner = SQLScanner(sql)
    var (result, copied) = ("", 0)
    while let piece = scanner.next() {
      guard scanner.isDollar(piece) else { continue }
      result += scanner.text(copied..<piece.range.lowerBound)
      if scanner.scalar(at: scanner.position) == "$" {
        result += "$"
        scanner.position += 1
      } else {
        result += try name(scanner.name())
      }
      copied = scanner.position
    }
    return result + scanner.text(copied..<scanner.bytes.count)
  }

  /// Replaces the names after dollar signs. The dollar signs and `$$` stay.
  static func renamed(_ sql: String, _ name: (String) -> String) -> String {
    var scanner = SQLScanner(sql)
    var (result, copied) = ("", 0)
    while let piece = scanner.next() {
      guard scanner.isDollar(piece) else { continue }
      if scanner.scalar(at: scanner.position) == "$" {
        scanner.position += 1
      } else {
        result += scanner.text(copied..<piece.range.upperBound)
        result += name(scanner.name())
        copied = scanner.position
      }
    }
    return result + scanner.text(copied..<scanner.bytes.count)
  }

  /// Replaces parameters such as `?` and `?2` by values. `?1` is the first value.
  /// - Parameter values: SQL literals. A parameter without a value stays.
  static func filled(_ sql: String, with values: [String]) -> String {
    var (scanner, result, next) = (SQLScanner(sql), "", 0)
    while let piece = scanner.next() {
      guard piece.kind == .other, scanner.sign(of: piece) == "?" else {
        result += scanner.text(piece.range)
        continue
      }
      let number = scanner.name()
      let index = Int(number).map { $0 - 1 } ?? next
      next = index + 1
      result += values.indices.contains(index) ? values[index] : "?\(number)"
    }
    return result
  }

  /// Returns the first parameter that SQLite would find: `?`, `?1`, `:name`, `@name`, `#name`, or
  /// `$$name`, which becomes `$name`. After a word `$$name` is part of that word. nil if there is no
  /// parameter.
  package static func parameter(_ sql: String) -> String? {
    guard Array(sql.utf8).contains(where: beginsParameter) else { return nil }
    var scanner = SQLScanner(sql)
    var isAfterWord = false
    while let piece = scanner.next() {
      defer { isAfterWord = piece.kind == .word }
      guard piece.kind == .other else { continue }
      switch scanner.sign(of: piece) {
      case "?": return "?" + scanner.name()
      case ":", "@", "#":
        if let next = scanner.scalar(at: scanner.position), SQLScanner.isWord(next) {
          return scanner.text(piece.range) + scanner.name()
        }
      case "$" where scanner.scalar(at: scanner.position) == "$":
        scanner.position += 1
        let name = scanner.name()
        if !isAfterWord, !name.isEmpty { return "$$" + name }
      case "$": _ = scanner.name()
      default: break
      }
    }
    return nil
  }

  private static func beginsParameter(_ byte: UInt8) -> Bool {
    switch Unicode.Scalar(byte) {
    case "?", ":", "@", "#", "$": true
    default: false
    }
  }

  /// Returns the names after dollar signs, in order.
  static func names(_ sql: String) -> [String] {
    var names: [String] = []
    _ = renamed(sql) { name in
      names.append(name)
      return name
    }
    return names
  }

  /// Splits SQL into statements, at semicolons outside of quotes and comments.
  static func statements(_ sql: String) -> [String] {
    var scanner = SQLScanner(sql)
    var (statements, start) = ([String](), 0)
    while let piece = scanner.next() {
      guard piece.kind == .other, scanner.sign(of: piece) == ";" else { continue }
      statements.append(scanner.text(start..<piece.range.lowerBound))
      start = piece.range.upperBound
    }
    return statements + [scanner.text(start..<scanner.bytes.count)]
  }

  /// Returns whether a statement may replace rows: `OR REPLACE`, `REPLACE INTO`.
  static func replacesRows(_ sql: String) -> Bool {
    guard sql.containsASCII("replace") else { return false }
    var scanner = SQLScanner(sql)
    var former = ""
    while let piece = scanner.next() {
      guard piece.kind == .word else { continue }
      let word = scanner.text(piece.range).lowercased()
      if (former, word) == ("or", "replace") || (former, word) == ("replace", "into") { return true }
      former = word
    }
    return false
  }

  /// Returns everything that a statement can refer to, in lower case: its words, the texts in quotes, and
  /// the entity of each name after a dollar sign (`status` for `$Status.tags`).
  static func words(_ sql: String) -> Set<String> {
    var scanner = SQLScanner(sql)
    // Long SQL repeats few words: each is lowercased once.
    var (words, met): (Set<String>, Set<String>) = ([], [])
    while let piece = scanner.next() {
      switch piece.kind {
      case .word:
        let text = scanner.text(piece.range)
        if met.insert(text).inserted { words.insert(text.lowercased()) }
      case .text: words.insert(scanner.content(of: piece).lowercased())
      case .other where scanner.isDollar(piece):
        if let name = scanner.name().split(separator: ".").first { words.insert(name.lowercased()) }
      case .other, .comment: break
      }
    }
    return words
  }

  /// Returns the names of the tables that SQL uses, in lower case: those after FROM, JOIN, INTO, UPDATE
  /// and IN, and after the commas of a table list. Names after dollar signs are excluded; names of common
  /// table expressions are included.
  package static func sources(_ sql: String) -> Set<String> {
    var scanner = SQLScanner(sql)
    var sources: Set<String> = []
    var list = TableList()
    var outer: [TableList] = []
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      switch piece.kind {
      case .comment: continue
      case .other where scanner.isSpace(piece): continue
      case .other: list.take(sign: text, within: &outer)
      case .word where TableList.beginnings.contains(text.lowercased()):
        list = TableList(isOpen: true, expectsName: true, isAfterUpdate: text.lowercased() == "update")
      // UPDATE OR IGNORE t
      case .word where list.isAfterUpdate && list.expectsName && text.lowercased() == "or":
        (list.expectsName, list.isAfterUpdate) = (false, false)
        list.skipsWord = true
      case .word where list.skipsWord: (list.expectsName, list.skipsWord) = (true, false)
      case .word where text.lowercased() == "in": (list.expectsName, list.isAfterIn) = (true, true)
      case .word where TableList.ends.contains(text.lowercased()): list = TableList()
      case .word where TableList.parts.contains(text.lowercased()):
        (list.expectsName, list.wasName) = (false, false)
      case .word, .text:
        list.wasName = list.expectsName
        if list.expectsName {
          sources.insert((piece.kind == .text ? String(text.dropFirst().dropLast()) : text).lowercased())
        }
        (list.expectsName, list.isAfterIn) = (false, false)
      }
    }
    return sources
  }

  /// The state of the scan within a list of tables.
  private struct TableList {
    static let beginnings: Set<String> = ["from", "join", "into", "update"]
    static let ends: Set<String> = [
      "select", "where", "group", "order", "having", "limit", "union", "intersect", "except", "set", "values",
    ]
    /// Words of join conditions and expressions: no table's name comes next, but the table list goes on.
    static let parts: Set<String> = [
      "on", "using", "and", "or", "not", "case", "when", "then", "else", "end", "is", "null", "like",
      "between",
    ]

    /// Whether the next comma is followed by another table.
    var isOpen = false
    var expectsName = false
    var isAfterIn = false
    var isAfterUpdate = false
    /// Whether the next word is the conflict clause of an UPDATE, to be skipped.
    var skipsWord = false
    /// Whether the last piece was a name that was expected.
    var wasName = false

    /// The state of this list after brackets within it are closed.
    var continued: TableList { TableList(isOpen: isOpen) }

    /// Handles a single sign.
    /// - Parameter outer: The lists around the open brackets.
    mutating func take(sign: String, within outer: inout [TableList]) {
      switch sign {
      case "(":
        outer.append(self)
        // A table list in brackets, or a query: the query's first word ends the list.
        self = TableList(isOpen: expectsName && !isAfterIn, expectsName: expectsName && !isAfterIn)
      case ")": self = outer.popLast()?.continued ?? TableList()
      case ",": (expectsName, isAfterIn) = (isOpen, false)
      // After the name of a database.
      case ".": expectsName = wasName
      default: expectsName = false
      }
      wasName = false
    }
  }

  /// Returns the names, in lower case, that follow neither a dollar sign nor a dot, except the dot of
  /// `main.`; including names in quotes other than single quotes. Names that the SQL itself defines by AS
  /// are excluded.
  static func plainNames(_ sql: String) -> Set<String> {
    var (names, given): (Set<String>, Set<String>) = ([], [])
    visitNames(sql) { name, former, _ in
      if former == "as" { given.insert(name) } else if former != "." { names.insert(name) }
    }
    return names.subtracting(given)
  }

  /// Returns the names, in lower case, that the SQL itself defines by AS.
  static func givenNames(_ sql: String) -> Set<String> {
    var given: Set<String> = []
    visitNames(sql) { name, former, _ in if former == "as" { given.insert(name) } }
    return given
  }

  /// Returns whether SQL contains a name, as a word or in quotes other than single quotes. A name after a
  /// dollar sign does not count.
  /// - Parameter name: Lower-case ASCII.
  static func names(_ name: String, in sql: String) -> Bool {
    guard sql.containsASCII(name) else { return false }
    var isThere = false
    visitNames(sql) { found, _, _ in isThere = isThere || found == name }
    return isThere
  }

  /// Returns the first word or sign of a statement, in lower case; nil if there are only comments and
  /// white space.
  static func beginning(_ sql: String) -> String? {
    var scanner = SQLScanner(sql)
    while let piece = scanner.next() {
      if piece.kind == .comment || scanner.isSpace(piece) { continue }
      return scanner.text(piece.range).lowercased()
    }
    return nil
  }

  /// Returns whether a CREATE TABLE statement has WITHOUT ROWID after its columns.
  package static func isWithoutRowID(_ sql: String) -> Bool {
    var scanner = SQLScanner(sql)
    var words: [String] = []
    while let piece = scanner.next() {
      if piece.kind == .word { words.append(scanner.text(piece.range).lowercased()) }
      if piece.kind == .other, scanner.text(piece.range) == ")" { words = [] }
    }
    return words.starts(with: ["without", "rowid"]) || words.suffix(2) == ["without", "rowid"]
  }

  /// Returns the texts in double quotes, in lower case, that follow neither AS nor a dot, except the dot
  /// of `main.`. SQLite reads such a text as a string if no column has that name.
  static func doubleQuotedNames(_ sql: String) -> Set<String> {
    var names: Set<String> = []
    visitNames(sql) { name, former, quote in
      if quote == "\"", former != "as", former != "." { names.insert(name) }
    }
    return names
  }

  /// Visits all names that follow no dollar sign.
  /// - Parameter visit: Gets the name in lower case, the word or sign before it, and its quote, if any.
  ///   For a name after `main.` the sign before it is the empty string.
  private static func visitNames(_ sql: String, _ visit: (String, String, Character?) -> Void) {
    var scanner = SQLScanner(sql)
    var former: (last: String, other: String) = ("", "")
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      switch piece.kind {
      case .comment: continue
      case .other where text == "$": _ = scanner.name()
      case .other where scanner.isSpace(piece): continue
      case .other: break
      case .word, .text:
        let quote = piece.kind == .text ? Character(scanner.sign(of: piece)) : nil
        if quote == "'" { break }
        let name = quote == nil ? text : scanner.content(of: piece)
        visit(name.lowercased(), former == (".", "main") ? "" : former.last, quote)
      }
      former = (text.lowercased(), former.last)
    }
  }
}

extension String {
  /// The nesting depth of round brackets. Brackets in quotes count as well.
  var bracketDepth: Int {
    utf8.reduce(into: (open: 0, most: 0)) { count, byte in
      if byte == UInt8(ascii: "(") { count.open += 1 } else if byte == UInt8(ascii: ")") { count.open -= 1 }
      count.most = max(count.most, count.open)
    }.most
  }

  /// Returns whether an ASCII character occurs in the string. The bytes are copied to an array, because
  /// searching a UTF-8 view takes ten times as long.
  func containsByte(_ sign: Unicode.Scalar) -> Bool {
    Array(utf8).contains(UInt8(truncatingIfNeeded: sign.value))
  }

  /// Returns whether the string contains a text, ignoring case. The text must be lower-case ASCII.
  func containsASCII(_ text: String) -> Bool {
    guard let first = text.utf8.first else { return true }
    var rest = Array(utf8)[...]
    while let start = rest.firstIndex(where: { $0 | 0x20 == first }) {
      rest = rest[start...]
      if rest.starts(with: text.utf8, by: { $0 == $1 || $0 | 0x20 == $1 }) { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  /// Whether the string has only white space.
  var isBlank: Bool { allSatisfy(\.isWhitespace) }
}
