// Which steps were released: the lock file has a line after the last step of each release.

import Foundation
package import ObjectVault

/// The lines `released: 4.1` of a lock file, and the steps before each of them.
package struct Releases {
  static let word = "released:"
  /// The prefix of the content checksum of a step into which others were folded. The other checksum of
  /// such a step is that of the original step.
  static let foldWord = "folds:"
  private var lines: [(name: String, step: Int)] = []
  /// The released steps, each with its number, name and checksum, and the first release that contains it.
  private var kept: [Kept] = []
  /// The texts of the lock file and of the `Embedded.swift` in the same folder; nil for a file that does
  /// not exist.
  private var files: (lock: String?, embedded: String?)

  private struct Kept {
    let number: Int
    let name: String
    let checksum: String
    /// The content checksum, if other steps were folded into this one; nil for other steps.
    let fold: String?
    var release = ""
  }

  /// Reads the releases of a folder's lock file; there are none without such a file. A release contains
  /// the steps on the lines before it. Of a merge conflict, only one side counts: the side that contains
  /// the release, or else the last one.
  /// - Throws: The errors of ``GeneratedFile/text(in:)``: without a readable lock file, the releases are
  ///   unknown.
  init(_ folder: URL) throws {
    self.init(
      lock: try GeneratedFile.lock.text(in: folder), embedded: try GeneratedFile.steps.text(in: folder))
  }

  /// Creates the releases from the texts of a lock file and of the `Embedded.swift` in the same folder;
  /// nil for a file that does not exist.
  package init(lock: String?, embedded: String?) {
    self.init(text: lock ?? "")
    files = (lock, embedded)
  }

  /// Creates the releases from the text of a lock file, which need not be well-formed.
  package init(text: String) {
    var waiting: [Kept] = []
    var (step, beforeConflict) = (0, 0)
    for line in text.split(whereSeparator: \.isNewline) {
      let words = Self.words(of: line)
      if let number = words.first.flatMap({ Int($0) }), words.count > 2 {
        step = number
        let fold = words.first { $0.hasPrefix(Self.foldWord) }
        waiting.append(
          Kept(
            number: number, name: words[1], checksum: words[2],
            fold: fold.map { String($0.dropFirst(Self.foldWord.count)) }))
      } else if line.hasPrefix("<<<<<<<") {
        beforeConflict = waiting.count
      } else if line.hasPrefix("=======") || line.hasPrefix("|||||||") {
        waiting.removeLast(max(0, waiting.count - beforeConflict))
      } else if line.hasPrefix(Self.word) {
        let name = line.dropFirst(Self.word.count).split(separator: " ").joined(separator: " ")
        guard !name.isEmpty else { continue }
        lines.append((name, step))
        kept += waiting.map { step in
          var step = step
          step.release = name
          return step
        }
        (waiting, beforeConflict) = ([], 0)
      }
    }
  }

  /// Returns the words of a line about a step: its number, its name, which may contain spaces, and the
  /// words after it.
  static func words(of line: Substring) -> [String] {
    let words = line.split(separator: " ").map(String.init)
    // The last " s1:" counts: a name may contain one, and the words after the checksum begin differently.
    guard let start = line.firstIndex(of: " "), let end = line.range(of: " s1:", options: .backwards),
      start < end.lowerBound, let first = words.lastIndex(where: { $0.hasPrefix("s1:") })
    else { return words }
    return [words[0], String(line[line.index(after: start)..<end.lowerBound])] + words[first...]
  }

  /// The number of the last released step; 0 when nothing was released.
  package var version: Int { lines.map(\.step).max() ?? 0 }

  /// Returns the last release that contains the step with this number; nil when none does.
  func last(with step: Int) -> String? { lines.last { $0.step >= step }?.name }

  /// Returns the releases whose last step has this number.
  func names(after step: Int) -> [String] { lines.filter { $0.step == step }.map(\.name) }

  /// Returns the first release that contains a step with this number, and with this name if one is given;
  /// nil when none does.
  func release(of number: Int, _ name: String? = nil) -> String? {
    kept.first { $0.number == number && (name == nil || $0.name == name) }?.release
  }

  /// Returns the released steps that are missing or differ now: their files, and what to report.
  package func edited(in set: MigrationSet) -> [(number: Int, file: String, text: String)] {
    kept.compactMap { step in
      let now = set.steps.first { $0.number == step.number }
      let isFoldKept = step.fold == nil || now?.isPlaceholder == true || now?.contentChecksum == step.fold
      guard now?.name != step.name || now?.checksum != step.checksum || !isFoldKept else { return nil }
      return (
        step.number, "\(numbered(step.number))_\(step.name).migration",
        "was released with \(step.release), but is now \(now == nil ? "missing" : "different"). "
          + "Restore it, and put the change into a new step"
      )
    }
  }

  /// Returns why the lock file cannot be trusted; nil when it is complete, or when it never existed.
  func damage(beside set: MigrationSet) -> LockDamage? {
    LockDamage(files.lock, beside: files.embedded ?? "", of: set)
  }

  /// Checks that the generated files may be rewritten without hiding a fault.
  /// - Throws: ``RefusedError`` when the lock file is damaged, or when a released step differs: a new
  ///   lock file would hide that.
  package func requireKept(in set: MigrationSet) throws {
    if let damage = damage(beside: set) {
      throw RefusedError(
        code: .failed,
        description:
          "\(damage.text). Only the lock file records the releases. \(damage.advice). Then run this "
          + "command again. Nothing was written.")
    }
    guard let step = edited(in: set).first else { return }
    throw RefusedError(
      code: .historyConflict, description: "\(step.file) \(step.text). Nothing was written.")
  }

  /// Adds a release after a step. Adding it again after the same step has no effect.
  /// - Throws: ``UsageError`` for an empty name, and for a release that is already listed after another
  ///   step.
  mutating func add(_ name: String, after step: Int) throws {
    let name = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard !name.isEmpty else { throw UsageError("--released takes the name of a release, such as 4.1.") }
    if let known = lines.first(where: { $0.name == name }) {
      guard known.step == step else {
        throw UsageError("\(name) was already released with the steps up to \(numbered(known.step)).")
      }
      return
    }
    lines.append((name, step))
  }
}
