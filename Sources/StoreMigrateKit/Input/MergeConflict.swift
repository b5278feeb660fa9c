// Files of a folder of steps in which git left the marks of a conflict: the mistake is not in what they say.

import Foundation
import ObjectVault

enum MergeConflict {
  /// What to do with one in a generated file.
  static let advice =
    "Solve it: where both branches added a step, store-migrate rebase FILE renumbers one; then run store-migrate embed."

  /// Whether a line is the mark of a conflict.
  static func isMark(_ line: Substring) -> Bool {
    ["<<<<<<< ", ">>>>>>> ", "||||||| "].contains { line.hasPrefix($0) } || line == "======="
  }

  static func isIn(_ data: Data) -> Bool {
    String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).contains(where: isMark)
  }

  /// The error of a step that cannot be read, where that is for a mark; else the error as it is.
  static func explained(_ error: any Error, in folder: URL) -> any Error {
    guard case StoreError.migrationSyntax(let mistake) = error else { return error }
    let names = [mistake.file, folder.appendingPathComponent(mistake.file).path]
    guard let data = names.lazy.compactMap({ FileManager.default.contents(atPath: $0) }).first else {
      return error
    }
    let lines = String(decoding: data, as: UTF8.self).split(
      omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    guard let line = lines.firstIndex(where: isMark) else { return error }
    return RefusedError(
      code: .failed,
      description:
        "\(mistake.file):\(line + 1): this is the mark of a merge conflict. Solve it; where both branches added "
        + "a step, store-migrate rebase FILE gives one of them another number.")
  }
}
