// What a command hands back: the runner prints it as text or as JSON.

/// What a command found or did; its text is `description`, its JSON its properties.
protocol Report: Encodable, CustomStringConvertible {
  /// How the run ends when nothing was thrown.
  var exitCode: ExitCode { get }
  /// What has to be said when the report could not be written; nil when nothing is lost with it.
  var loss: String? { get }
  /// Whether it was written while it was made, and is not to be printed.
  var isWritten: Bool { get }
  /// What could not be done behind what was; nil for nothing. Told on standard error.
  var failure: String? { get }
  /// Whether its text is, or has in it, what was asked for and is not written elsewhere, such as rows, SQL or a code that is shown
  /// once: `--quiet` leaves it.
  var isData: Bool { get }
  /// Whether its text is a screen for people, with marks: not one that a program or a compiler reads.
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
