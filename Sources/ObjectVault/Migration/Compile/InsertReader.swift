// Takes an INSERT apart, in one pass over its pieces. What is made of the parts is in NumberedInsert.

/// Goes through the pieces of a statement, without its comments, and keeps what it went by.
struct InsertReader {
  private var scanner: SQLScanner
  /// The next piece that is neither white space nor a comment; nil at the end.
  private var next: SQLScanner.Piece?
  /// Where the white space before it begins.
  private var gap = 0
  /// Whether a comment stands in that: it parts what stands on its two sides, as a space does.
  private var hasComment = false
  private var taken: [UInt8] = []
  /// Bytes that were passed after these, and are not copied yet.
  private var run = 0..<0
  private var takenCount: Int { taken.count + run.count }

  init(_ sql: String) {
    scanner = SQLScanner(sql)
    look()
  }

  /// Starts after `words`, with which the statement has to begin; nil for any other statement.
  init?(_ sql: String, behind words: [UInt8]) {
    let bytes = Array(sql.utf8)
    let start = Self.start(of: bytes)
    guard bytes[start...].starts(with: words) else { return nil }
    scanner = SQLScanner(bytes, from: start + words.count)
    look()
    run = gap..<gap
  }

  /// Where the white space of ASCII at the beginning ends.
  private static func start(of bytes: [UInt8]) -> Int {
    bytes.firstIndex { $0 >= 0x80 || !SQLScanner.isSpace(Unicode.Scalar($0)) } ?? bytes.count
  }

  /// Everything up to the next word or sign, without the white space at the beginning.
  var beginning: [UInt8] {
    let bytes = scanner.bytes
    return Array(bytes[Self.start(of: bytes)..<(next?.range.lowerBound ?? bytes.count)])
  }

  /// Whether nothing comes next.
  var isAtEnd: Bool { next == nil }

  /// What it went by since ``forget()``.
  var text: String { String(decoding: taken + scanner.bytes[run], as: UTF8.self) }

  /// Begins anew to keep what is gone by.
  mutating func forget() { (taken, run) = ([], gap..<gap) }

  private mutating func takeRun() {
    taken += scanner.bytes[run]
    run = run.upperBound..<run.upperBound
  }

