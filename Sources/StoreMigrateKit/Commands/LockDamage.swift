// What a lock file has that no command writes, and no merge leaves: it was cut off, or something was written over it. What was
// released is in no other file, so that a new one would forget it.

import Foundation
import ObjectVault

/// Why a text is no whole lock file.
struct LockDamage {
  /// What is so, such as `migrations.lock: line 5 has no end`.
  let text: String
  /// What goes where nothing was released: as long as one of both is there, the other is missed.
  private let rest: String

  /// What to do.
  var advice: String {
    "Put the file back as it was, which git has, and Embedded.swift and schema.json of the same commit beside it; where nothing "
      + "was ever released with these steps, delete \(rest)"
  }

  /// What is wrong with the lock file of a folder.
  /// - Parameters:
  ///   - lock: Its text; nil for one that is not there.
  ///   - embedded: That of the `Embedded.swift` beside it; empty where there is none.
  ///   - set: The steps at hand: what a step was that is there no more is not asked.
  /// - Returns: nil where the file is whole, be it with the marks of a merge, or where there never was one.
  init?(_ lock: String?, beside embedded: String, of set: MigrationSet) {
    let hasEmbedded = embedded.contains("MigrationSet.Embedded")
    guard let lock else {
      guard hasEmbedded else { return nil }
      text = "migrations.lock is missing, and Embedded.swift, which is written with it, is there"
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

  /// Why a text is not whole; nil for one that is. Whether its steps are those of the folder is another question.
  private static func reason(_ text: String) -> String? {
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    var isInConflict = false
    let isWhole = lines.map { line -> Bool in
      // What two branches have there is theirs to mend.
      if line.hasPrefix("<<<<<<<") { isInConflict = true }
      if line.hasPrefix(">>>>>>>") { isInConflict = false }
      return isInConflict || Self.isWhole(line)
    }
    if let index = isWhole.firstIndex(of: false), index < lines.count - 1 {
      return "line \(index + 1) is no line of such a file"
    }
    if lines.last?.isEmpty == false { return "line \(lines.count) has no end" }
    let numbers = Set(lines.compactMap(number))
    guard !numbers.isEmpty else { return nil }
    return (1...(numbers.max() ?? 1)).first { !numbers.contains($0) }.map {
      "the line of step \(numbered($0)) is missing"
    }
  }

  /// What a lock file lacks that was written together with it.
  private static func reason(_ text: String, beside embedded: String, of set: MigrationSet) -> String? {
    let lines = text.split(whereSeparator: \.isNewline)
    let numbers = Set(lines.compactMap(number))
    // By one walk over a text that has all steps in it.
    let known = Set(
      embedded.matches(of: /number: (\d+), name: "((?:[^"\\]|\\.)*)"/).map { "\($0.1) \($0.2)" }
        + embedded.matches(of: /checksum: "([^"]*)"/).map { String($0.1) })
    let missing = set.steps.first { step in
      !numbers.contains(step.number) && known.contains(step.contentChecksum)
        && known.contains("\(step.number) \(SwiftLiteral.body(step.name))")
    }
    return missing.map {
      "the line of step \(numbered($0.number)) is missing, which Embedded.swift beside it has"
    }
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
