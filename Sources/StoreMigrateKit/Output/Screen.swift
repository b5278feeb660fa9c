// What all screens have in common: columns, marks, times, and lines that a shell takes as they are.

import CipherSQLite
import Foundation
import ObjectVault

enum Screen {
  /// The cells of the first column.
  private static let label = 12

  /// A line of what is so.
  static func fact(_ name: String, _ text: String) -> String {
    CellWidth.of(name) < label ? "\(padded(name, label)) \(text)" : "\(name)   \(text)"
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
          ? ["  · empty: this step does nothing"] : step.operations.map { "  · \(brief($0))" })
        + step.sql.flatMap(lines(ofSQL:)).map { "    \($0)" }
    }
  }

  /// The lines of a statement, such as one with a text of a megabyte in it.
  static func lines(ofSQL statement: String) -> [String] {
    statement.split(separator: "\n").map { legible(String($0)) }
  }

  /// What a step took, such as `   0.04 s`.
  static func took(_ milliseconds: Int) -> String {
    // What a history says, be it one that somebody wrote by hand.
    let hundredths = max(0, milliseconds) / 10 + (milliseconds % 10 >= 5 ? 1 : 0)
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

  /// How long something took, such as `0.41 s`.
  static func measured(_ seconds: Double) -> String {
    if seconds < 0.005 { return "<0.01 s" }
    return seconds < 10
      ? "\((seconds * 100).rounded() / 100) s" : duration(seconds).trimmingPrefix("~").description
  }

  /// A digest in a few signs, such as `9f3c…71`.
  static func short(_ digest: String) -> String {
    let colon = digest.firstIndex(of: ":").map { digest[...$0] } ?? ""
    let digits = digest.dropFirst(colon.count)
    return digits.count <= 8 ? digest : "\(colon)\(digits.prefix(4))…\(digits.suffix(2))"
  }
}
