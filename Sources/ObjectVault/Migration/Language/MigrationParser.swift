// Parses the text of a migration file into operations. The format is line-based, `#` begins a comment, and
// SQL is in braces.

struct MigrationParser {
  struct Result {
    var header = MigrationHeader()
    var up: [MigrationOperation] = []
    /// The line at which each operation of ``up`` begins, counted from 1.
    var upLines: [Int] = []
    /// The line at which each operation of ``down`` begins, counted from 1.
    var downLines: [Int] = []
    var down: [MigrationOperation]?
    /// Why the step cannot be rolled back, if its author wrote `irreversible`.
    var irreversible: String?
  }

  private let file: String
  /// The text, with every line end as "\n".
  private let bytes: [UInt8]
  /// The offset in `bytes` at which each line begins.
  private let starts: [Int]
  private(set) var index = 0

  init(_ text: String, file: String) {
    self.file = file
    let lineEnd = UInt8(ascii: "\n")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var previous = lineEnd
    for byte in Substring(text.unicodeScalars.drop { $0 == "\u{FEFF}" }).utf8 {
      let isEnd = byte == UInt8(ascii: "\r")
      // Skips the LF of CR LF: the CR has ended the line already.
      if byte != lineEnd || previous != UInt8(ascii: "\r") { bytes.append(isEnd ? lineEnd : byte) }
      previous = byte
    }
    self.bytes = bytes
    starts = [0] + bytes.indices.filter { bytes[$0] == lineEnd }.map { $0 + 1 }
  }

  private func bytes(ofLine index: Int) -> ArraySlice<UInt8> {
    bytes[starts[index]..<(index + 1 < starts.count ? starts[index + 1] - 1 : bytes.count)]
  }

  private func line(_ index: Int) -> String { String(decoding: bytes(ofLine: index), as: UTF8.self) }

  func failure(_ reason: String, hint: String, line: Int? = nil, column: Int = 1) -> StoreError {
    .migrationSyntax(
      MigrationSyntaxError(file: file, line: (line ?? index) + 1, column: column, reason: reason, hint: hint))
  }

  /// Parses the whole file.
  /// - Parameters:
  ///   - number: The number in the file's name.
  ///   - name: The name of the step in the file's name.
  mutating func parse(number: Int, name: String) throws -> Result {
    var result = Result()
    try requireNoConflict()
    try header(&result)
    if let problem = result.header.misfit(number: number, name: name) {
      throw failure(problem.reason, hint: problem.hint, line: problem.key.flatMap { result.header.lines[$0] })
    }
    var section: String?
    var sections: Set<String> = []
    while index < starts.count {
      let line = Self.stripped(line(index))
      if line.isEmpty {
        index += 1
      } else if line == "[up]" || line == "[down]" {
        guard sections.insert(line).inserted else {
          throw failure(
            "this is a second \(line) section", hint: "write all of its operations below one \(line)")
        }
        section = line
        index += 1
        if line == "[down]" { result.down = [] }
      } else if section == "[down]" {
        try down(line, &result)
      } else if section == "[up]" {
        let start = index + 1
        result.up.append(contentsOf: try operations(line))
        while result.upLines.count < result.up.count { result.upLines.append(start) }
      } else {
        throw failure(
          "\"\(line.prefix(40))\" is before [up]", hint: "write [up] on a line of its own first")
      }
    }
    guard section != nil else {
      throw failure("there is no [up] section", hint: "write [up], and the operations below it")
    }
    return result
  }

  /// Refuses the conflict markers that a merge of two branches leaves, at the beginning of any line. Only
  /// in a string or a comment could a line of valid SQL begin with such a marker.
  private func requireNoConflict() throws {
    let marks = ["<<<<<<<", ">>>>>>>"].map { Array($0.utf8) }
    let conflict = starts.indices.first { index in marks.contains { bytes(ofLine: index).starts(with: $0) } }
    guard let line = conflict else { return }
    throw failure(
      "there is a merge conflict here",
      hint:
        "keep one side, and remove the conflict markers; if both branches added a step, put one of them into "
        + "a file with the next free number",
      line: line)
  }

  /// Parses a line of `[down]`: an operation, or `irreversible "why"`, which must then be the only line.
  private mutating func down(_ line: String, _ result: inout Result) throws {
    guard MigrationWords(line).words.first?.text == "irreversible" else {
      guard result.irreversible == nil else {
        throw failure(
          "[down] has another line after irreversible",
          hint: "write either operations or irreversible \"why\"")
      }
      let start = index + 1
      result.down?.append(contentsOf: try operations(line))
      while result.downLines.count < result.down?.count ?? 0 { result.downLines.append(start) }
      return
    }
    guard result.down?.isEmpty != false else {
      throw failure(
        "[down] has both operations and irreversible", hint: "write either operations or irreversible \"why\""
      )
    }
    var words = try words(at: index)
    try words.expect("irreversible")
    result.irreversible =
      try words.isAtEnd ? "its author declared it irreversible" : words.string("the reason")
    try words.end()
    result.down = nil
    index += 1
  }

