// What a lock file has that no command writes, and no merge leaves: it was cut off, or something was written over it. What was
// released is in no other file, so that a new one would forget it.

import Foundation
import ObjectVault

/// Why a text is no whole lock file.
struct LockDamage {
  /// Where, and what is so, such as `line 5 has no end`.
  let reason: String
  /// What goes where nothing was released.
  private var rest = "it"

  /// What to do.
  var advice: String {
    "Put the file back as it was, which git has, and Embedded.swift and schema.json of the same commit beside it; where nothing "
      + "was ever released with these steps, delete \(rest)"
  }

  /// nil for what is no text that is written together with a lock file.
  init?(missingBeside embedded: String) {
    guard embedded.contains("MigrationSet.Embedded") else { return nil }
    (reason, rest) = (
      "is missing, and Embedded.swift, which is written with it, is there", "Embedded.swift, too"
    )
  }

  /// nil for a text that is whole, be it with the marks of a merge. Whether its steps are those of the folder is another
  /// question.
  init?(_ text: String) {
    guard !text.allSatisfy(\.isWhitespace) else {
      reason = "is empty"
      return
    }
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    var isInConflict = false
    let isWhole = lines.map { line -> Bool in
      // What two branches have there is theirs to mend.
      if line.hasPrefix("<<<<<<<") { isInConflict = true }
      if line.hasPrefix(">>>>>>>") { isInConflict = false }
      return isInConflict || Self.isWhole(line)
    }
    if let index = isWhole.firstIndex(of: false), index < lines.count - 1 {
      reason = "line \(index + 1) is no line of such a file"
    } else if lines.last?.isEmpty == false {
      reason = "line \(lines.count) has no end"
    } else {
      let numbers = Set(lines.compactMap(Self.number))
      guard let missing = (1...max(1, numbers.max() ?? 1)).first(where: { !numbers.contains($0) }),
        !numbers.isEmpty
      else { return nil }
      reason = "the line of step \(numbered(missing)) is missing"
    }
  }

  /// What a lock file lacks that was written together with it.
  /// - Parameters:
  ///   - text: The lock file's.
  ///   - embedded: That of the `Embedded.swift` beside it.
  ///   - set: The steps at hand: what a step was that is there no more is not asked.
  init?(_ text: String, beside embedded: String, of set: MigrationSet) {
    let lines = text.split(whereSeparator: \.isNewline)
    let numbers = Set(lines.compactMap(Self.number))
    // By one walk over a text that has all steps in it.
    let known = Set(
      embedded.matches(of: /number: (\d+), name: "([^"]*)"/).map { "\($0.1) \($0.2)" }
        + embedded.matches(of: /checksum: "([^"]*)"/).map { String($0.1) })
    let missing = set.steps.first { step in
      !numbers.contains(step.number) && known.contains(step.contentChecksum)
        && known.contains("\(step.number) \(step.name)")
    }
    guard let missing else { return nil }
    reason = "the line of step \(numbered(missing.number)) is missing, which Embedded.swift beside it has"
  }

  /// Whether a command, or git, has written such a line.
  private static func isWhole(_ line: Substring) -> Bool {
    let words = line.split(separator: " ")
    if words.isEmpty || line.hasPrefix("#") || MergeConflict.isMark(line) { return true }
    if words[0] == Releases.word { return words.count > 1 }
    return number(line) != nil
  }

  /// The number of a step, of its line: number, name, checksums, and the chain at its end.
  private static func number(_ line: Substring) -> Int? {
    let words = Releases.words(of: line)
    guard words.count > 3, let number = Int(words[0]), number > 0, words[2].hasPrefix("s1:"),
      words.last?.hasPrefix("chain:") == true, words.dropFirst(2).allSatisfy(isWholeDigest)
    else { return nil }
    return number
  }

  /// Of what is no digest, such as `folded:0040`, nothing is asked.
  private static func isWholeDigest(_ word: String) -> Bool {
    guard let mark = word.lastIndex(of: ":") else { return false }
    let digits = word[word.index(after: mark)...]
    return word.hasPrefix("folded:") || digits.count == 64 && digits.allSatisfy(\.isHexDigit)
  }
}
