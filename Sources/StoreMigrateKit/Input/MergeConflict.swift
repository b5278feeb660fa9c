// Generated files in which git left the marks of a conflict: the mistake is not in what they say. Of a step its parser tells.

enum MergeConflict {
  /// Whether a line is the mark of a conflict.
  static func isMark(_ line: Substring) -> Bool {
    ["<<<<<<< ", ">>>>>>> ", "||||||| "].contains { line.hasPrefix($0) } || line == "======="
  }

  static func isIn(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains(where: isMark)
  }
}