  /// Finds the next piece.
  private mutating func look() {
    (gap, hasComment) = (scanner.position, false)
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

  /// Goes by everything up to the next word or sign, and it.
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

  /// Whether a word or a sign, in lower case, comes next.
  private func isNext(_ word: String) -> Bool {
    guard let next, next.range.count == word.utf8.count else { return false }
    return zip(scanner.bytes[next.range], word.utf8).allSatisfy { byte, expected in
      byte == expected || byte | 0x20 == expected && SQLScanner.isWord(Unicode.Scalar(byte))
    }
  }

  private func isNext(anyOf words: [String]) -> Bool { words.contains(where: isNext) }

  /// Goes by a word or a sign, in lower case, where it comes next.
  /// - Returns: Whether it did.
  mutating func pass(_ word: String) -> Bool {
    guard isNext(word) else { return false }
    step()
    return true
  }

  /// Goes by all that is left.
  mutating func passAll() { while next != nil { step() } }

  /// Goes by what stands in brackets, with these, or by one piece.
  private mutating func passGroup() {
    var depth = 0
    repeat {
      if isNext("(") { depth += 1 }
      if isNext(")") { depth -= 1 }
      step()
    } while depth > 0 && next != nil
  }

  /// Goes by `WITH …`, up to the statement that it stands before.
  private mutating func passWith() {
    guard isNext("with") else { return }
    let beginnings = ["insert", "replace", "select", "values", "update", "delete"]
    while next != nil, !isNext(anyOf: beginnings) { passGroup() }
  }

  /// Goes by `INSERT`, `INSERT OR …` or `REPLACE`, and by the `WITH …` before it.
  mutating func isInsertion() -> Bool {
    passWith()
    if pass("replace") { return true }
    guard pass("insert") else { return false }
    if pass("or") { step() }
    return true
  }

  /// Goes by a name, and by that of its database.
  /// - Returns: The name in lower case, without quotes.
  mutating func passName() -> String? {
    guard let piece = next, piece.kind != .other else { return nil }
    step()
    if pass(".") { return passName() }
    return (piece.kind == .text ? scanner.content(of: piece) : scanner.text(piece.range)).lowercased()
  }

  /// Goes by names in brackets.
  mutating func passList() -> [String]? {
    var names: [Range<Int>] = []
    takeRun()
    let before = taken
    defer { (taken, run) = (before, gap..<gap) }
    guard passParts(&names) else { return nil }
    takeRun()
    return names.map { String(decoding: taken[$0], as: UTF8.self)[...].trimmed }
  }

  /// Goes by something in brackets.
  /// - Parameter parts: Gets where in what was gone by the parts between its commas stand.
  /// - Returns: Whether it came next, and has an end.
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

  /// Goes by a list of values.
  /// - Returns: nil, and nothing was gone by, where the rows are those of a query: `WITH … VALUES …` is one, too, since a list
  ///   of several rows does not see what stands in its WITH (SQLite 3.15).
  mutating func passValues() -> InsertedValues? {
    var reader = self
    guard reader.pass("values") else { return nil }
    var (parts, ends): ([Range<Int>], [Int]) = ([], [])
    repeat {
      guard reader.passParts(&parts) else { return nil }
      ends.append(parts.count)
    } while reader.pass(",")
    // `VALUES (1) UNION ALL SELECT 2` is a query.
    guard reader.isBehindRows else { return nil }
    self = reader
    takeRun()
    return InsertedValues(bytes: taken, parts: parts, ends: ends)
  }

  /// Goes by the rows of a query.
  mutating func passRows() {
    while next != nil, !isBehindRows { passGroup() }
  }

  /// Whether nothing comes next, or what newer engines have behind rows: `ON CONFLICT` or `RETURNING`.
  private var isBehindRows: Bool { next == nil || isNext("returning") || isUpsert }

  /// Whether `ON CONFLICT (` or `ON CONFLICT DO` comes next. In `JOIN Conflict ON Conflict.a = …` it is a
  /// name.
  private var isUpsert: Bool {
    guard isNext("on") else { return false }
    var reader = self
    reader.look()
    guard reader.isNext("conflict") else { return false }
    reader.look()
    return reader.isNext(anyOf: ["(", "do"])
  }
}

/// `VALUES (…), (…)`, without its comments.
struct InsertedValues {
  private(set) var bytes: [UInt8]
  /// Where each value stands, with the white space around it: those of one row after those of another.
  private(set) var parts: [Range<Int>]
  /// How many there are up to the end of each row.
  private(set) var ends: [Int]

  /// Whether each value stands there as a number, a text, bytes or NULL, so that none asks for what the rows before it have changed.
  var areLiterals: Bool { parts.allSatisfy { Self.isLiteral(bytes[$0]) } }

  private static let ofNumbers = Set("0123456789.+-eE".utf8)
  private static let quote = UInt8(ascii: "'")

  private static func isLiteral(_ bytes: ArraySlice<UInt8>) -> Bool {
    var value = bytes.drop(while: isSpace)
    while let last = value.last, isSpace(last) { value.removeLast() }
    if let first = value.first, first | 0x20 == UInt8(ascii: "x"), value.dropFirst().first == quote {
      value.removeFirst()
    }
    if value.first == quote {
      value.removeFirst()
      guard value.popLast() == quote else { return false }
      // A quote in a text is doubled.
      while let byte = value.popFirst() { if byte == quote, value.popFirst() != quote { return false } }
      return true
    }
    return !value.isEmpty && value.allSatisfy(ofNumbers.contains)
      || value.map { $0 | 0x20 } == Array("null".utf8)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte < 0x80 && SQLScanner.isSpace(Unicode.Scalar(byte))
  }

  /// Puts the rows of another list after its own.
  mutating func append(_ other: InsertedValues) {
    guard let first = other.parts.first else { return }
    // From the bracket before the first value on.
    let start = first.lowerBound - 1
    bytes += ", ".utf8
    let (offset, count) = (bytes.count - start, parts.count)
    bytes += other.bytes[start...]
    parts += other.parts.lazy.map { $0.lowerBound + offset..<$0.upperBound + offset }
    ends += other.ends.lazy.map { $0 + count }
  }

  /// The list with an id in each row. A row of another length stays that, and the engine refuses it.
  /// - Parameters:
  ///   - place: Which of its values is the id, counted from 0; nil where none is, and it comes last.
  ///   - new: The SQL for an id that the statement does not give.
  ///   - given: The SQL for one that it gives.
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

  /// The list of a single row, as a SELECT: where a trigger runs before, the engine computes VALUES twice, and would ask for two ids.
  /// Brackets keep each value one expression: in a SELECT `'it' 's'` would be a value and its name.
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
