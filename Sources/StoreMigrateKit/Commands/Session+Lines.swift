// The command lines that messages and screens offer, quoted for a shell.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// Returns a command line of this tool, quoted for a shell. It repeats the options by which this run
  /// found its steps and its key, as far as the command takes them; none of them contains a secret.
  /// - Parameters:
  ///   - words: The arguments after the command's name.
  ///   - keyIsNew: Whether this run's key is to become the key of the file that the command makes. The
  ///     options for a key are offered as those for a new key then.
  ///   - hasKey: Whether to repeat the options for this run's key.
  func offer(
    _ command: any Command.Type, _ words: [String], keyIsNew: Bool = false, hasKey: Bool = true
  ) -> String {
    let taken = command.options.map(\.name)
    let kept = [
      "--migrations", "--cipher", "--key-file", "--key-env", "--key-command", "--key-format", "--slots",
      "--slots-work",
    ].filter { option in
      let isOfKey = option.hasPrefix("--key-") || option.hasPrefix("--slots")
      return taken.contains(option) && !words.contains(option) && (hasKey || !isOfKey)
    }
    let options = kept.flatMap { option -> [String] in
      // A key can be read from standard input only once.
      guard let value = arguments.value(option), !(option == "--key-file" && value == "-") else { return [] }
      let isOfKey = option.hasPrefix("--key-")
      let name = keyIsNew && isOfKey ? "--new" + option.dropFirst() : option
      // After a space, a value that begins with a hyphen would be parsed as an option.
      guard !value.hasPrefix("-") else { return ["\(name)=\(value)"] }
      return [option == "--migrations" ? "-m" : name, value]
    }
    let flags = ["--immutable"].filter { taken.contains($0) && arguments.has($0) }
    return "\(ToolLine([command.name] + words + options + flags))"
  }

  /// Returns a command line for this run's store.
  /// - Parameter words: The arguments after the store.
  func line(_ command: any Command.Type, _ words: [String] = []) -> String {
    offer(command, [argumentPath(storePath)] + words)
  }

  /// Returns the command line for a screen, which does not refer to the command types.
  func line(_ command: ScreenCommand, _ words: [String]) -> String {
    switch command {
    case .repair: line(RepairCommand.self, words)
    case .down: line(DownCommand.self, words)
    case .history: line(HistoryCommand.self, words)
    }
  }

  /// Returns an error of a command that opens a store. If another program made the file, the error also
  /// has the command lines that turn the file into a store. Any other error is returned unchanged.
  func leadingOn(from error: any Error, of command: any Command.Type) -> any Error {
    switch error {
    case SQLError.notEncrypted, StoreError.notAStore: break
    default: return error
    }
    guard
      command.group == .look || command.options.contains(where: { $0.name == Option.migrations.name })
    else { return error }
    guard case SQLError.notEncrypted = error else {
      return ExplainedError(
        code: ExitCode(error), description: "\(error) \(wayOfForeignFile(isPlain: false))")
    }
    return ExplainedError(
      code: ExitCode(error),
      description: """
        \(error) \(wayOfForeignFile(isPlain: true))
        If it is a plain copy of a store:
            \(offer(EncryptCommand.self, [argumentPath(storePath), "NEW.store"], keyIsNew: true))
        """)
  }

  /// The command lines that turn another program's file into a store: with the step that an import of it
  /// wrote, or with a new import.
  /// - Parameter isPlain: Whether the file is not encrypted, so that it has no key.
  private func wayOfForeignFile(isPlain: Bool) -> String {
    let steps = EarlierImport.steps(in: migrationsFolder)
    // A folder that has steps cannot take another first step.
    let place = steps.isEmpty ? [] : ["--migrations", "NEWFOLDER"]
    let importing = """
      write a first step and the classes\
      \(steps.isEmpty ? "" : " into a new folder") with the command below. Then import the rows with baseline.
          \(offer(SchemaCommand.self, ["import", argumentPath(storePath)] + place, hasKey: !isPlain))
      """
    guard EarlierImport.isStep(ofOneNamedAs: storePath, in: migrationsFolder) else {
      return "To import a file of another program, \(importing)"
    }
    return """
      \(steps[0]) was imported from a file with this name. If it is that file, import its rows into a store:
          \(baselineCommandLine(for: storePath, to: 1))
      If it is another file, \(importing)
      """
  }

  /// Returns the command line that rebases these files.
  func rebaseLine(_ files: [String]) -> String { offer(RebaseCommand.self, files.map(argumentPath)) }

  /// What to do about a merge conflict in a generated file.
  var conflictAdvice: String {
    "Resolve the conflict: if both branches added a step, renumber one (\(rebaseLine(["FILE"]))). Then run "
      + "\(offer(EmbedCommand.self, []))."
  }

  /// The command line that creates the missing store, with this run's options; nil when no steps are
  /// available.
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
