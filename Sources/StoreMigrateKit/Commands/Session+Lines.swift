// Command lines that a screen offers, as a shell takes them.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// A command of this tool with this store, as a shell takes it: with the options by which this run found its steps and its
  /// key, which are no secrets.
  /// - Parameter words: What stands behind the store.
  func line(_ command: String, _ words: [String] = []) -> String {
    var parts = [Self.program, command, Self.pathWord(storePath)] + words
    var kept = [
      "--migrations", "--cipher", "--key-file", "--key-env", "--key-command", "--key-format", "--slots",
    ]
    // Without steps of a folder; from standard input a key comes once.
    if ["history", "verify"].contains(command) { kept.removeFirst() }
    for option in kept where !words.contains(option) {
      guard let value = arguments.value(option), !(option == "--key-file" && value == "-") else { continue }
      parts += [option == "--migrations" ? "-m" : option, value]
    }
    return parts.map(Self.quoted).joined(separator: " ")
  }

  /// How this tool is called.
  static var program: String {
    CommandLine.arguments.first.map { DatabasePath.split($0).name } ?? "store-migrate"
  }

  /// A path that is not taken for an option.
  static func pathWord(_ path: String) -> String { path.hasPrefix("-") ? "./\(path)" : path }

  /// A word as a shell takes it.
  static func quoted(_ word: String) -> String { shellWord(word) }
}
