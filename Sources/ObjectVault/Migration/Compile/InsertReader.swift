// Parses an INSERT statement in one pass over its tokens. NumberedInsert builds the new statement from
// the results.

/// Reads the tokens of a statement, and records the text that it has consumed, without comments.
struct InsertReader {
  private var scanner: SQLScanner
  /// The next token that is neither white space nor a comment; nil at the end.
  private var next: SQLScanner.Piece?
  /// The start of the white space before `next`.
  private var gap = 0
  /// Whether this white space contains a comment. Like a space, a comment separates tokens.
  private var hasComment = false
  private var taken: [UInt8] = []
  /// The bytes that were consumed after `taken`, but are not yet copied to it.
  private var run = 0..<0
  private var takenCount: Int { taken.count + run.count }

  init(_ sql: String) {
    scanner = SQLScanner(sql)
    look()
  }

  /// Starts after `words`, with which the statement must begin; returns nil for any other statement.
  init?(_ sql: String, after words: [UInt8]) {
    let bytes = Array(sql.utf8)
    let start = Self.start(of: bytes)
    guard bytes[start...].starts(with: words) else { return nil }
    scanner = SQLScanner(bytes, from: start + words.count)
    look()
    run = gap..<gap
  }

  /// Returns the end of the ASCII white space at the beginning.
  private static func start(of bytes: [UInt8]) -> Int {
    bytes.firstIndex { !SQLScanner.isSpace($0) } ?? bytes.count
  }

  /// The text up to the next token, without white space at its beginning, in bytes.
  var beginning: [UInt8] {
    let bytes = scanner.bytes
    return Array(bytes[Self.start(of: bytes)..<(next?.range.lowerBound ?? bytes.count)])
  }

  /// Whether no token is left.
  var isAtEnd: Bool { next == nil }

  /// The text that was consumed since ``forget()``.
  var text: String { String(decoding: taken + scanner.bytes[run], as: UTF8.self) }

  /// Clears the record of consumed text.
  mutating func forget() { (taken, run) = ([], gap..<gap) }

  private mutating func takeRun() {
    taken += scanner.bytes[run]
    run = run.upperBound..<run.upperBound
  }

  /// Finds the next token.
  private mutating func look() {
    (gap, hasComment) = (scanner.position, false)
    scanner.skipSpaces()
    while let piece = scanner.next() {
      switch piece.kind {
      case .comment: hasComment = true
      case .other where scanner.isSpace(piece): break
      case .word, .text, .other:
        next = piece
        return
      }
    }
    next = nil
  }

  /// Consumes the next token and everything before it.
  private mutating func step() {
    let end = next?.range.upperBound ?? scanner.bytes.count
    if hasComment {
      takeRun()
      taken.append(UInt8(ascii: " "))
      run = (next?.range.lowerBound ?? end)..<end
    } else {
      run = run.lowerBound..<end
    }
    look()
  }

  /// Whether the next token is this word or sign. A word is given in lower case, and matches any case.
  private func isNext(_ word: String) -> Bool {
    guard let next, next.range.count == word.utf8.count else { return false }
    return zip(scanner.bytes[next.range], word.utf8).allSatisfy { byte, expected in
      byte == expected || byte | 0x20 == expected && SQLScanner.isWord(byte)
    }
  }

  private func isNext(anyOf words: [String]) -> Bool { words.contains(where: isNext) }

  /// Consumes the next token if it is this word or sign, which is given in lower case.
  /// - Returns: Whether it was consumed.
  mutating func pass(_ word: String) -> Bool {
    guard isNext(word) else { return false }
    step()
    return true
  }

  /// Consumes the rest of the statement.
  mutating func passAll() { while next != nil { step() } }

  /// Consumes one token, or a whole group if the token is an opening bracket.
  private mutating func passGroup() {
    var depth = 0
    repeat {
      if isNext("(") { depth += 1 }
      if isNext(")") { depth -= 1 }
      step()
    } while depth > 0 && next != nil
  }

