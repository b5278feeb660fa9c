// The SQL of a block without comments and needless white space. The checksums of steps are computed from
// it.

/// The SQL of a block in its stored form: without comments, without empty lines, and without white space
/// at the beginning and end of a line. Quoted texts are unchanged.
struct SQLBody {
  /// The finished lines, each with its line end, and the current line.
  private var text: [UInt8] = []
  /// The index in `text` at which the current line begins.
  private var start = 0
  /// Whether the current line begins within a quoted text.
  private var beginsInText = false
  /// Whether a comment was omitted at the end of the text.
  private var isGap = false
  /// The range of scanned bytes that are kept, but not copied to `text` yet.
  private var run = 0..<0

  /// Adds the next piece, or omits it if it is a comment.
  mutating func append(_ piece: SQLScanner.Piece, of scanner: SQLScanner) {
    switch piece.kind {
    case .word, .other:
      if run.upperBound != piece.range.lowerBound { takeRun(of: scanner) }
      run = (run.isEmpty ? piece.range.lowerBound : run.lowerBound)..<piece.range.upperBound
    case .text:
      takeRun(of: scanner)
      append(scanner.bytes[piece.range], isText: true)
    case .comment:
      takeRun(of: scanner)
      omitComment(scanner.bytes[piece.range])
    }
  }

  private mutating func takeRun(of scanner: SQLScanner) {
    append(scanner.bytes[run], isText: false)
    run = run.upperBound..<run.upperBound
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>, isText: Bool) {
    var rest = bytes
    while let end = rest.firstIndex(of: Self.lineEnd) {
      append(rest[..<end])
      endLine(isText: isText)
      rest = rest[(end + 1)...]
    }
    append(rest)
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>) {
    guard !bytes.isEmpty else { return }
    // SQLite reads a comment as a space. A space replaces it only if the tokens beside it would join
    // otherwise: more spaces would change the checksums of existing steps.
    if isGap, let last = Self.scalar(of: text[start...], atEnd: true),
      let first = Self.scalar(of: bytes, atEnd: false),
      Self.wouldJoin(last, before: first) || wouldContinueNumber(first)
    {
      text.append(UInt8(ascii: " "))
    }
    isGap = false
    text += bytes
  }

  private mutating func omitComment(_ comment: ArraySlice<UInt8>) {
    for byte in comment where byte == Self.lineEnd { endLine(isText: false) }
    isGap = true
  }

  private static let lineEnd = UInt8(ascii: "\n")

  /// Returns the first or the last scalar of a text.
  private static func scalar(of text: ArraySlice<UInt8>, atEnd: Bool) -> Unicode.Scalar? {
    guard let byte = atEnd ? text.last : text.first else { return nil }
    if byte < 0x80 { return Unicode.Scalar(byte) }
    // A scalar has at most four bytes. The cut may split another scalar, but never the one that is
    // returned.
    let scalars = String(decoding: atEnd ? text.suffix(4) : text.prefix(4), as: UTF8.self).unicodeScalars
    return atEnd ? scalars.last : scalars.first
  }

  /// Ends the last line and returns all lines.
  mutating func finished(_ scanner: SQLScanner) -> String {
    takeRun(of: scanner)
    endLine(isText: false)
    return String(decoding: text.dropLast(), as: UTF8.self)
  }

  /// Returns the stored form of SQL that a Swift program passes, as if it were in a block of a step's
  /// file.
  static func text(of sql: String) -> String {
    var scanner = SQLScanner(sql.replacing("\r\n", with: "\n"))
    var body = SQLBody()
    while let piece = scanner.next() { body.append(piece, of: scanner) }
    return body.finished(scanner)
  }

  /// Indents each line that does not begin within a quoted text. The stored form does not change.
  static func indented(_ sql: String) -> String {
    let indent = "    "
    var (scanner, text) = (SQLScanner(sql), indent)
    while let piece = scanner.next() {
      let content = scanner.text(piece.range)
      text += piece.kind == .text ? content : content.replacing("\n", with: "\n" + indent)
    }
    return text
  }

  private mutating func endLine(isText: Bool) {
    if !beginsInText { text.removeSubrange(start..<start + Self.spaces(in: text[start...], atEnd: false)) }
    if !isText { text.removeLast(Self.spaces(in: text[start...], atEnd: true)) }
    // An empty line is kept only within a quoted text.
    if beginsInText || isText || start < text.count { text.append(Self.lineEnd) }
    (start, beginsInText, isGap) = (text.count, isText, false)
  }

  /// Returns how many bytes of white space a line has at its beginning or its end.
  private static func spaces(in line: ArraySlice<UInt8>, atEnd: Bool) -> Int {
    var rest = line
    while let scalar = scalar(of: rest, atEnd: atEnd), SQLScanner.isSpace(scalar) {
      if atEnd { rest.removeLast(UTF8.width(scalar)) } else { rest.removeFirst(UTF8.width(scalar)) }
    }
    return line.count - rest.count
  }

  /// Returns whether the text ends with a number that a scalar would continue: as in `1.` before `e5`, `1`
  /// before `.5`, `1e` before `+5`.
  private func wouldContinueNumber(_ next: Unicode.Scalar) -> Bool {
    let point = UInt8(ascii: ".")
    let word = text[start...].reversed().prefix { SQLScanner.isWord($0) || $0 == point }
    guard let last = word.first, let first = word.last, first == point || (0x30...0x39).contains(first)
    else { return false }
    return next == "." || SQLScanner.isWord(next)
      || last | 0x20 == UInt8(ascii: "e") && (next == "+" || next == "-")
  }

  /// Returns whether two adjacent scalars would be read as parts of one token.
  private static func wouldJoin(_ left: Unicode.Scalar, before right: Unicode.Scalar) -> Bool {
    let operators: Set<Unicode.Scalar> = ["-", "/", "*", "<", ">", "=", "|", "!"]
    let quotes: Set<Unicode.Scalar> = ["'", "\"", "`"]
    if left == "x" || left == "X", right == "'" { return true }
    if left == right, quotes.contains(left) { return true }
    if operators.contains(left) { return operators.contains(right) }
    return (left == "$" || SQLScanner.isWord(left)) && SQLScanner.isWord(right)
  }
}
