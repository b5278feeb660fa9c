// Command lines of this tool that a message offers. There is no other way to write one: a test reads the sources for it.

import CipherSQLite
import ObjectVault

/// A command of this tool, as it is called here and as a shell takes it.
struct ToolLine: CustomStringConvertible {
  private let words: [String]

  /// - Parameter words: The command and what stands behind it. A path goes in by `argumentPath`.
  init(_ words: String...) { self.words = words }
  init(_ words: [String]) { self.words = words }

  var description: String { ([Self.program] + words.map(shellWord)).joined(separator: " ") }

  /// How this tool is called, as a shell takes it: an app's own has another name. One that was called by a path would not be
  /// found by its name alone.
  static let program: String = {
    guard let name = ProgramArguments.program, !name.isEmpty else { return "store-migrate" }
    // With an equals sign in it the first word of a line sets a variable.
    return name.contains("=") && shellPath(name) == name ? "'\(name)'" : shellPath(name)
  }()

  /// Where more is said of a command, as the last sentence of a mistake in its line.
  static func help(_ command: String) -> String { "See: \(ToolLine("help", command))" }
}
