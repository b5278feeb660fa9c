// The names behind a dollar sign in SQL that a person wrote. Texts in quotes and comments are left as they stand.

package enum SQLTemplate {
  /// Puts SQL in the place of `$User`, `$User.name` and the like. `$$` is a dollar sign.
  /// - Parameter name: The SQL for a name, given without its dollar sign.
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

  /// Puts other names behind dollar signs.
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

  /// Puts values in the place of `?` and of `?2`, which counts from 1.
  /// - Parameter values: As SQL literals. A parameter beyond them stays.
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

  /// The first parameter that SQLite would see: `?`, `?1`, `:name`, `@name`, `#name`, and `$$name` where it is no part of a name.
  package static func parameter(_ sql: String) -> String? {
    guard Array(sql.utf8).contains(where: beginsParameter) else { return nil }
    var scanner = SQLScanner(sql)
    var isBehindWord = false
    while let piece = scanner.next() {
      defer { isBehindWord = piece.kind == .word }
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
        if !isBehindWord, !name.isEmpty { return "$$" + name }
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
    var (statements, start) = ([String](), 0)
    while let piece = scanner.next() {
      guard piece.kind == .other, scanner.sign(of: piece) == ";" else { continue }
      statements.append(scanner.text(start..<piece.range.lowerBound))
      start = piece.range.upperBound
    }
    return statements + [scanner.text(start..<scanner.bytes.count)]
  }

  /// Whether rows may take the place of others in it: `OR REPLACE`, `REPLACE INTO`.
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

  /// What a statement can speak of, in lower case: its words, the names in quotes, and of `$Status.tags` the entity.
  static func words(_ sql: String) -> Set<String> {
    var scanner = SQLScanner(sql)
    // Long texts have few words, many times: each is put into small letters once.
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

  /// The names, in lower case, that stand where SQLite reads tables: behind FROM, JOIN, INTO, UPDATE and IN, and behind the
  /// commas of a list of tables. Without dollar signs; those of common table expressions are among them.
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
        list = TableList(isOpen: true, expectsName: true, isBehindUpdate: text.lowercased() == "update")
      // UPDATE OR IGNORE t
      case .word where list.isBehindUpdate && list.expectsName && text.lowercased() == "or":
        (list.expectsName, list.isBehindUpdate) = (false, false)
        list.skipsWord = true
      case .word where list.skipsWord: (list.expectsName, list.skipsWord) = (true, false)
      case .word where text.lowercased() == "in": (list.expectsName, list.isBehindIn) = (true, true)
      case .word where TableList.ends.contains(text.lowercased()): list = TableList()
      case .word where TableList.parts.contains(text.lowercased()):
        (list.expectsName, list.wasName) = (false, false)
      case .word, .text:
        list.wasName = list.expectsName
        if list.expectsName {
          sources.insert((piece.kind == .text ? String(text.dropFirst().dropLast()) : text).lowercased())
        }
        (list.expectsName, list.isBehindIn) = (false, false)
      }
    }
    return sources
  }

  /// Where in a list of tables a statement is.
  private struct TableList {
    static let beginnings: Set<String> = ["from", "join", "into", "update"]
    static let ends: Set<String> = [
      "select", "where", "group", "order", "having", "limit", "union", "intersect", "except", "set", "values",
    ]
    /// Words of what joins tables, behind which no table stands, and other tables may follow.
    static let parts: Set<String> = [
      "on", "using", "and", "or", "not", "case", "when", "then", "else", "end", "is", "null", "like",
      "between",
    ]

    /// Whether a comma leads to another table.
    var isOpen = false
    var expectsName = false
    var isBehindIn = false
    var isBehindUpdate = false
    /// Whether what to do about a conflict follows.
    var skipsWord = false
    /// Whether the piece before was a name that was expected.
    var wasName = false

    /// The list behind something in brackets.
    var continued: TableList { TableList(isOpen: isOpen) }

    /// - Parameter outer: The lists around the brackets that are open.
    mutating func take(sign: String, within outer: inout [TableList]) {
      switch sign {
      case "(":
        outer.append(self)
        // A list in brackets, or a query, whose first word ends it.
        self = TableList(isOpen: expectsName && !isBehindIn, expectsName: expectsName && !isBehindIn)
      case ")": self = outer.popLast()?.continued ?? TableList()
      case ",": (expectsName, isBehindIn) = (isOpen, false)
      // Behind the name of the database.
      case ".": expectsName = wasName
      default: expectsName = false
      }
      wasName = false
    }
  }

  /// The names, in lower case, that stand behind no dollar sign and no dot, be it in quotes that SQLite reads names in.
  /// Those that the SQL itself gives to something by AS are left out.
  static func plainNames(_ sql: String) -> Set<String> {
    var (names, given): (Set<String>, Set<String>) = ([], [])
    visitNames(sql) { name, former, _ in
      if former == "as" { given.insert(name) } else if former != "." { names.insert(name) }
    }
    return names.subtracting(given)
  }

  /// The names, in lower case, that the SQL itself gives to something by AS.
  static func givenNames(_ sql: String) -> Set<String> {
    var given: Set<String> = []
    visitNames(sql) { name, former, _ in if former == "as" { given.insert(name) } }
    return given
  }

  /// Whether SQL contains a name, as a word or in the quotes of a name. A word after a dollar sign does not count.
  /// - Parameter name: In lower case, ASCII alone.
  static func names(_ name: String, in sql: String) -> Bool {
    guard sql.containsASCII(name) else { return false }
    var isThere = false
    visitNames(sql) { found, _, _ in isThere = isThere || found == name }
    return isThere
  }

  /// The word, or the sign, that a statement begins with, in lower case; nil where there are comments alone.
  static func beginning(_ sql: String) -> String? {
    var scanner = SQLScanner(sql)
    while let piece = scanner.next() {
      if piece.kind == .comment || scanner.isSpace(piece) { continue }
      return scanner.text(piece.range).lowercased()
    }
    return nil
  }

  /// Whether a statement that makes a table says, behind its columns, that rows have no id.
  package static func isWithoutRowID(_ sql: String) -> Bool {
    var scanner = SQLScanner(sql)
    var words: [String] = []
    while let piece = scanner.next() {
      if piece.kind == .word { words.append(scanner.text(piece.range).lowercased()) }
      if piece.kind == .other, scanner.text(piece.range) == ")" { words = [] }
    }
    return words.starts(with: ["without", "rowid"]) || words.suffix(2) == ["without", "rowid"]
  }

  /// What stands in double quotes, in lower case, and SQLite takes for a text where no column is called so.
  static func doubtfulNames(_ sql: String) -> Set<String> {
    var names: Set<String> = []
    visitNames(sql) { name, former, quote in
      if quote == "\"", former != "as", former != "." { names.insert(name) }
    }
    return names
  }

  /// - Parameter visit: Gets a name behind no dollar sign, in lower case; the word or sign before it, which is a dot only
  ///   behind something else than the name of the database; and the quote that it stands in.
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
  /// How many brackets stand in each other at most, or more: those in quotes are counted, too.
  var bracketDepth: Int {
    utf8.reduce(into: (open: 0, most: 0)) { count, byte in
      if byte == UInt8(ascii: "(") { count.open += 1 } else if byte == UInt8(ascii: ")") { count.open -= 1 }
      count.most = max(count.most, count.open)
    }.most
  }

  /// Whether a sign of ASCII stands in it. In an array: a view of UTF-8 takes ten times as long.
  func containsByte(_ sign: Unicode.Scalar) -> Bool {
    Array(utf8).contains(UInt8(truncatingIfNeeded: sign.value))
  }

  /// Whether a text of ASCII in lower case stands in it, whatever the capitals.
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

  /// Whether it has nothing but white space.
  var isBlank: Bool { allSatisfy(\.isWhitespace) }
}
