// Which steps are in programs that people have: the lock file has a line behind the last step of each release.

import Foundation
import ObjectVault

/// The lines `released: 4.1` of a lock file.
struct Releases {
  static let word = "released:"
  private var lines: [(name: String, step: Int)] = []

  /// Those of the folder's lock file; none where there is no such file.
  init(_ folder: URL) {
    let file = folder.appendingPathComponent("migrations.lock").path
    let text = FileManager.default.contents(atPath: file).map { String(decoding: $0, as: UTF8.self) } ?? ""
    var step = 0
    for line in text.split(whereSeparator: \.isNewline) {
      let words = line.split(separator: " ")
      if let number = words.first.flatMap({ Int($0) }) { step = number }
      guard words.first == Self.word[...], words.count > 1 else { continue }
      lines.append((words.dropFirst().joined(separator: " "), step))
    }
  }

  /// The last step that was released; 0 without any.
  var version: Int { lines.map(\.step).max() ?? 0 }

  /// The releases whose last step has this number.
  func names(after step: Int) -> [String] { lines.filter { $0.step == step }.map(\.name) }

  /// The first release that has a step; nil where none has.
  func first(with step: Int) -> String? { lines.first { $0.step >= step }?.name }

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
