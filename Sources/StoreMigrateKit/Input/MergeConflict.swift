// Recognizes merge conflicts in generated files, so that an error can name the conflict and not the
// content. For steps, their parser does that.

enum MergeConflict {
  /// Returns whether a line is the mark of a conflict.
  static func isMark(_ line: Substring) -> Bool {
    ["<<<<<<< ", ">>>>>>> ", "||||||| "].contains { line.hasPrefix($0) } || line == "======="
  }

  static func isIn(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains(where: isMark)
  }
}
