// Names in double quotes. SQLite takes one for a text where nothing is called so, and says nothing: a name that was mistyped, or
// that an earlier line of the step has renamed, would be a value in every row. In other quotes a name is a name. Views, indexes and
// triggers stand in the file as they were written: see RawObjectNames.

internal import CipherSQLite

extension SQLTemplate {
  /// The text for the engine, with each name in double quotes in quotes that no text has.
  static func namesOnly(_ sql: String) -> String {
    guard sql.containsByte("\"") else { return sql }
    var scanner = SQLScanner(sql)
    var (result, copied) = ("", 0)
    while let piece = scanner.next() {
      guard piece.kind == .text, piece.isClosed, scanner.sign(of: piece) == "\"" else { continue }
      result += scanner.text(copied..<piece.range.lowerBound)
      var name = scanner.content(of: piece)
      // A doubled quote is one of the name.
      while scanner.scalar(at: scanner.position) == "\"", let next = scanner.next() {
        name += "\"" + scanner.content(of: next)
      }
      // By scalars: as a character, a quote with a combining mark behind it would not be seen as a quote.
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
  /// What the engine says of a text for it, as an error of the text that a person wrote.
  func asWritten(_ sql: String) -> SQLError {
    switch self {
    case .engine(let code, let extended, let message, _):
      .engine(
        code: code, extendedCode: extended,
        // The engine quotes what it was given.
        message: (sql.contains("`") ? message : message.replacing("`", with: "\"")) + Self.hint(message, sql),
        sql: sql)
    case .constraint(let message, let extended, _):
      .constraint(message: message, extendedCode: extended, sql: sql)
    default: self
    }
  }

  private static func hint(_ message: String, _ sql: String) -> String {
    let prefix = "no such column: "
    guard message.hasPrefix(prefix) else { return "" }
    let name = message.dropFirst(prefix.count)
    return sql.contains("\"\(name)\"") ? "; a text stands in single quotes: '\(name)'" : ""
  }
}
