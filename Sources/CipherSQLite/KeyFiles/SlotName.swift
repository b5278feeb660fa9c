// Validates the name of a slot of a key file. A name is checked when it is assigned: slots of existing
// files keep their names.

enum SlotName {
  /// Checks that a slot may get a name.
  /// - Parameters:
  ///   - name: The name that the slot is to get.
  ///   - path: The key file.
  ///   - others: The names of its other slots.
  /// - Throws: ``SQLError/slotName(file:reason:)`` for a name that is taken, is empty or longer than 64
  ///   bytes, contains an equals sign, or cannot be shown as one line.
  static func require(_ name: String, in path: String, beside others: [String]) throws(SQLError) {
    let reason: String? =
      if !(1...64).contains(name.utf8.count) {
        "a name has 1 to 64 bytes; this one has \(name.utf8.count)"
      } else if name.contains("=") {
        "a name may not contain an equals sign, which separates a name from a file"
      } else if name.unicodeScalars.contains(where: isHidden) {
        "a name is one line of visible characters, without line breaks, tabs and escape characters"
      } else if others.contains(name) {
        "there is already a slot \(name)"
      } else {
        nil
      }
    if let reason { throw .slotName(file: path, reason: reason) }
  }

  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
    default: false
    }
  }
}
