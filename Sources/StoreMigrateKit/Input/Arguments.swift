// The command line, options anywhere. What is unknown is an error with the nearest name.

import CipherSQLite

/// Parsed arguments of one command.
struct Arguments {
  /// The options that were given, in their order.
  private(set) var given: [String] = []
  private(set) var positional: [String] = []
  /// Which of the words is the first of these.
  private(set) var firstPlace: Int?
  private var values: [String: [String]] = [:]
  private var flags: Set<String> = []

  /// The words behind the program's name, as they were given.
  /// - Throws: ``UsageError`` for one that is no UTF-8: repaired silently, it would be the name of another file.
  static func ofProcess() throws -> [String] {
    try ProgramArguments.all.enumerated().dropFirst().map { index, word in
      guard case .text(let text) = word else {
        throw UsageError(
          "Argument \(index) (\(word.shown)) is not written in UTF-8. Rename the file, or work in its "
            + "folder under a link with another name.")
      }
      return text
    }
  }

  /// - Parameters:
  ///   - words: The words behind the program's name.
  ///   - known: The options of all commands: the command may stand behind its options.
  /// - Throws: ``UsageError``.
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
        // In front of the command the next word may be the command.
        if let value = value ?? (firstPlace == nil ? nil : Self.optionalValue(&rest)) {
          values[option.name, default: []].append(value)
        } else {
          flags.insert(option.name)
        }
      } else {
        // Of two values one would be taken silently.
        guard option.isList || values[option.name] == nil else {
          throw UsageError("\(option.name) is given twice, and has one value. Leave one of them out.")
        }
        values[option.name, default: []].append(try value ?? Self.value(of: option, &rest, options))
      }
    }
  }

  /// The word behind an option that may stand without a value; nil where it is another option, or there is none.
  private static func optionalValue(_ rest: inout ArraySlice<String>) -> String? {
    guard let word = rest.first, !word.hasPrefix("-") else { return nil }
    return rest.popFirst()
  }

  /// The word behind an option, which is its value.
  private static func value(
    of option: Option, _ rest: inout ArraySlice<String>, _ options: [String: Option]
  ) throws -> String {
    guard let value = rest.popFirst() else {
      throw UsageError("\(option.name) needs a value behind it (\(option.value ?? "")).")
    }
    guard options[value] == nil else {
      throw UsageError(
        "\(option.name) needs a value behind it, and \(value) is an option. A value of that name is given as "
          + "\(option.name)=\(value).")
    }
    return value
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

  /// The option's value as a number of seconds, up to a day.
  /// - Parameter least: The least number that is taken.
  func seconds(_ name: String, default fallback: Double, from least: Double = 0) throws -> Double {
    guard let text = value(name) else { return fallback }
    guard let seconds = Double(text), seconds >= least, seconds <= 86_400 else {
      let range = "from \(least == 0 ? "0" : "\(least)") to 86400, which is a day"
      throw UsageError("\(name) takes a number of seconds \(range), and \"\(text)\" is none.")
    }
    return seconds
  }
}

/// A word that looks like an option and is none of any command.
struct UnknownOption: Error {
  let name: String
  /// The whole line: what may have been meant depends on the command in it.
  let words: [String]

  /// The error, with the nearest of these options.
  /// - Parameter help: The sentence that says where the options are told.
  func usageError(among options: [Option], help: String) -> UsageError {
    if ["--key", "--password", "--passphrase", "--new-key"].contains(name) {
      return UsageError(
        "\(name) is not offered: other users could read it in the list of processes. "
          + "Use --key-file, --key-fd, --key-env, --key-command or the prompt.")
    }
    return UsageError("\"\(name)\" is no option.\(didYouMean(name, among: options.map(\.name))) \(help)")
  }
}
