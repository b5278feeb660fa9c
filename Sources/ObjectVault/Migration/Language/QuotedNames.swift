// Puts double-quoted names in SQL into backquotes. If no column has a double-quoted name, SQLite reads it
// as a string literal, without an error. A mistyped name, or one that an earlier line of the step
// renamed, would become a value in every row. A name in backquotes is always a name. Views, indexes and
// triggers are not rewritten here: see RawObjectNames.

internal import CipherSQLite

extension SQLTemplate {
  /// Returns the SQL for the engine, with every double-quoted name in backquotes.
  static func namesOnly(_ sql: String) -> String {
    guard sql.containsByte("\"") else { return sql }
    var scanner = SQLScanner(sql)
    var (result, copied) = ("", 0)
    while let piece = scanner.next() {
      guard piece.kind == .text, piece.isClosed, scanner.sign(of: piece) == "\"" else { continue }
      result += scanner.text(copied..<piece.range.lowerBound)
      var name = scanner.content(of: piece)
      // Inside a name, a quote is doubled.
      while scanner.scalar(at: scanner.position) == "\"", let next = scanner.next() {
        name += "\"" + scanner.content(of: next)
      }
      // Appends scalars: a quote followed by a combining mark is one Character, and would not be
      // recognized as a quote.
      result += "`"
      for scalar in name.unicodeScalars {
        result.unicodeScalars += scalar == "`" ? [scalar, scalar] : [scalar]
      }
      result += "`"
      copied = scanner.position
    }
    return result + scanner.text(copied..<scanner.bytes.count)
  }
}

extension SQLError {
  /// Returns an error about SQL with backquotes as an error about the SQL that a person wrote.
  func asWritten(_ sql: String) -> SQLError {
    switch self {
    case .engine(let code, let extended, let message, _):
      .engine(
        code: code, extendedCode: extended,
        // The engine's message has text of the rewritten SQL, so its backquotes become double quotes
        // again.
        message: (sql.contains("`") ? message : message.replacing("`", with: "\""))
          + Self.hint(message, for: sql),
        sql: sql)
    case .constraint(let message, let extended, _):
      .constraint(message: message, extendedCode: extended, sql: sql)
    default: self
    }
  }

  private static func hint(_ message: String, for sql: String) -> String {
    let prefix = "no such column: "
    guard message.hasPrefix(prefix) else { return "" }
    let name = message.dropFirst(prefix.count)
    return sql.contains("\"\(name)\"") ? "; write a string in single quotes: '\(name)'" : ""
  }
}
