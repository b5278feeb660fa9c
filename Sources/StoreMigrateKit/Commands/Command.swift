// What a command is: a name, what it needs, and a run that returns a report. The runner prints the report as
// text or JSON, and maps errors to exit codes.

/// One command of the tool.
protocol Command: Sendable {
  static var name: String { get }
  static var summary: String { get }
  /// Shown by `help NAME`, examples first.
  static var help: String { get }
  /// How many arguments stand behind the command's name.
  static var positionalCount: Int { get }
  /// How these arguments are called in its help, such as `STORE FILE`.
  static var positionalNames: String { get }
  static func run(_ session: Session) async throws -> any Report
}

extension Command {
  static var positionalNames: String { positionalCount == 0 ? "" : "STORE" }
}
