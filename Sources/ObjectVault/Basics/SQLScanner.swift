// Scans SQL that a person wrote into words, quoted texts, comments and single characters. All code that
// reads such SQL uses this scanner.
//
// It reads UTF-8 bytes, as SQLite does. Swift's `Character` joins a quote and a following combining mark,
// so a scanner of characters would miss the quote.

package struct SQLScanner {
  enum Kind {
    /// Letters, digits and underscores.
    case word
    /// A text in quotes or square brackets, with them. A text with a doubled quote is scanned as two
    /// pieces, which makes no difference to callers.
    case text
    case comment
    /// A single Unicode scalar.
    case other
  }

  struct Piece {
    let kind: Kind
    /// The bytes of the piece.
    let range: Range<Int>
    /// Whether the end of a quoted text or of a comment was found.
    var isClosed = true
  }

  /// The SQL as UTF-8.
  let bytes: [UInt8]
  /// The index of the byte at which the next piece begins.
  var position: Int

  /// Scans bytes from a position on.
  /// - Parameters:
  ///   - bytes: Valid UTF-8.
  ///   - position: The index of a byte at which a scalar begins.
  init(_ bytes: [UInt8], from position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  init(_ sql: String) { self.init(Array(sql.utf8)) }

  /// Returns whether an expression may contain a window function, such as `row_number() OVER (…)`: it has
  /// the unquoted word OVER outside of subqueries. Window functions in a subquery range over its own rows.
  static func hasWindow(_ sql: String) -> Bool {
    // Most expressions are only a column's name.
    guard sql.utf8.contains(UInt8(ascii: "(")) else { return false }
    var scanner = SQLScanner(sql)
    // For each open bracket: whether it contains a query; nil until its first word.
    var brackets: [Bool?] = []
    while let piece = scanner.next() {
      switch piece.kind {
      case .comment: continue
      case .other where scanner.isSpace(piece): continue
      case .other where scanner.sign(of: piece) == "(": brackets.append(nil)
      case .other where scanner.sign(of: piece) == ")": _ = brackets.popLast()
      case .word:
        let word = scanner.text(piece.range).lowercased()
        if word == "over", !brackets.contains(true) { return true }
        fallthrough
      case .text, .other:
        guard let last = brackets.indices.last, brackets[last] == nil else { continue }
        brackets[last] =
          piece.kind == .word && isQueryWord(scanner.text(piece.range))
      }
    }
    return false
  }

  /// Returns whether SQL begins as a query. Such SQL is an expression only if it is put in brackets.
  static func isQuery(_ sql: String) -> Bool {
    var scanner = SQLScanner(sql)
    while let piece = scanner.next() {
      switch piece.kind {
      case .comment: continue
      case .other where scanner.isSpace(piece): continue
      case .word: return isQueryWord(scanner.text(piece.range))
      case .text, .other: return false
      }
    }
    return false
  }

  /// Returns whether a query can begin with a word.
  private static func isQueryWord(_ word: String) -> Bool {
    ["select", "with", "values"].contains(word.lowercased())
  }

  /// Returns the type of an expression that is a single cast, in upper case: `INTEGER` for
  /// `CAST(a + 1 AS INTEGER)`. nil for any other expression, and if the type has several words or
  /// brackets.
  package static func castType(_ sql: String) -> String? {
    var scanner = SQLScanner(sql)
    var (count, depth) = (0, 0)
    // The last two words inside the outermost brackets; empty if something else is between or after them.
    var last: (former: String, word: String) = ("", "")
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      if piece.kind == .comment || text.allSatisfy(\.isWhitespace) { continue }
      switch (count, text) {
      case (0, _) where text.lowercased() == "cast", (1, "("): break
      case (0, _), (1, _): return nil
      // Something follows the outermost brackets.
      case _ where depth == 0: return nil
      default: break
      }
      if piece.kind == .other {
        depth += text == "(" ? 1 : text == ")" ? -1 : 0
        if depth > 0 { last = ("", "") }
      } else {
        last = piece.kind == .word && depth == 1 ? (last.word, text.uppercased()) : ("", "")
      }
      count += 1
    }
    return depth == 0 && last.former == "AS" ? last.word : nil
  }

  /// Returns everything in SQL that may be a name or a part of one, in lower case, including text in
  /// quotes and comments.
  static func possibleNames(in sql: String) -> Set<String> {
    Set(sql.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map { $0.lowercased() })
  }

  /// Returns the words of SQL in order and in lower case, without those in quotes and comments.
  package static func words(_ sql: String) -> [String] {
    var (scanner, words) = (SQLScanner(sql), [String]())
    while let piece = scanner.next() {
      if piece.kind == .word { words.append(scanner.text(piece.range).lowercased()) }
    }
    return words
  }

  /// Returns the next piece, or nil at the end.
  mutating func next() -> Piece? {
    guard position < bytes.count else { return nil }
    let start = position
    let following = start + 1 < bytes.count ? bytes[start + 1] : 0
    switch (Unicode.Scalar(bytes[start]), Unicode.Scalar(following)) {
    case ("'", _), ("\"", _), ("`", _): return text(upTo: bytes[start])
    case ("[", _): return text(upTo: UInt8(ascii: "]"))
    case ("/", "*"): return comment()
    case ("-", "-"):
      position = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      return Piece(kind: .comment, range: start..<position)
    default: break
    }
    skipWord()
    if position > start { return Piece(kind: .word, range: start..<position) }
    position += bytes[start] < 0x80 ? 1 : scalar(at: start).map(UTF8.width) ?? 1
    return Piece(kind: .other, range: start..<position)
  }

  /// Scans a quoted text from its opening quote at the position.
  private mutating func text(upTo quote: UInt8) -> Piece {
    let start = position
    // A loop over the array: a slice of it would be retained for each text.
    var end = start + 1
    while end < bytes.count, bytes[end] != quote { end += 1 }
    position = min(end + 1, bytes.count)
    return Piece(kind: .text, range: start..<position, isClosed: end < bytes.count)
  }

  /// Scans a comment from its `/*` at the position.
  private mutating func comment() -> Piece {
    let start = position
    position = min(start + 3, bytes.count)
    while position < bytes.count {
      position += 1
      if bytes[position - 1] == UInt8(ascii: "/"), bytes[position - 2] == UInt8(ascii: "*") {
        return Piece(kind: .comment, range: start..<position)
      }
    }
    return Piece(kind: .comment, range: start..<position, isClosed: false)
  }

  /// Scans the name at the position, such as `User.city` after a dollar sign.
  mutating func name() -> String {
    let start = position
    skipWord()
    while position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      position += 1
      skipWord()
    }
    return text(start..<position)
  }

  /// Moves past a word, if one comes next.
  private mutating func skipWord() {
    var end = position
    while end < bytes.count {
      // Nearly all SQL is ASCII.
      if bytes[end] < 0x80 {
        guard Self.isWord(bytes[end]) else { break }
        end += 1
      } else {
        guard let scalar = scalar(at: end), Self.isWord(scalar) else { break }
        end += UTF8.width(scalar)
      }
    }
    position = end
  }

  /// Moves past ASCII white space.
  mutating func skipSpaces() {
    var end = position
    while end < bytes.count, Self.isSpace(bytes[end]) { end += 1 }
    position = end
  }

  /// Returns the scalar that begins at a byte, or nil at the end.
  func scalar(at index: Int) -> Unicode.Scalar? {
    guard index < bytes.count else { return nil }
    if bytes[index] < 0x80 { return Unicode.Scalar(bytes[index]) }
    var (rest, decoder) = (bytes[index...].makeIterator(), UTF8())
    return if case .scalarValue(let scalar) = decoder.decode(&rest) { scalar } else { nil }
  }

  /// Returns the first byte of a piece as a scalar. It equals an ASCII character only if the piece begins
  /// with that character.
  func sign(of piece: Piece) -> Unicode.Scalar { Unicode.Scalar(bytes[piece.range.lowerBound]) }

  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// Returns the text of a piece without its quotes; doubled quotes stay doubled.
  func content(of piece: Piece) -> String {
    let (start, end) = (piece.range.lowerBound + 1, piece.range.upperBound - (piece.isClosed ? 1 : 0))
    return text(start..<max(start, end))
  }

  /// Returns how many scalars come before a byte.
  func scalarCount(before index: Int) -> Int { text(0..<index).unicodeScalars.count }

  /// Returns whether a scalar is part of a word. ASCII, which nearly all SQL is, needs no Unicode tables.
  static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return isWord(UInt8(scalar.value)) }
    let properties = scalar.properties
    // A combining mark belongs to the letter before it.
    return properties.isAlphabetic || properties.numericType != nil || properties.isGraphemeExtend
  }

  /// Returns whether an ASCII character is part of a word; false for a byte of another scalar.
  static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
    default: false
    }
  }

  /// Returns whether a scalar is white space. ASCII needs no Unicode tables.
  static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? isSpace(UInt8(scalar.value)) : scalar.properties.isWhitespace
  }

  /// Returns whether an ASCII character is white space; false for a byte of another scalar.
  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (9...13).contains(byte) }

  /// Returns whether a piece is a dollar sign, which begins a name of the model or `$$`.
  func isDollar(_ piece: Piece) -> Bool { piece.kind == .other && sign(of: piece) == "$" }

  /// Returns whether a piece is white space.
  func isSpace(_ piece: Piece) -> Bool {
    piece.kind == .other && scalar(at: piece.range.lowerBound).map(Self.isSpace) == true
  }
}

extension String {
  /// Makes a string in one pass over the scalars. `append(contentsOf:)` of a `String.UnicodeScalarView`
  /// would copy the whole view at each call.
  init(_ scalars: some Sequence<Unicode.Scalar>) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(scalars.underestimatedCount)
    for scalar in scalars {
      if scalar.isASCII { bytes.append(UInt8(scalar.value)) } else { bytes.append(contentsOf: scalar.utf8) }
    }
    self.init(decoding: bytes, as: UTF8.self)
  }
}
