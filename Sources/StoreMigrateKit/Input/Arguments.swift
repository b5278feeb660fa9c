// The command line, flags anywhere. What is unknown is an error with the nearest name.

/// Parsed arguments of one command.
struct Arguments {
  private(set) var positional: [String] = []
  private var values: [String: [String]] = [:]
  private var flags: Set<String> = []

  /// Options that take a value, and those that do not, of all commands.
  static let valued = [
    "--migrations", "--key-file", "--key-fd", "--key-env", "--key-command", "--key-format", "--new-key-file",
    "--new-key-fd", "--new-key-env", "--new-key-command", "--new-key-format", "--lock-timeout", "--allow",
    "--type", "--slots", "--new-slots", "--keep", "--cipher", "--new-cipher", "--slots-work",
    "--where", "--sort", "--limit", "--offset", "--columns", "--format", "--nil",
  ]
  static let unvalued = [
    "--yes", "--json", "--no-input", "--exit-code", "--help", "--version", "--quiet", "--no-backup", "--deep",
    "--recovery", "--drop-others", "--immutable",
  ]
  private static let short = ["-m": "--migrations", "-y": "--yes", "-h": "--help", "-q": "--quiet"]

  /// The words behind the program's name, as they were given.
  /// - Throws: ``UsageError`` for one that is no UTF-8: `CommandLine.arguments` would repair it silently, and it would
  ///   be the name of another file.
  static func ofProcess() throws -> [String] {
    try (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      guard let word = CommandLine.unsafeArgv[index] else { return nil }
      guard let text = String(validatingCString: word) else {
        throw UsageError(
          "Argument \(index) (\(String(cString: word))) is not written in UTF-8. Rename the file, or work in its "
            + "folder under a link with another name.")
      }
      return text
    }
  }

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      guard argument.hasPrefix("-"), argument != "-" else {
        positional.append(argument)
        continue
      }
      if argument == "--" {
        positional += rest
        return
      }
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      let name = Self.short[parts[0]] ?? parts[0]
      if Self.valued.contains(name) {
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
          throw UsageError("\(name) needs a value behind it.")
        }
        values[name, default: []].append(value)
      } else if Self.unvalued.contains(name), parts.count == 1 {
        flags.insert(name)
      } else {
        throw UsageError(Self.unknown(name))
      }
    }
  }

  private static func unknown(_ name: String) -> String {
    if ["--key", "--password", "--passphrase", "--new-key"].contains(name) {
      return "\(name) is not offered: other users could read it in the list of processes. "
        + "Use --key-file, --key-fd, --key-env, --key-command or the prompt."
    }
    return "\"\(name)\" is no option.\(didYouMean(name, among: valued + unvalued))"
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }
  func value(_ name: String) -> String? { values[name]?.last }
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// The option's value as a number of things; nil without it.
  func count(_ name: String) throws -> Int? {
    guard let text = value(name) else { return nil }
    guard let count = Int(text), count >= 0 else {
      throw UsageError("\(name) takes a number from 0 on, and \"\(text)\" is none.")
    }
    return count
  }

  /// The option's value as a number of seconds.
  func seconds(_ name: String, default fallback: Double) throws -> Double {
    guard let text = value(name) else { return fallback }
    guard let seconds = Double(text), seconds >= 0, seconds <= 86_400 else {
      throw UsageError("\(name) takes a number of seconds, and \"\(text)\" is none.")
    }
    return seconds
  }
}
