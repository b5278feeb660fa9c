// Command lines of this tool in messages. Every such line is made here; a test checks the sources for
// that.

import CipherSQLite
import ObjectVault

/// A command line of this tool, quoted for a shell.
struct ToolLine: CustomStringConvertible {
  private let words: [String]

  /// Creates a command line.
  /// - Parameter words: The command and its arguments. A path has to be prepared by `argumentPath`.
  init(_ words: String...) { self.words = words }
  init(_ words: [String]) { self.words = words }

  var description: String { ([Self.program] + words.map(shellWord)).joined(separator: " ") }

  /// The name by which this tool was called, quoted for a shell; an app's own tool has another name. A
  /// path is kept whole, because a shell would not find the name alone.
  static let program: String = {
    guard let name = ProgramArguments.program, !name.isEmpty else { return "store-migrate" }
    // The shell takes a first word with an equals sign for an assignment.
    return name.contains("=") && shellPath(name) == name ? "'\(name)'" : shellPath(name)
  }()

  /// Returns a reference to a command's help, as the last sentence of an error in its command line.
  static func help(_ command: String) -> String { "See: \(ToolLine("help", command))" }
}
