// Generated files in which git left the marks of a conflict: the mistake is not in what they say. Of a step its parser tells.

import Foundation

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
}
