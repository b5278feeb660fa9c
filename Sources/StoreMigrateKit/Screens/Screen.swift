// What all screens have in common: columns, marks, times, and lines that a shell takes as they are.

import CipherSQLite
import Foundation
import ObjectVault

enum Screen {
  /// The cells of the first column.
  private static let label = 12

  /// A line of what is so.
  static func fact(_ name: String, _ text: String) -> String {
    name.count < label ? "\(padded(name, label)) \(text)" : "\(name)   \(text)"
  }

  /// A line below the first one of an error.
  static func part(_ name: String, _ text: String) -> String { "  \(padded(name, 14)) \(text)" }

  /// What to type next; nothing where there is nothing to do.
  static func next(_ commands: [String]) -> [String] {
    commands.isEmpty
      ? [] : [""] + commands.enumerated().map { fact($0.offset == 0 ? "next:" : "", $0.element) }
  }

  /// What is about to be done, in short.
  static func lines(of plan: MigrationPlan) -> [String] {
    plan.steps.flatMap { step in
      ["\(numbered(step.number)) \(step.name)\(step.leadsBack ? ", taken back:" : ":")"]
        + (step.operations.isEmpty
          ? ["  · empty: this step does nothing"] : step.operations.map { "  · \($0)" })
        + step.sql.flatMap { $0.split(separator: "\n").map { "    \($0)" } }
    }
  }

  /// What a step took, such as `   0.04 s`.
  static func took(_ milliseconds: Int) -> String {
    let hundredths = (milliseconds + 5) / 10
    let text = "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10) s"
    return String(repeating: " ", count: max(0, 9 - text.count)) + text
  }

  /// What a step may take, as wide as what one took.
  static func estimate(_ seconds: Double) -> String {
    let text = duration(seconds)
    return String(repeating: " ", count: max(0, 9 - text.count)) + text
  }

  /// A guess, which claims no more than it knows: `<0.1 s`, `~0.4 s`, `~12 s`, `~3 min`.
  static func duration(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.1: "<0.1 s"
    case ..<2: "~\(Int((seconds * 10).rounded()) / 10).\(Int((seconds * 10).rounded()) % 10) s"
    case ..<120: "~\(Int(seconds.rounded())) s"
    default: "~\(Int((seconds / 60).rounded())) min"
    }
  }

  /// A digest in a few signs, such as `9f3c…71`.
  static func short(_ digest: String) -> String {
    let colon = digest.firstIndex(of: ":").map { digest[...$0] } ?? ""
    let digits = digest.dropFirst(colon.count)
    return digits.count <= 8 ? digest : "\(colon)\(digits.prefix(4))…\(digits.suffix(2))"
  }
}

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
    for option in kept {
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
  private static func pathWord(_ path: String) -> String { path.hasPrefix("-") ? "./\(path)" : path }

  /// A word as a shell takes it.
  static func quoted(_ word: String) -> String {
    let isPlain =
      !word.isEmpty
      && word.unicodeScalars.allSatisfy { scalar in
        scalar.isASCII
          && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || "_@%+=:,./-".unicodeScalars.contains(scalar))
      }
    return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
  }
}
