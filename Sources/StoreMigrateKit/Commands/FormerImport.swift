// What an earlier `schema import` has written into a folder: it is replaced by the next one as long as nobody has touched it.

import CipherSQLite
import Foundation
import ObjectVault

/// The step and the classes of an earlier import, where there are any.
struct FormerImport {
  /// In front of the digest of both files, in a comment of the step.
  private static let mark = "# As it was written, with its classes: "
  private static let fileName = "0001_adopted.migration"

  private let folder: URL
  private let classes: URL

  init(folder: URL, classes: URL) { (self.folder, self.classes) = (folder, classes) }

  private var step: URL { folder.appendingPathComponent(Self.fileName) }

  private var steps: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter(MigrationSet.isStepFile).sorted()
  }

  /// Whether there is a former step to be replaced; asked behind ``check()``.
  var isThere: Bool { FileManager.default.fileExists(atPath: step.path) }

  /// Refuses a folder with steps, and a file that is there, but for those of an earlier import that are as it wrote them.
  func check() throws {
    let steps = steps
    guard steps != [Self.fileName] || !isUntouched else { return }
    if steps == [Self.fileName], Self.digest(in: Self.text(step) ?? "") != nil {
      let released = Releases(folder).version > 0
      let files = [step, classes].map(\.path).filter(FileManager.default.fileExists)
      throw refusal(
        "\(step.path) is of an earlier import, and "
          + (released
            ? "released: people have it. Name another folder with --migrations."
            : "it and \(classes.path) are not as that wrote them. To import anew, remove the former first:\n"
              + "  rm \(files.map(shellPath).joined(separator: " "))\n"))
    }
    if let step = steps.first {
      throw refusal(
        "\(folder.path) has \(step) already. The tables of a file are a first step: name a folder without any, with "
          + "--migrations.")
    }
    guard !FileManager.default.fileExists(atPath: classes.path) else {
      throw refusal("\(classes.path) is there already. Name another file with --classes.")
    }
  }

  private func refusal(_ reason: String) -> RefusedError {
    RefusedError(
      code: .failed, description: "\(reason)\(reason.hasSuffix("\n") ? "" : " ")Nothing was written.")
  }

  /// Whether both files are as an import wrote them, and no release has the step.
  private var isUntouched: Bool {
    guard let text = Self.text(step), let classes = Self.text(classes), let digest = Self.digest(in: text)
    else { return false }
    return Releases(folder).version == 0 && Self.digest(of: Self.unmarked(text), classes) == digest
  }

  /// The text of a step with the digest of both files in it.
  static func marked(_ text: String, classes: String) -> String {
    text.replacing("\n[up]\n", with: "\(mark)\(digest(of: text, classes))\n\n[up]\n", maxReplacements: 1)
  }

  private static func unmarked(_ text: String) -> String {
    guard let digest = digest(in: text) else { return text }
    return text.replacing("\(mark)\(digest)\n\n[up]\n", with: "\n[up]\n", maxReplacements: 1)
  }

  private static func digest(in text: String) -> String? {
    text.split(separator: "\n").first { $0.hasPrefix(mark) }.map { String($0.dropFirst(mark.count)) }
  }

  private static func digest(of text: String, _ classes: String) -> String {
    sha256(Data((text + "\0" + classes).utf8))
  }

  private static func text(_ file: URL) -> String? { try? String(contentsOf: file, encoding: .utf8) }
}
