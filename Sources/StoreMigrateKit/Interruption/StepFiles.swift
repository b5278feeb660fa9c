// Reports the state of a folder of steps after a command that renames, removes or writes its files was
// stopped.

import CipherSQLite
import Foundation
import ObjectVault

/// After `rebase`: the files have their new names, their old ones, or temporary ones.
struct RenamedSteps: FileStateReport {
  /// The suffix of a file's new name while other files are being renamed.
  static let suffix = ".rebasing"
  let folder: URL
  /// The names before and after, in the order of renaming.
  let moves: [(from: String, to: String)]

  func found() -> String {
    let waiting = moves.filter { folder.holds($0.to + Self.suffix) }
    // The last file to get a temporary name. Until it has one, no file has its new name.
    guard let last = moves.last, !waiting.isEmpty else {
      return moves.last.map { folder.holds($0.to) } ?? false
        ? "The steps have their new numbers. Update the generated files: \(folder.embedLine)"
        : "No file was renamed."
    }
    let isHalfWay = folder.holds(last.to + Self.suffix)
    let lines = waiting.map {
      "\n  mv \(shellWord($0.to + Self.suffix)) \(shellWord(isHalfWay ? $0.to : $0.from))"
    }
    return "Files in \(folder.path) were being renamed. "
      + (isHalfWay
        ? "Complete the renaming in that folder, then run \(folder.embedLine):"
        : "Restore their names in that folder, then run the command again:")
      + lines.joined()
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String { found() }
}

/// After `squash`: no step was folded; or the fold is written, and all or some of the files that it
/// replaces are removed.
struct FoldedFiles: FileStateReport {
  let folder: URL
  /// The name of the file with the fold.
  let file: String
  let step: MigrationStep
  /// The names of the files to be removed.
  let former: [String]

  func found() -> String {
    guard
      FileManager.default.contents(atPath: folder.appendingPathComponent(file).path)
        == Data(step.fileText.utf8)
    else {
      return "No step was folded."
    }
    let left = former.filter(folder.holds)
    return left.isEmpty
      ? "The steps are folded. Update the generated files: \(folder.embedLine)"
      : "\(step.fileName) replaces the other steps, but some of their files remain. "
        + "\(Self.finish(step.number, folder))"
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String { found() }

  static func finish(_ number: Int, _ folder: URL) -> String {
    "Complete the squash: \(ToolLine("squash", "--to", "\(number)", "-m", folder.path))"
  }
}

extension URL {
  /// The command line that writes the generated files of the folder.
  fileprivate var embedLine: ToolLine { ToolLine("embed", "-m", path) }

  /// Returns whether the folder contains a file with this name.
  fileprivate func holds(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: appendingPathComponent(name).path)
  }
}

/// After `embed`: each generated file is the former one or the new one.
struct GeneratedTexts: FileStateReport {
  let folder: URL
  /// The files that differed when the command began, and the content that they are to have.
  let changing: [(file: URL, text: Data)]

  /// Records which of the files have to be written.
  init(folder: URL, _ texts: [(file: URL, text: Data)]) {
    self.folder = folder
    changing = texts.filter { !Self.holds($0) }
  }

  func found() -> String {
    let left = changing.filter { !Self.holds($0) }.map(\.file.lastPathComponent)
    if left.isEmpty { return "The generated files are written." }
    if left.count == changing.count { return "No generated file was changed." }
    return
      "Not yet written: \(left.joined(separator: ", ")). Write them: \(folder.embedLine)"
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String { found() }

  private static func holds(_ generated: (file: URL, text: Data)) -> Bool {
    FileManager.default.contents(atPath: generated.file.path) == generated.text
  }
}
