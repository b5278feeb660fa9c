// What a command consists of: a name, its options, and a run that returns a report. The runner prints the
// report as text or JSON, and maps errors to exit codes.

/// The headings under which the overview lists the commands.
enum CommandGroup: String, CaseIterable {
  case look = "INSPECT A STORE (the store does not change, and no new file remains)"
  case change = "CHANGE A STORE"
  case copy = "COPIES AND KEYS"
  case write = "WRITE MIGRATIONS (no store, no key needed)"
}

/// One of several actions of a command, chosen by the word after the command's name: `slots add`.
struct CommandAction: Sendable {
  let name: String
  /// The number of positional arguments after the action's name.
  let count: Int
  /// Whether the last argument may be repeated.
  var takesMore = false
  /// The options of the action, in addition to those that every command takes.
  let options: [Option]
}

/// One command of the tool.
protocol Command: Sendable {
  static var name: String { get }
  static var summary: String { get }
  /// Alternative names of the command.
  static var aliases: [String] { get }
  static var group: CommandGroup { get }
  /// The options of the command, in addition to those that every command takes. The command's help and
  /// the overview list them.
  static var options: [Option] { get }
  /// Whether the command works on an existing store. Only then may an error message state what became of
  /// the store.
  static var hasStore: Bool { get }
  /// Whether the error for a missing store offers the command line that creates it. True for commands
  /// that show or run pending steps: their user may have meant to create the store.
  static var offersCreation: Bool { get }
  /// The actions of the command, whose options are among the command's own; empty when it has only one
  /// purpose.
  static var actions: [CommandAction] { get }
  /// The text that `help NAME` prints before the options, examples first.
  static var help: String { get }
  /// The number of positional arguments after the command's name; -1 when `run` checks the count itself.
  static var positionalCount: Int { get }
  /// The names of these arguments in the help, such as `STORE FILE`.
  static var positionalNames: String { get }
  static func run(_ session: Session) async throws -> any Report
}

extension Command {
  static var positionalNames: String { positionalCount == 0 ? "" : "STORE" }
  static var actions: [CommandAction] { [] }
  static var aliases: [String] { [] }
  static var hasStore: Bool { group != .write }
  static var offersCreation: Bool { false }

  /// Returns the action that the command line names; nil when the command has no actions, or none of that
  /// name.
  static func action(_ arguments: Arguments) -> CommandAction? {
    guard let word = arguments.positional.dropFirst().first else { return nil }
    return actions.first { $0.name == word }
  }
}
