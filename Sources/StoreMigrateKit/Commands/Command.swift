// What a command is: a name, what it needs, and a run that returns a report. The runner prints the report as
// text or JSON, and maps errors to exit codes.

/// Under which heading the overview lists a command.
enum CommandGroup: String, CaseIterable {
  case look = "LOOK (these change no byte of a store, and leave no file behind)"
  case change = "CHANGE A STORE"
  case copy = "COPIES AND KEYS"
  case write = "WRITE MIGRATIONS (no store, no key needed)"
}

/// What a command can do, where the word behind its name says it.
struct CommandAction: Sendable {
  let name: String
  /// How many arguments stand behind its name.
  let count: Int
  /// Whether the last of them may be given several times.
  var takesMore = false
  /// The options that it takes beside those of every command.
  let options: [Option]
}

/// One command of the tool.
protocol Command: Sendable {
  static var name: String { get }
  static var summary: String { get }
  /// Other names that it goes by.
  static var aliases: [String] { get }
  static var group: CommandGroup { get }
  /// The options that it takes beside those of every command; its help and the overview list them.
  static var options: [Option] { get }
  /// Whether it is about a store that is there before: what an error says of that is true then.
  static var hasStore: Bool { get }
  /// Whether an error on a store that is not there has the line that makes it: nothing is pending in a new store, so whoever
  /// asks for what is may have wanted to make it.
  static var offersCreation: Bool { get }
  /// What it can do, each with options of its own, which are among those of the command; empty where it is one thing.
  static var actions: [CommandAction] { get }
  /// Shown by `help NAME` in front of the options, examples first.
  static var help: String { get }
  /// How many arguments stand behind the command's name.
  static var positionalCount: Int { get }
  /// How these arguments are called in its help, such as `STORE FILE`.
  static var positionalNames: String { get }
  static func run(_ session: Session) async throws -> any Report
}

extension Command {
  static var positionalNames: String { positionalCount == 0 ? "" : "STORE" }
  static var actions: [CommandAction] { [] }
  static var aliases: [String] { [] }
  static var hasStore: Bool { group != .write }
  static var offersCreation: Bool { false }

  /// The action that a line names; nil where the command has none, or the word is none of them.
  static func action(_ arguments: Arguments) -> CommandAction? {
    guard let word = arguments.positional.dropFirst().first else { return nil }
    return actions.first { $0.name == word }
  }
}
