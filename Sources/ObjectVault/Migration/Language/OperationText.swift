// The text of operations in a migration file. Each meaning has one spelling, because checksums are made
// from the text.

/// The text of an operation in a migration file.
enum OperationText {
  case line(String)
  /// A line, and the lines of its block in braces.
  case block(String, lines: [String])
  /// A line, and its SQL in braces.
  case sql(String, String)

  /// The operation in one line, without its SQL.
  var summary: String {
    switch self {
    case .line(let line), .block(let line, _), .sql(let line, _): line
    }
  }

  var whole: String {
    switch self {
    case .line(let line): line
    case .block(let line, let lines): (["\(line) {"] + lines + ["}"]).joined(separator: "\n")
    case .sql(let line, let sql): "\(line) {\n\(sql)\n}"
    }
  }

  /// The whole text for people, with the SQL indented as far as that does not change its meaning.
  var indented: String {
    guard case .sql(let line, let sql) = self else { return whole }
    return "\(line) {\n\(SQLBody.indented(sql))\n}"
  }
}
