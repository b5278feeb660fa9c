// Recognizes merge conflicts in generated files, so that an error reports the conflict, and not the
// content that it makes invalid. In the files of steps, the parser of steps recognizes them.

enum MergeConflict {
  /// Returns whether a line is the mark of a conflict.
  static func isMark(_ line: Substring) -> Bool {
    ["<<<<<<< ", ">>>>>>> ", "||||||| "].contains { line.hasPrefix($0) } || line == "======="
  }

  static func isIn(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains(where: isMark)
  }
}