  private mutating func header(_ result: inout Result) throws {
    let known = MigrationHeader.Key.allCases.map(\.rawValue)
    while index < starts.count {
      let line = Self.stripped(line(index))
      if line.hasPrefix("[") { break }
      defer { index += 1 }
      if line.isEmpty { continue }
      guard let colon = line.firstIndex(of: ":") else {
        throw failure(
          "\"\(line.prefix(40))\" is not a header line", hint: "write key: value, or [up] before operations")
      }
      let word = line[..<colon].trimmed
      guard let key = MigrationHeader.Key(rawValue: word) else {
        throw failure(
          "\"\(word)\" is not a header",
          hint: didYouMean(nearest(word, among: known)) ?? "headers are \(known.joined(separator: ", "))")
      }
      // In a note, `#` begins no comment: the note may mention issue #12.
      let text = key == .note ? self.line(index) : line
      do {
        try result.header.take(key, text[...].drop { $0 != ":" }.dropFirst().trimmed, line: index)
      } catch { throw failure(error.reason, hint: error.hint) }
    }
    guard result.header.lines[.format] != nil else {
      throw failure("the line \"format: 1\" is missing", hint: "begin the file with format: 1", line: 0)
    }
  }

  // MARK: Operations

  private func words(at index: Int) throws -> MigrationLine {
    try MigrationLine(line(index), file: file, number: index + 1)
  }

  private mutating func operations(_ line: String) throws -> [MigrationOperation] {
    let first = MigrationWords(line).words.prefix(2).map(\.text)
    let forms = first.first.flatMap { MigrationOperation.forms[$0] } ?? []
    let form = forms.first { $0.kind != nil && $0.kind == first.last } ?? forms.first { $0.kind == nil }
    if case .block(let read)? = form?.rest { return [try read(&self)] }
    var words = try words(at: index)
    index += 1
    return try words.operations()
  }

  /// Returns the words of the current line.
  func head() throws -> MigrationLine { try words(at: index) }

  /// Parses the lines after the current one, up to the line with the closing brace.
  mutating func members(of what: String, _ read: (inout MigrationLine) throws -> Void) throws {
    let start = index
    index += 1
    while index < starts.count {
      let line = Self.stripped(line(index))
      if line == "}" {
        index += 1
        return
      }
      if !line.isEmpty {
        var words = try words(at: index)
        try read(&words)
      }
      index += 1
    }
    throw failure("\(what) is not closed", hint: "close it with } on a line of its own", line: start)
  }

  /// Returns the SQL from a column of the current line up to the brace that closes the block.
  mutating func block(from column: Int) throws -> String {
    let start = index
    let before = line(index).unicodeScalars.prefix(column)
    var scanner = SQLScanner(bytes, from: starts[index] + Substring(before).utf8.count)
    var body = SQLBody()
    var depth = 0
    while let piece = scanner.next() {
      guard piece.isClosed else { throw unclosed(piece) }
      switch piece.kind {
      case .word: break
      case .other: if scanner.sign(of: piece) == "\n" { index += 1 }
      case .text, .comment: index += bytes[piece.range].count { $0 == UInt8(ascii: "\n") }
      }
      if piece.kind == .other {
        if scanner.sign(of: piece) == "{" { depth += 1 }
        if scanner.sign(of: piece) == "}" { depth -= 1 }
        if depth < 0 { return try ended(body, scanner) }
      }
      body.append(piece, of: scanner)
    }
    throw failure("this block is not closed", hint: "close it with }", line: start)
  }

  /// Returns the error for a string or comment that is not closed. It may contain the brace that was to
  /// close the block.
  private func unclosed(_ piece: SQLScanner.Piece) -> StoreError {
    let line = starts.lastIndex { $0 <= piece.range.lowerBound } ?? index
    let before = String(decoding: bytes[starts[line]..<piece.range.lowerBound], as: UTF8.self)
    let column = before.unicodeScalars.count + 1
    guard piece.kind == .text else {
      return failure("this comment is not closed", hint: "close it with */", line: line, column: column)
    }
    let quote = Unicode.Scalar(bytes[piece.range.lowerBound])
    return failure(
      "the text that begins here is not closed",
      hint: quote == "["
        ? "close it with ]"
        : "close it with \(quote), or write "
          + "\(quote)\(quote) for one inside it", line: line, column: column)
  }

  private mutating func ended(_ body: SQLBody, _ scanner: SQLScanner) throws -> String {
    let end = index + 1 < starts.count ? starts[index + 1] : bytes.count
    guard Self.stripped(String(decoding: bytes[scanner.position..<end], as: UTF8.self)).isEmpty else {
      throw failure(
        "there is text after }", hint: "write the next operation on a line of its own", line: index)
    }
    index += 1
    var body = body
    return body.finished(scanner)
  }

  /// Returns the line without its comment, and without white space at its beginning and end.
  static func stripped(_ line: String) -> String {
    guard line.utf8.contains(UInt8(ascii: "#")) else { return line[...].trimmed }
    let scalars = Array(line.unicodeScalars)
    var (isQuoted, isEscaped) = (false, false)
    var end = scalars.count
    for (index, scalar) in scalars.enumerated() {
      if isEscaped {
        isEscaped = false
      } else if scalar == "\\" && isQuoted {
        isEscaped = true
      } else if scalar == "\"" {
        isQuoted.toggle()
      } else if scalar == "#" && !isQuoted {
        end = index
        break
      }
    }
    return String(scalars[..<end])[...].trimmed
  }
}

extension Substring {
  var trimmed: String {
    var rest = unicodeScalars[...].drop(while: SQLScanner.isSpace)
    while let last = rest.last, SQLScanner.isSpace(last) { rest.removeLast() }
    return String(rest)
  }
}