  /// Consumes `WITH …`, up to the statement that follows it.
  private mutating func passWith() {
    guard isNext("with") else { return }
    let beginnings = ["insert", "replace", "select", "values", "update", "delete"]
    while next != nil, !isNext(anyOf: beginnings) { passGroup() }
  }

  /// Consumes `INSERT`, `INSERT OR …` or `REPLACE`, and any `WITH …` before it.
  mutating func isInsertion() -> Bool {
    passWith()
    if pass("replace") { return true }
    guard pass("insert") else { return false }
    if pass("or") { step() }
    return true
  }

  /// Consumes a name, with its database if that is given.
  /// - Returns: The name in lower case, without quotes and database.
  mutating func passName() -> String? {
    guard let piece = next, piece.kind != .other else { return nil }
    step()
    if pass(".") { return passName() }
    return (piece.kind == .text ? scanner.content(of: piece) : scanner.text(piece.range)).lowercased()
  }

  /// Consumes a list of names in brackets. Does not record it as consumed text.
  mutating func passList() -> [String]? {
    var names: [Range<Int>] = []
    takeRun()
    let before = taken
    defer { (taken, run) = (before, gap..<gap) }
    guard passParts(&names) else { return nil }
    takeRun()
    return names.map { String(decoding: taken[$0], as: UTF8.self)[...].trimmed }
  }

  /// Consumes a group in brackets.
  /// - Parameter parts: Gets the ranges, in the consumed text, of the parts between the commas.
  /// - Returns: Whether there was a group, and it is complete.
  private mutating func passParts(_ parts: inout [Range<Int>]) -> Bool {
    guard pass("(") else { return false }
    var (depth, start) = (1, takenCount)
    while let piece = next {
      switch piece.kind == .other ? scanner.sign(of: piece) : " " {
      case "(": depth += 1
      case ")": depth -= 1
      case "," where depth == 1:
        parts.append(start..<takenCount)
        step()
        start = takenCount
        continue
      default: break
      }
      if depth == 0 { parts.append(start..<takenCount) }
      step()
      if depth == 0 { return true }
    }
    return false
  }

  /// Consumes a list of values.
  /// - Returns: nil, without consuming anything, if the rows are those of a query. `WITH … VALUES …`
  ///   counts as a query, because a list of several rows cannot refer to its WITH (SQLite 3.15).
  mutating func passValues() -> InsertedValues? {
    var reader = self
    guard reader.pass("values") else { return nil }
    var (parts, ends): ([Range<Int>], [Int]) = ([], [])
    repeat {
      guard reader.passParts(&parts) else { return nil }
      ends.append(parts.count)
    } while reader.pass(",")
    // `VALUES (1) UNION ALL SELECT 2` is a query.
    guard reader.isAfterRows else { return nil }
    self = reader
    takeRun()
    return InsertedValues(bytes: taken, parts: parts, ends: ends)
  }

  /// Consumes the rows of a query.
  mutating func passRows() {
    while next != nil, !isAfterRows { passGroup() }
  }

  /// Whether the rows have ended: no token is left, or `ON CONFLICT` or `RETURNING` follows (newer
  /// engines).
  private var isAfterRows: Bool { next == nil || isNext("returning") || isUpsert }

  /// Whether `ON CONFLICT (` or `ON CONFLICT DO` is next. In `JOIN Conflict ON Conflict.a = …`, Conflict
  /// is a name.
  private var isUpsert: Bool {
    guard isNext("on") else { return false }
    var reader = self
    reader.look()
    guard reader.isNext("conflict") else { return false }
    reader.look()
    return reader.isNext(anyOf: ["(", "do"])
  }
}

/// The list `VALUES (…), (…)`, without its comments.
struct InsertedValues {
  private(set) var bytes: [UInt8]
  /// The range of each value in `bytes`, row by row, including the white space around the value.
  private(set) var parts: [Range<Int>]
  /// For each row, the number of values up to and including the row's last one.
  private(set) var ends: [Int]

