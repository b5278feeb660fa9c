// How an operation stands in a migration file: the one spelling of each meaning, which checksums are over.

/// How a migration file writes an operation.
enum OperationText {
  case line(String)
  /// A line, and what stands in braces behind it.
  case block(String, lines: [String])
  /// A line, and the SQL that stands in braces behind it.
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

  /// The same for who reads the file: the SQL is moved in, as far as that says nothing else.
  var indented: String {
    guard case .sql(let line, let sql) = self else { return whole }
    return "\(line) {\n\(SQLBody.indented(sql))\n}"
  }
}
