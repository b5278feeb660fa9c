// The SQL of a block, cleaned of comments and needless white space. The checksums of steps are over it.

/// The SQL of a block as it is kept: without comments, and without spaces at the ends of lines and empty lines, but for
/// those in texts.
struct SQLBody {
  /// The lines that are kept, each with its end, and the one that is not ended yet.
  private var text: [UInt8] = []
  /// Where that one begins.
  private var start = 0
  /// Whether it begins within a text.
  private var beginsInText = false
  /// Whether a comment was left out here.
  private var isGap = false
  /// Bytes of the scanner that are kept and not copied to the text yet.
  private var run = 0..<0

  /// Takes the next piece, or leaves it out.
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
      leaveOut(scanner.bytes[piece.range])
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
    // A comment parts what stands on its two sides, as a space does. Where they are apart anyway nothing is put in
    // its place: the checksums of steps are over what was kept of them.
    if isGap, let last = Self.scalar(of: text[start...], atEnd: true),
      let first = Self.scalar(of: bytes, atEnd: false), Self.wouldJoin(last, first)
    {
      text.append(UInt8(ascii: " "))
    }
    isGap = false
    text += bytes
  }

  private mutating func leaveOut(_ comment: ArraySlice<UInt8>) {
    for byte in comment where byte == Self.lineEnd { endLine(isText: false) }
    isGap = true
  }

  private static let lineEnd = UInt8(ascii: "\n")

  /// The first scalar of some text, or the last one.
  private static func scalar(of text: ArraySlice<UInt8>, atEnd: Bool) -> Unicode.Scalar? {
    guard let byte = atEnd ? text.last : text.first else { return nil }
    if byte < 0x80 { return Unicode.Scalar(byte) }
    // None has more than four bytes; what of another one is cut off stands at the other side.
    let scalars = String(decoding: atEnd ? text.suffix(4) : text.prefix(4), as: UTF8.self).unicodeScalars
    return atEnd ? scalars.last : scalars.first
  }

  /// All lines, the last one closed.
  mutating func finished(_ scanner: SQLScanner) -> String {
    takeRun(of: scanner)
    endLine(isText: false)
    return String(decoding: text.dropLast(), as: UTF8.self)
  }

  /// The SQL of a Swift program, as a block of a file would keep it.
  static func text(of sql: String) -> String {
    var scanner = SQLScanner(sql.replacing("\r\n", with: "\n"))
    var body = SQLBody()
    while let piece = scanner.next() { body.append(piece, of: scanner) }
    return body.finished(scanner)
  }

  /// The SQL with each line moved in that does not begin within a text. It is kept as if it were not.
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
    // An empty one is kept within a text alone.
    if beginsInText || isText || start < text.count { text.append(Self.lineEnd) }
    (start, beginsInText, isGap) = (text.count, isText, false)
  }

  /// How many bytes of white space stand at the beginning of a line, or at its end.
  private static func spaces(in line: ArraySlice<UInt8>, atEnd: Bool) -> Int {
    var rest = line
    while let scalar = scalar(of: rest, atEnd: atEnd), SQLScanner.isSpace(scalar) {
      if atEnd { rest.removeLast(UTF8.width(scalar)) } else { rest.removeFirst(UTF8.width(scalar)) }
    }
    return line.count - rest.count
  }

  /// Whether two scalars side by side would be read as one thing, or the second as part of what the first begins.
  private static func wouldJoin(_ left: Unicode.Scalar, _ right: Unicode.Scalar) -> Bool {
    let operators: Set<Unicode.Scalar> = ["-", "/", "*", "<", ">", "=", "|", "!"]
    let quotes: Set<Unicode.Scalar> = ["'", "\"", "`"]
    if left == "x" || left == "X", right == "'" { return true }
    if left == right, quotes.contains(left) { return true }
    if operators.contains(left) { return operators.contains(right) }
    return (left == "$" || SQLScanner.isWord(left)) && SQLScanner.isWord(right)
  }
}
