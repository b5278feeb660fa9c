// Command lines that a screen offers, as a shell takes them.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// A command of this tool, as a shell takes it: with those options by which this run found its steps and its key, and which
  /// the command takes, too. They are no secrets.
  /// - Parameters:
  ///   - words: What stands behind the command.
  ///   - keyIsNew: Whether the key of this run is to be that of the file which the command makes.
  func offer(_ command: any Command.Type, _ words: [String], keyIsNew: Bool = false) -> String {
    let taken = command.options.map(\.name)
    let kept = [
      "--migrations", "--cipher", "--key-file", "--key-env", "--key-command", "--key-format", "--slots",
      "--slots-work",
    ].filter { taken.contains($0) && !words.contains($0) }
    let options = kept.flatMap { option -> [String] in
      // From standard input a key comes once.
      guard let value = arguments.value(option), !(option == "--key-file" && value == "-") else { return [] }
      let isOfKey = option.hasPrefix("--key-")
      let name = keyIsNew && isOfKey ? "--new" + option.dropFirst() : option
      // Behind a space it would be an option itself.
      guard !value.hasPrefix("-") else { return ["\(name)=\(value)"] }
      return [option == "--migrations" ? "-m" : name, value]
    }
    let flags = ["--immutable"].filter { taken.contains($0) && arguments.has($0) }
    return "\(ToolLine([command.name] + words + options + flags))"
  }

  /// A command that works on this run's store.
  /// - Parameter words: What stands behind the store.
  func line(_ command: any Command.Type, _ words: [String] = []) -> String {
    offer(command, [argumentPath(storePath)] + words)
  }

  /// What a screen offers that knows no command.
  func line(_ command: ScreenCommand, _ words: [String]) -> String {
    switch command {
    case .repair: line(RepairCommand.self, words)
    case .down: line(DownCommand.self, words)
    case .history: line(HistoryCommand.self, words)
    }
  }

  /// An error of a command that asked for a store, with the line that leads on from a file that another program made; any other
  /// error as it is.
  func leadingOn(from error: any Error, of command: any Command.Type) -> any Error {
    switch error {
    case SQLError.notEncrypted, StoreError.notAStore: break
    default: return error
    }
    guard
      command.group == .look || command.options.contains(where: { $0.name == Option.migrations.name })
    else { return error }
    return ExplainedError(code: ExitCode(error), description: "\(error) \(wayOfForeignFile)")
  }

  /// How a file that another program made becomes a store: by the step that an import of it wrote, or by an import.
  private var wayOfForeignFile: String {
    let steps = FormerImport.steps(in: migrationsFolder)
    // A folder that has a first step has no place for another.
    let place = steps.isEmpty ? [] : ["--migrations", "NEWFOLDER"]
    let importing = """
      this writes the first step and the classes\
      \(steps.isEmpty ? "," : ", into a folder of their own,") and baseline takes the rows then:
          \(offer(SchemaCommand.self, ["import", argumentPath(storePath)] + place))
      """
    guard FormerImport.isStep(ofOneNamedAs: storePath, in: migrationsFolder) else {
      return "Of a file that another program made, \(importing)"
    }
    return """
      A file of this name is what \(steps[0]) was made of. Of that one, this takes the rows into a store:
          \(taking(storePath, to: 1))
      Of another, \(importing)
      """
  }

  /// The line that rebases files.
  func rebaseLine(_ files: [String]) -> String { offer(RebaseCommand.self, files.map(argumentPath)) }

  /// What to do with a conflict of a merge in a generated file.
  var conflictAdvice: String {
    "Solve it: where both branches added a step, \(rebaseLine(["FILE"])) renumbers one; then run "
      + "\(offer(EmbedCommand.self, []))."
  }

  /// The line that makes the store which is not there, with what this run was given; nil where no steps are at hand.
  var creation: String? {
    guard bundled.areThere || FileManager.default.fileExists(atPath: migrationsFolder.path) else {
      return nil
    }
    let more = [("--to", "--to"), ("--cipher", "--new-cipher")].flatMap { given, taken in
      arguments.value(given).map { [taken, $0] } ?? []
    }
    return line(CreateCommand.self, more)
  }
}
