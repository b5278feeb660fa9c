// How an operation stands in a migration file: the one spelling of each meaning, which checksums are over.

/// How a migration file writes an operation.
enum OperationText {
  case line(String)
  /// A line, and what stands in braces behind it.
  case block(String, lines: [String])

  /// The operation in one line, without its SQL.
  var summary: String {
    switch self {
    case .line(let line), .block(let line, _): line
    }
  }

  var whole: String {
    switch self {
    case .line(let line): line
    case .block(let line, let lines): (["\(line) {"] + lines + ["}"]).joined(separator: "\n")
    }
  }
}
