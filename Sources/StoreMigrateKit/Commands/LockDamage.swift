// Recognizes a damaged lock file: one that was truncated or overwritten. No command and no merge leaves
// such a file. No other file records the releases, so replacing a damaged lock file would lose them.

import Foundation
import ObjectVault

/// Why a text is not a complete lock file.
struct LockDamage {
  /// The fault, such as `migrations.lock: line 5 is not valid`.
  let text: String
  /// The files to delete when nothing was ever released. `Embedded.swift` is among them if `embed` wrote
  /// it, because beside it a missing lock file counts as damaged.
  private let rest: String

  /// What to do about the damage.
  var advice: String {
    "Restore the lock file from version control, together with Embedded.swift and schema.json of the same "
      + "commit. If these steps were never released, delete \(rest) instead"
  }

  /// Examines the lock file of a folder.
  /// - Parameters:
  ///   - lock: The text of the lock file; nil when there is no such file.
  ///   - embedded: The text of the `Embedded.swift` in the same folder; empty when there is none.
  ///   - set: The present steps. A line that is missing at the end of the file is noticed only for these,
  ///     not for steps that were deleted.
  /// - Returns: nil when the file is complete, even with merge conflicts, or when it never existed.
  init?(_ lock: String?, beside embedded: String, of set: MigrationSet) {
    let hasEmbedded = embedded.contains("MigrationSet.Embedded")
    guard let lock else {
      guard hasEmbedded else { return nil }
      text = "migrations.lock is missing, but Embedded.swift, which is written with it, exists"
      rest = "Embedded.swift"
      return
    }
    rest = hasEmbedded ? "migrations.lock and Embedded.swift" : "migrations.lock"
    guard !lock.allSatisfy(\.isWhitespace) else {
      text = "migrations.lock is empty"
      return
    }
    guard let reason = Self.reason(lock) ?? Self.reason(lock, beside: embedded, of: set) else { return nil }
    text = "migrations.lock: \(reason)"
  }

  /// Returns why a text is not complete; nil when it is. Its steps are not compared with those of the
  /// folder.
  private static func reason(_ text: String) -> String? {
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    var isInConflict = false
    let isWhole = lines.map { line -> Bool in
      // Lines inside a merge conflict are not checked: the merge is not finished.
      if line.hasPrefix("<<<<<<<") { isInConflict = true }
      if line.hasPrefix(">>>>>>>") { isInConflict = false }
      return isInConflict || Self.isWhole(line)
    }
    if let index = isWhole.firstIndex(of: false), index < lines.count - 1 {
      return "line \(index + 1) is not valid"
    }
    if lines.last?.isEmpty == false { return "line \(lines.count) has no newline at its end" }
    let numbers = Set(lines.compactMap(number))
    guard !numbers.isEmpty else { return nil }
    return (1...(numbers.max() ?? 1)).first { !numbers.contains($0) }.map {
      "the line of step \(numbered($0)) is missing"
    }
  }

  /// Returns a text about the first step that `Embedded.swift` contains and the lock file, which is
  /// written together with it, does not; nil when there is none.
  private static func reason(_ text: String, beside embedded: String, of set: MigrationSet) -> String? {
    let lines = text.split(whereSeparator: \.isNewline)
    let numbers = Set(lines.compactMap(number))
    // Collected in one pass, because the text contains all steps.
    let known = Set(
      embedded.matches(of: /number: (\d+), name: "((?:[^"\\]|\\.)*)"/).map { "\($0.1) \($0.2)" }
        + embedded.matches(of: /checksum: "([^"]*)"/).map { String($0.1) })
    let missing = set.steps.first { step in
      !numbers.contains(step.number) && known.contains(step.contentChecksum)
        && known.contains("\(step.number) \(SwiftLiteral.body(step.name))")
    }
    return missing.map {
      "the line of step \(numbered($0.number)) is missing, but Embedded.swift has that step"
    }
  }

  /// Returns whether a line is one that a command or git may have written.
  private static func isWhole(_ line: Substring) -> Bool {
    let words = line.split(separator: " ")
    if words.isEmpty || line.hasPrefix("#") || MergeConflict.isMark(line) { return true }
    if words[0] == Releases.word { return words.count > 1 }
    return number(line) != nil
  }

  /// Returns the step number of a line that has a number, a name, checksums, and the chain at its end;
  /// nil for other lines.
  private static func number(_ line: Substring) -> Int? {
    let words = Releases.words(of: line)
    guard words.count > 3, let number = Int(words[0]), number > 0, words[2].hasPrefix("s1:"),
      words.last?.hasPrefix("chain:") == true, words.dropFirst(2).allSatisfy(isWholeDigest)
    else { return nil }
    return number
  }

  /// Returns whether a word ends with a complete digest. `folded:0040`, which has no digest, passes.
  private static func isWholeDigest(_ word: String) -> Bool {
    guard let mark = word.lastIndex(of: ":") else { return false }
    let digits = word[word.index(after: mark)...]
    return word.hasPrefix("folded:") || digits.count == 64 && digits.allSatisfy(\.isHexDigit)
  }
}
