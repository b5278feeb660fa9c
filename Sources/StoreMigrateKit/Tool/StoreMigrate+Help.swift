// The help and the overview, which are generated from the declarations of the commands.

import CipherSQLite
import Foundation

extension StoreMigrate {
  /// The help of one command, or the overview of all.
  struct HelpReport: Report {
    let topic: String?
    let text: String

    var description: String { text }
  }

  struct VersionReport: Report {
    let version = StoreMigrate.version
    let engine = "\(Engine.current)"

    var description: String { "store-migrate \(version), \(engine)" }
  }

  /// Returns the help of a command, or the overview.
  /// - Throws: ``UsageError`` for a topic that is not a command.
  static func help(of topic: String?) throws -> HelpReport {
    guard let topic, topic != "help" else { return HelpReport(topic: nil, text: overview) }
    let command = try command(named: topic)
    let store = command.positionalNames.isEmpty ? "" : " " + command.positionalNames
    return HelpReport(
      topic: command.name,
      text: "store-migrate \(command.name)\(store): \(command.summary)\n\n\(command.help)\n\n"
        + (command.aliases.isEmpty ? "" : "Also called: \(command.aliases.joined(separator: ", "))\n\n")
        + (command.options + Option.common).lines(newKeyDefault: newKeyDefault(of: command.name)))
  }

  /// Returns what a command uses without an option for a new key, for its help.
  private static func newKeyDefault(of name: String) -> String {
    switch name {
    case BackupCommand.name: "the store's key"
    case BaselineCommand.name: "the file's key; a prompt if it has none"
    case RekeyCommand.name: "a prompt; with --new-cipher, the old key"
    default: "a prompt"
    }
  }

  static var overview: String {
    let groups = CommandGroup.allCases.map { group in
      let lines = commands.filter { $0.group == group }.map { "  \(padded($0.name, 14)) \($0.summary)" }
      return ([group.rawValue] + lines).joined(separator: "\n")
    }
    return """
      store-migrate: move an encrypted store from one schema version to another.

      EXAMPLES
        store-migrate status notes.store            show version and pending steps
        store-migrate plan   notes.store            show what `up` would do, with its SQL; write nothing
        store-migrate up     notes.store            run the pending steps in one transaction
        store-migrate new    "split user name"      write Migrations/0007_split_user_name.migration
        store-migrate check                         in CI: check that the files of the steps agree

      \(groups.joined(separator: "\n\n"))

      ALIASES
        \(otherNames)

      \(everyOption.lines(of: [.key, .newKey, .cipher]))

      SHARED OPTIONS (each with the commands that take it)
      \(shared)

      \((Option.common + [versionOption]).lines())

      A signal (Ctrl-C, SIGTERM, SIGHUP) stops a command cleanly: its changes are complete or rolled back.
      The last line reports whether they are complete or rolled back, and which key opens the store. A second
      signal ends the command at once, and the last line reports what is known at that moment.

      EXIT CODES
      \(codes)

      Run `store-migrate help COMMAND` for more.
      """
  }

  private static var codes: String {
    ExitCode.allCases.map { code in
      let lines = wrapped(code.meaning.components(separatedBy: ", "))
      return "  \(padded("\(code.rawValue)", 4)) \(lines.joined(separator: "\n" + padded("", 7)))"
    }.joined(separator: "\n")
  }

  private static var otherNames: String {
    commands.filter { !$0.aliases.isEmpty }.map { "\($0.aliases.joined(separator: ", ")): \($0.name)" }
      .joined(separator: "; ") + "; up --dry-run: plan"
  }

  /// The options that several commands have, with the names of these commands. Options of keys and
  /// settings are listed separately.
  private static var shared: String {
    let options = everyOption.filter { option in
      option.section == .own && commands.count { $0.options.contains { $0.name == option.name } } > 1
    }
    return options.map { option in
      let names = commands.filter { $0.options.contains { $0.name == option.name } }.map { $0.name }
      return "  \(padded(option.form, 27)) \(wrapped(names).joined(separator: "\n" + padded("", 30)))"
    }.joined(separator: "\n")
  }

  /// Returns the names with commas between them, in lines that fit on a terminal.
  private static func wrapped(_ names: [String]) -> [String] {
    var lines = [""]
    for (index, name) in names.enumerated() {
      let word = name + (index < names.count - 1 ? ", " : "")
      if lines[lines.count - 1].count + word.count > 84 { lines.append("") }
      lines[lines.count - 1] += word
    }
    // The space at which a line was broken is removed.
    return lines.map { $0.hasSuffix(" ") ? String($0.dropLast()) : $0 }
  }
}
