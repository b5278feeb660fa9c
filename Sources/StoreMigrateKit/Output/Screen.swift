// What all screens share: columns, marks, durations, and shortened texts.

import CipherSQLite
import Foundation
import ObjectVault

enum Screen {
  /// The width of the first column, in cells.
  private static let label = 12

  /// Returns a line with a name and a fact.
  static func fact(_ name: String, text: String) -> String {
    CellWidth.of(name) < label ? "\(padded(name, label)) \(text)" : "\(name)   \(text)"
  }

  /// Returns a line with details, below the first line of an error.
  static func part(_ name: String, text: String) -> String { "  \(padded(name, 14)) \(text)" }

  /// Returns the lines with the commands to run next; empty when there are none.
  static func next(_ commands: [String]) -> [String] {
    commands.isEmpty
      ? [] : [""] + commands.enumerated().map { fact($0.offset == 0 ? "next:" : "", text: $0.element) }
  }

  /// Returns a short form of a plan: its operations and its SQL.
  static func lines(of plan: MigrationPlan) -> [String] {
    plan.steps.flatMap { step in
      ["\(numbered(step.number)) \(step.name)\(step.isRollback ? ", rolled back:" : ":")"]
        + (step.operations.isEmpty
          ? ["  · empty: this step does nothing"] : step.operations.map { "  · \(brief($0))" })
        + step.sql.flatMap(lines(ofSQL:)).map { "    \($0)" }
    }
  }

  /// Returns the lines of a statement. Long ones, such as those with a text of a megabyte, are shortened.
  static func lines(ofSQL statement: String) -> [String] {
    statement.split(separator: "\n").map { legible(String($0)) }
  }

  /// Returns the duration of a step with a fixed width, such as `   0.04 s`.
  static func took(_ milliseconds: Int) -> String {
    // A history may contain any number, because it may have been written by hand.
    let hundredths = max(0, milliseconds) / 10 + (milliseconds % 10 >= 5 ? 1 : 0)
    let text = "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10) s"
    return String(repeating: " ", count: max(0, 9 - text.count)) + text
  }

  /// Returns the estimated duration of a step, with the width of ``took(_:)``.
  static func estimate(_ seconds: Double) -> String {
    let text = duration(seconds)
    return String(repeating: " ", count: max(0, 9 - text.count)) + text
  }

  /// Returns an estimate that is no more precise than it can be: `<0.1 s`, `~0.4 s`, `~12 s`, `~3 min`.
  static func duration(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.1: "<0.1 s"
    case ..<2: "~\(Int((seconds * 10).rounded()) / 10).\(Int((seconds * 10).rounded()) % 10) s"
    case ..<120: "~\(Int(seconds.rounded())) s"
    default: "~\(Int((seconds / 60).rounded())) min"
    }
  }

  /// Returns a measured duration, such as `0.41 s`.
  static func measured(_ seconds: Double) -> String {
    if seconds < 0.005 { return "<0.01 s" }
    return seconds < 10
      ? "\((seconds * 100).rounded() / 100) s" : duration(seconds).trimmingPrefix("~").description
  }

  /// Returns a digest shortened to a few characters, such as `9f3c…71`.
  static func short(_ digest: String) -> String {
    let colon = digest.firstIndex(of: ":").map { digest[...$0] } ?? ""
    let digits = digest.dropFirst(colon.count)
    return digits.count <= 8 ? digest : "\(colon)\(digits.prefix(4))…\(digits.suffix(2))"
  }
}
