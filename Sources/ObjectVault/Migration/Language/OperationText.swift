// How an operation is written in a migration file. Each meaning has one spelling, from which checksums are
// made.

/// The text of an operation in a migration file.
enum OperationText {
  case line(String)
  /// A line, and the lines of a block in braces after it.
  case block(String, lines: [String])
  /// A line, and the SQL in braces after it.
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

  /// The whole text, with the SQL indented as far as that does not change its meaning; for people to read.
  var indented: String {
    guard case .sql(let line, let sql) = self else { return whole }
    return "\(line) {\n\(SQLBody.indented(sql))\n}"
  }
}
