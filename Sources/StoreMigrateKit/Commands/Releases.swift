// Which steps are in programs that people have: the lock file has a line behind the last step of each release.

import Foundation
import ObjectVault

/// The lines `released: 4.1` of a lock file, and the steps in front of them.
struct Releases {
  static let word = "released:"
  private var lines: [(name: String, step: Int)] = []
  /// Number, name and checksum of each step that the file has.
  private var locked: [(number: Int, name: String, checksum: String)] = []

  /// Those of the folder's lock file; none where there is no such file.
  init(_ folder: URL) {
    let file = folder.appendingPathComponent("migrations.lock").path
    let text = FileManager.default.contents(atPath: file).map { String(decoding: $0, as: UTF8.self) } ?? ""
    var step = 0
    for line in text.split(whereSeparator: \.isNewline) {
      let words = line.split(separator: " ")
      if let number = words.first.flatMap({ Int($0) }) {
        step = number
        if words.count > 2 { locked.append((number, String(words[1]), String(words[2]))) }
      }
      guard line.hasPrefix(Self.word) else { continue }
      let name = line.dropFirst(Self.word.count).split(separator: " ").joined(separator: " ")
      if !name.isEmpty { lines.append((name, step)) }
    }
  }

  /// The last step that was released; 0 without any.
  var version: Int { lines.map(\.step).max() ?? 0 }

  /// The releases whose last step has this number.
  func names(after step: Int) -> [String] { lines.filter { $0.step == step }.map(\.name) }

  /// The first release that has a step; nil where none has.
  func first(with step: Int) -> String? { lines.first { $0.step >= step }?.name }

  /// The release that has a step of this number and name; nil where none has.
  func release(of number: Int, _ name: String) -> String? {
    locked.contains { $0.number == number && $0.name == name } ? first(with: number) : nil
  }

  /// - Throws: ``RefusedError`` where the steps are not those that were released: a new lock file would hide it.
  func requireKept(in set: MigrationSet) throws {
    for step in locked {
      guard let release = first(with: step.number) else { continue }
      let now = set.steps.first { $0.number == step.number }
      guard now?.name != step.name || now?.checksum != step.checksum else { continue }
      throw RefusedError(
        code: .historyConflict,
        description:
          "\(numbered(step.number))_\(step.name).migration was released with \(release), and is \(now == nil ? "missing" : "another") now. "
          + "Put it back as it was, and the change into a new step. Nothing was written.")
    }
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