  /// Whether every value is a number, a string, a blob or NULL, and so cannot depend on what earlier rows
  /// have changed.
  var hasOnlyLiterals: Bool { parts.allSatisfy { Self.isLiteral(bytes[$0]) } }

  private static let quote = UInt8(ascii: "'")

  private static func isLiteral(_ bytes: ArraySlice<UInt8>) -> Bool {
    var value = bytes.drop(while: SQLScanner.isSpace)
    while let last = value.last, SQLScanner.isSpace(last) { value.removeLast() }
    if let first = value.first, first | 0x20 == UInt8(ascii: "x"), value.dropFirst().first == quote {
      value.removeFirst()
    }
    if value.first == quote {
      value.removeFirst()
      guard value.popLast() == quote else { return false }
      // A quote within a string is doubled.
      while let byte = value.popFirst() { if byte == quote, value.popFirst() != quote { return false } }
      return true
    }
    return !value.isEmpty && value.allSatisfy(isOfNumber)
      || value.elementsEqual("null".utf8) { $0 | 0x20 == $1 }
  }

  /// Whether a byte may be part of a number: a digit, a point, a sign or the `e` of an exponent.
  private static func isOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x2E, 0x2B, 0x2D, 0x45, 0x65: true
    default: false
    }
  }

  /// Appends the rows of another list.
  mutating func append(_ other: InsertedValues) {
    guard let first = other.parts.first else { return }
    // Starts at the bracket before the first value.
    let start = first.lowerBound - 1
    bytes += ", ".utf8
    let (offset, count) = (bytes.count - start, parts.count)
    bytes += other.bytes[start...]
    parts += other.parts.lazy.map { $0.lowerBound + offset..<$0.upperBound + offset }
    ends += other.ends.lazy.map { $0 + count }
  }

  /// Returns the list with an id in each row. A row that ends before the place of the id is not changed,
  /// and the engine refuses it.
  /// - Parameters:
  ///   - place: The index of the id among the values, counted from 0; nil if the rows have no id, and it
  ///     is appended.
  ///   - new: The SQL for an id that the statement does not give.
  ///   - given: Returns the SQL for an id that the statement gives.
  func text(idAt place: Int?, new: String, given: (String) -> String) -> String {
    guard ends.count > 1 else { return single(idAt: place, new: new, given: given) }
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + ends.count * (new.utf8.count + 2))
    var (copied, first) = (0, 0)
    let addition = Array(", \(new)".utf8)
    for end in ends {
      if place == nil {
        text += bytes[copied..<parts[end - 1].upperBound]
        text += addition
        copied = parts[end - 1].upperBound
      } else if let place, first + place < end {
        let part = parts[first + place]
        text += bytes[copied..<part.lowerBound]
        text += given(self.text(part)).utf8
        copied = part.upperBound
      }
      first = end
    }
    text += bytes[copied...]
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns a list of one row as a SELECT. With a BEFORE trigger the engine evaluates VALUES twice, and
  /// would request two ids. Brackets keep each value one expression: otherwise `'it' 's'` in a SELECT
  /// would be a value and its alias.
  private func single(idAt place: Int?, new: String, given: (String) -> String) -> String {
    let values = parts.indices.map { index in
      let value = text(parts[index])
      if index == place { return given(value) }
      return Self.isLiteral(bytes[parts[index]]) ? value : "(\(value))"
    }
    return " SELECT " + (values + (place == nil ? [new] : [])).joined(separator: ",")
  }

  private func text(_ part: Range<Int>) -> String { String(decoding: bytes[part], as: UTF8.self) }

  /// Whether a value is a whole number in digits, or NULL.
  static func isPlain(_ value: String) -> Bool {
    let value = value[...].trimmed
    let digits = value.hasPrefix("-") ? value.utf8.dropFirst() : value.utf8[...]
    return value.lowercased() == "null" || !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
  }
}
