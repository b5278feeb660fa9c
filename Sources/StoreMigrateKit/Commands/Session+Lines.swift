// Command lines that a screen offers, as a shell takes them.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// A command of this tool with this store, as a shell takes it: with the options by which this run found its steps and its
  /// key, which are no secrets.
  /// - Parameter words: What stands behind the store.
  func line(_ command: String, _ words: [String] = []) -> String {
    var parts = words
    var kept = [
      "--migrations", "--cipher", "--key-file", "--key-env", "--key-command", "--key-format", "--slots",
      "--slots-work",
    ]
    // Without steps of a folder; from standard input a key comes once.
    if ["history", "verify"].contains(command) { kept.removeFirst() }
    if command == CreateCommand.name { kept.removeAll { $0 == "--cipher" } }
    for option in kept where !words.contains(option) {
      guard let value = arguments.value(option), !(option == "--key-file" && value == "-") else { continue }
      parts += [option == "--migrations" ? "-m" : option, value]
    }
    return ([shellWord(Self.program), command, shellPath(storePath)] + parts.map(shellWord)).joined(
      separator: " ")
  }

  /// A command of this tool that works on the folder of steps, as a shell takes it.
  func folderLine(_ command: String, _ words: [String]) -> String {
    let folder = arguments.value("--migrations").map { ["-m", $0] } ?? []
    return ([Self.program, command] + words + folder).map(shellWord).joined(separator: " ")
  }

  /// The line that rebases files.
  func rebaseLine(_ files: [String]) -> String { folderLine(RebaseCommand.name, files) }

  /// The line that makes the store which is not there, with what this run was given; nil where no steps are at hand.
  var creation: String? {
    guard bundled.areThere || FileManager.default.fileExists(atPath: migrationsFolder.path) else {
      return nil
    }
    let more = [("--to", "--to"), ("--cipher", "--new-cipher")].flatMap { given, taken in
      arguments.value(given).map { [taken, $0] } ?? []
    }
    return line(CreateCommand.name, more)
  }

  /// How this tool is called.
  static var program: String {
    CommandLine.arguments.first.map { DatabasePath.split($0).name } ?? "store-migrate"
  }
}
