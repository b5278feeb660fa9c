// The result of a command, which the runner prints as text or as JSON.

/// What a command found or did. Its text is `description`; its JSON has its properties.
protocol Report: Encodable, CustomStringConvertible {
  /// The exit code when nothing was thrown.
  var exitCode: ExitCode { get }
  /// The message for the case that the report cannot be written; nil when nothing is lost with it.
  var loss: String? { get }
  /// Whether the report was already written while it was made, and must not be printed.
  var isWritten: Bool { get }
  /// What failed after the main work, for standard error; nil when nothing did.
  var failure: String? { get }
  /// Whether the text contains requested data that is written nowhere else, such as rows, SQL, or a code
  /// that is shown once. `--quiet` does not suppress it.
  var isData: Bool { get }
  /// Whether the text is a screen for people, with marks, and not input for a program or a compiler.
  var isScreen: Bool { get }
}

extension Report {
  var exitCode: ExitCode { .ok }
  var loss: String? { nil }
  var isWritten: Bool { false }
  var failure: String? { nil }
  var isData: Bool { false }
  var isScreen: Bool { false }
}
