// Which steps are in programs that people have: the lock file has a line behind the last step of each release.

import Foundation
package import ObjectVault

/// The lines `released: 4.1` of a lock file, and the steps in front of them.
package struct Releases {
  static let word = "released:"
  /// In front of the checksum of what a folded step does.
  static let foldWord = "folds:"
  private var lines: [(name: String, step: Int)] = []
  /// The steps that are released: number, name, checksum, and the first release that has them.
  private var kept: [Kept] = []
  /// The texts of the lock file and of the file with the steps beside it; nil for one that is not there.
  private var files: (lock: String?, embedded: String?)

  private struct Kept {
    let number: Int
    let name: String
    let checksum: String
    /// Of a folded step, what it does; nil for others.
    let fold: String?
    var release = ""
  }

  /// Those of the folder's lock file; none where there is no such file. Of a file with conflicts of a merge, what stands in
  /// front of a release on its own side counts.
  /// - Throws: As ``GeneratedFile/text(in:)``: the releases of a lock file that cannot be read are unknown.
  init(_ folder: URL) throws {
    self.init(
      lock: try GeneratedFile.lock.text(in: folder), embedded: try GeneratedFile.steps.text(in: folder))
  }

  /// Those of a lock file, with the file of the steps beside it; nil for one that is not there.
  package init(lock: String?, embedded: String?) {
    self.init(text: lock ?? "")
    files = (lock, embedded)
  }

  /// Those of a lock file's text, whatever it is.
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

  /// The words of a line about a step: its number, its name, which may have spaces in it, and what stands behind.
  static func words(of line: Substring) -> [String] {
    let words = line.split(separator: " ").map(String.init)
    // The last one: a name may have such a word, and what stands behind the checksum begins otherwise.
    guard let start = line.firstIndex(of: " "), let end = line.range(of: " s1:", options: .backwards),
      start < end.lowerBound, let first = words.lastIndex(where: { $0.hasPrefix("s1:") })
    else { return words }
    return [words[0], String(line[line.index(after: start)..<end.lowerBound])] + words[first...]
  }

  /// The last step that was released; 0 without any.
  package var version: Int { lines.map(\.step).max() ?? 0 }

  /// The last release that has a step of this number; nil where none has.
  func last(with step: Int) -> String? { lines.last { $0.step >= step }?.name }

  /// The releases whose last step has this number.
  func names(after step: Int) -> [String] { lines.filter { $0.step == step }.map(\.name) }

  /// The first release that has a step of this number, and of this name where one is given; nil where none has.
  func release(of number: Int, _ name: String? = nil) -> String? {
    kept.first { $0.number == number && (name == nil || $0.name == name) }?.release
  }

  /// The released steps that are missing or others now: their files, and what is so.
  package func edited(in set: MigrationSet) -> [(number: Int, file: String, text: String)] {
    kept.compactMap { step in
      let now = set.steps.first { $0.number == step.number }
      let isFoldKept = step.fold == nil || now?.isPlaceholder == true || now?.contentChecksum == step.fold
      guard now?.name != step.name || now?.checksum != step.checksum || !isFoldKept else { return nil }
      return (
        step.number, "\(numbered(step.number))_\(step.name).migration",
        "was released with \(step.release), and is \(now == nil ? "missing" : "another") now. "
          + "Put it back as it was, and the change into a new step"
      )
    }
  }

  /// Why the lock file cannot be relied on; nil where it is whole, or where there never was one.
  func damage(beside set: MigrationSet) -> LockDamage? {
    LockDamage(files.lock, beside: files.embedded ?? "", of: set)
  }

  /// - Throws: ``RefusedError`` where the lock file was cut off, or where the steps are not those that were released: a new
  ///   lock file would hide it.
  package func requireKept(in set: MigrationSet) throws {
    if let damage = damage(beside: set) {
      throw RefusedError(
        code: .failed,
        description:
          "\(damage.text), and what it says of releases is nowhere else. \(damage.advice), and run this again. Nothing was "
          + "written.")
    }
    guard let step = edited(in: set).first else { return }
    throw RefusedError(
      code: .historyConflict, description: "\(step.file) \(step.text). Nothing was written.")
  }

  /// - Throws: ``UsageError`` for a name that cannot stand in the file, or is there already behind another step.
  mutating func add(_ name: String, after step: Int) throws {
    let name = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard !name.isEmpty else { throw UsageError("--released takes the name of a release, such as 4.1.") }
    if let known = lines.first(where: { $0.name == name }) {
      guard known.step == step else {
        throw UsageError("\(name) was released with the steps up to \(numbered(known.step)) already.")
      }
      return
    }
    lines.append((name, step))
  }
}
