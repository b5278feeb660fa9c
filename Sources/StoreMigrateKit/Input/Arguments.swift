// The parser of the command line. Options may be anywhere; for an unknown one, the error suggests the
// nearest name.

import CipherSQLite

/// The parsed arguments of one command.
struct Arguments {
  /// The names of the options that were given, in order.
  private(set) var given: [String] = []
  private(set) var positional: [String] = []
  /// The index of the first positional argument among the words.
  private(set) var firstPlace: Int?
  private var values: [String: [String]] = [:]
  private var flags: Set<String> = []

  /// Returns the words after the program's name, as they were given.
  /// - Throws: ``UsageError`` for a word that is not UTF-8: if it were repaired silently, it would name
  ///   another file.
  static func ofProcess() throws -> [String] {
    try ProgramArguments.all.enumerated().dropFirst().map { index, word in
      guard case .text(let text) = word else {
        throw UsageError(
          "Argument \(index) (\(word.shown)) is not valid UTF-8. Rename the file, or use a "
            + "link to it that has another name.")
      }
      return text
    }
  }

  /// Parses a command line.
  /// - Parameters:
  ///   - words: The words after the program's name.
  ///   - known: The options of all commands, because the command may follow its options.
  /// - Throws: ``UsageError``; ``UnknownOption``.
  init(_ words: [String], known: [Option]) throws {
    let options = Dictionary(
      known.flatMap { option in [option.name, option.short].compactMap { $0 }.map { ($0, option) } },
      uniquingKeysWith: { first, _ in first })
    var rest = words[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("-"), word != "-" else {
        firstPlace = firstPlace ?? words.count - rest.count - 1
        positional.append(word)
        continue
      }
      if word == "--" {
        if !rest.isEmpty { firstPlace = firstPlace ?? rest.startIndex }
        positional += rest
        return
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let option = options[parts[0]] else { throw UnknownOption(name: parts[0], words: words) }
      given.append(option.name)
      let value = parts.count > 1 ? parts[1] : nil
      if option.value == nil {
        guard value == nil else { throw UsageError("\(option.name) takes no value.") }
        flags.insert(option.name)
      } else if option.isValueOptional {
        // Before the command, the next word may be the command itself.
        if let value = value ?? (firstPlace == nil ? nil : Self.optionalValue(&rest)) {
          values[option.name, default: []].append(value)
        } else {
          flags.insert(option.name)
        }
      } else {
        // One of two values would be ignored silently.
        guard option.isList || values[option.name] == nil else {
          throw UsageError("\(option.name) is given twice, but takes one value. Remove one of them.")
        }
        values[option.name, default: []].append(try value ?? Self.value(of: option, &rest, options))
      }
    }
  }

  /// Returns the value of an option that does not require one; nil when the next word is an option, or
  /// when there is none.
  private static func optionalValue(_ rest: inout ArraySlice<String>) -> String? {
    guard let word = rest.first, !word.hasPrefix("-") else { return nil }
    return rest.popFirst()
  }

  /// Returns the value of an option, which is the next word.
  private static func value(
    of option: Option, _ rest: inout ArraySlice<String>, _ options: [String: Option]
  ) throws -> String {
    guard let value = rest.popFirst() else {
      throw UsageError("\(option.name) needs a value: \(option.name) \(option.value ?? "").")
    }
    guard options[value] == nil else {
      throw UsageError(
        "\(option.name) needs a value, but \(value) after it is an option. To pass it as the value, write "
          + "\(option.name)=\(value).")
    }
    return value
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }
  func value(_ name: String) -> String? { values[name]?.last }
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// Returns the option's value as a count; nil without the option.
  /// - Throws: ``UsageError`` when the value is not a number, or is negative.
  func count(_ name: String) throws -> Int? {
    guard let text = value(name) else { return nil }
    guard let count = Int(text), count >= 0 else {
      throw UsageError("\(name) takes a number that is 0 or more, not \"\(text)\".")
    }
    return count
  }

  /// Returns the option's value as a number of seconds, one day at most.
  /// - Parameter least: The smallest number that is accepted.
  /// - Throws: ``UsageError`` when the value is not a number in that range.
  func seconds(_ name: String, default fallback: Double, from least: Double = 0) throws -> Double {
    guard let text = value(name) else { return fallback }
    guard let seconds = Double(text), seconds >= least, seconds <= 86_400 else {
      let range = "from \(least == 0 ? "0" : "\(least)") to 86400 (one day)"
      throw UsageError("\(name) takes a number of seconds \(range), not \"\(text)\".")
    }
    return seconds
  }
}

/// A word that looks like an option but is not an option of any command.
struct UnknownOption: Error {
  let name: String
  /// The whole command line: the suggestion depends on the command in it.
  let words: [String]

  /// Returns the error, with the nearest of these options.
  /// - Parameter help: The sentence that refers to the help.
  func usageError(among options: [Option], help: String) -> UsageError {
    if ["--key", "--password", "--passphrase", "--new-key"].contains(name) {
      return UsageError(
        "There is no option \(name): other users could read the key in the list of processes. "
          + "Use --key-file, --key-fd, --key-env, --key-command or the prompt.")
    }
    return UsageError("Unknown option \"\(name)\".\(didYouMean(name, among: options.map(\.name))) \(help)")
  }
}
