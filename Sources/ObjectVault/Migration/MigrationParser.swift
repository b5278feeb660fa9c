// The text of a migration file -> operations. Line-based; `#` begins a comment; SQL stands in braces.

struct MigrationParser {
  struct Result {
    var header: [String: String] = [:]
    var up: [MigrationOperation] = []
    var down: [MigrationOperation]?
    /// Why there is no way back, where the author says that there is none.
    var irreversible: String?
    /// What it replaces.
    var folds: [FoldedStep] = []
  }

  private let file: String
  /// The text, every line end as "\n".
  private let scalars: [Unicode.Scalar]
  /// Where each line begins.
  private let starts: [Int]
  private let lines: [String]
  private var index = 0

  init(_ text: String, file: String) {
    self.file = file
    var scalars: [Unicode.Scalar] = []
    scalars.reserveCapacity(text.utf8.count)
    var previous: Unicode.Scalar = " "
    for scalar in text.unicodeScalars {
      if scalar == "\n", previous == "\r" {
        // The line has ended already.
      } else if scalar != "\u{FEFF}" || !scalars.isEmpty {
        scalars.append(scalar == "\r" ? "\n" : scalar)
      }
      previous = scalar
    }
    self.scalars = scalars
    starts = [0] + scalars.indices.filter { scalars[$0] == "\n" }.map { $0 + 1 }
    lines = scalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
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
        try down(line, &result)
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

  /// A line of `[down]`: an operation, or `irreversible "why"`, which then is its only line.
  private mutating func down(_ line: String, _ result: inout Result) throws {
    guard MigrationWords(line).words.first?.text == "irreversible" else {
      guard result.irreversible == nil else {
        throw failure("[down] is irreversible and goes on", "write operations, or irreversible \"why\"")
      }
      result.down?.append(try operation(line))
      return
    }
    guard result.down?.isEmpty != false else {
      throw failure("[down] has operations and is irreversible", "write operations, or irreversible \"why\"")
    }
    var words = try words(at: index)
    try words.expect("irreversible")
    result.irreversible = try words.isAtEnd ? "its author says so" : words.string("why, in quotes")
    try words.end()
    result.down = nil
    index += 1
  }

  private mutating func header(_ result: inout Result) throws {
    let known = ["format", "name", "note", "reader", "backup", "allow", "replaces"]
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
        throw failure(
          "\"\(key)\" is no header",
          didYouMean(nearest(key, among: known)) ?? "there are \(known.joined(separator: ", "))")
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
      if key == "replaces" {
        guard let step = FoldedStep(value), step.number == result.folds.count + 1 else {
          throw failure(
            "replaces takes each step from 0001 on, in order",
            "write replaces: 0001 initial s1:…, a line for each",
            line: index - 1)
        }
        result.folds.append(step)
      }
      result.header[key] = value
    }
  }

  // MARK: Operations

  private func words(at index: Int) throws -> MigrationLine {
    try MigrationLine(lines[index], file: file, number: index + 1)
  }

  private mutating func operation(_ line: String) throws -> MigrationOperation {
    let first = MigrationWords(line).words.prefix(2).map(\.text)
    if first == ["create", "entity"] { return try createEntity() }
    if first == ["create", "raw"] { return try createRawObject() }
    if let body = try dataBlock(first) { return body }
    var words = try words(at: index)
    index += 1
    return try words.operation()
  }

  private mutating func createEntity() throws -> MigrationOperation {
    let start = index
    var head = try words(at: index)
    try head.expect("create")
    try head.expect("entity")
    var entity = EntityDescription(name: try head.name("the entity's name"))
    if head.take(":") { entity.parent = try head.name("the parent's name") }
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
        var member = try words(at: index)
        try member.member(of: &entity)
      }
      index += 1
    }
    throw failure(
      "create entity \(entity.name) has no end", "close it with } on a line of its own", line: start)
  }

  /// `create raw view NAME { … }`
  private mutating func createRawObject() throws -> MigrationOperation {
    let start = index
    var head = try words(at: index)
    try head.expect("create")
    let (kind, name) = try head.rawObject()
    let isUnique = kind == .index && head.take("unique")
    let sql = try block(from: head.brace(behind: "create raw \(kind.rawValue) \(name)"))
    let object = RawObject(kind, name, isUnique: isUnique, sql: sql)
    if let problem = object.problem {
      throw failure(problem, "write it as SQLite has it behind CREATE … NAME", line: start)
    }
    return .createRawObject(object)
  }

  /// `transform sql { … }`, `seed { … }`, `require "text" { … }`; nil when the line is none of them.
  private mutating func dataBlock(_ first: [String]) throws -> MigrationOperation? {
    guard let word = first.first, ["transform", "seed", "require"].contains(word) else { return nil }
    guard first != ["transform", "swift"] else { return nil }
    var head = try words(at: index)
    try head.expect(word)
    switch word {
    case "require":
      let text = try head.string("what is required, in quotes")
      return .require(text, try block(from: head.brace(behind: "require \"…\"")))
    case "seed": return .seed(try block(from: head.brace(behind: "seed")))
    default:
      try head.expect("sql")
      return .transform(try block(from: head.brace(behind: "transform sql")))
    }
  }

  /// The text from a column of this line to the brace that closes the block, on this line or a later one.
  private mutating func block(from column: Int) throws -> String {
    let start = index
    var scanner = SQLScanner(scalars, from: starts[index] + column)
    var body = SQLBody()
    var depth = 0
    while let piece = scanner.next(), piece.isClosed {
      let content = scalars[piece.range]
      index += content.count { $0 == "\n" }
      guard piece.kind != .comment else {
        body.leaveOut(content)
        continue
      }
      if piece.kind == .other {
        if content.first == "{" { depth += 1 }
        if content.first == "}" { depth -= 1 }
        if depth < 0 { return try ended(body, scanner.position) }
      }
      body.append(content, isText: piece.kind == .text)
    }
    throw failure("this block has no end", "close it with }", line: start)
  }

  private mutating func ended(_ body: SQLBody, _ position: Int) throws -> String {
    let end = index + 1 < starts.count ? starts[index + 1] : scalars.count
    guard Self.stripped(String(scalars[position..<end])).isEmpty else {
      throw failure(
        "something stands behind }", "write the next operation on a line of its own", line: index)
    }
    index += 1
    var body = body
    return body.finished()
  }

  /// The line without its comment and the spaces around.
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
    var rest = unicodeScalars[...].drop { $0.isSpace }
    while rest.last?.isSpace == true { rest.removeLast() }
    return String(rest)
  }
}

extension Unicode.Scalar {
  /// Whether it is white space. Of ASCII it is known without the tables of Unicode.
  fileprivate var isSpace: Bool {
    isASCII ? value == 32 || (9...13).contains(value) : properties.isWhitespace
  }
}
