// The width of a text on a terminal in cells: East Asian wide characters and emoji take two, combining
// marks none.

enum CellWidth {
  /// Returns the cells of a text.
  static func of(_ text: String) -> Int {
    // Printable ASCII, which most texts consist of, takes one cell for each byte.
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text.utf8.count }
    return text.reduce(0) { $0 + of($1) }
  }

  /// Returns the cells of the widest of some texts, for a column that contains them.
  static func widest(_ texts: [String]) -> Int { texts.reduce(0) { max($0, of($1)) } }

  /// Returns the cells of a character, which may consist of several scalars.
  static func of(_ character: Character) -> Int {
    let scalars = character.unicodeScalars
    // An emoji, including everything joined to it, is one picture. So is a character with a text form,
    // when the selector for its emoji form follows.
    let isPicture = scalars.first?.properties.isEmojiPresentation == true || scalars.contains("\u{FE0F}")
    return isPicture ? 2 : scalars.reduce(0) { $0 + of($1) }
  }

  private static func of(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    // Vowels and final consonants of Hangul share the cells of the consonant before them.
    if (0x1160...0x11FF).contains(scalar.value) { return 0 }
    return isWide(scalar.value) ? 2 : 1
  }

  /// Returns whether Unicode classifies a scalar as wide (W, F). Emoji are recognized by their own
  /// property.
  private static func isWide(_ value: UInt32) -> Bool {
    guard value >= 0x1100 else { return false }
    switch value {
    case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF,
      0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F,
      0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F202,
      0x1F210...0x1F23B, 0x1F240...0x1F248, 0x1F250...0x1F251, 0x1F260...0x1F265, 0x20000...0x3FFFD:
      return true
    default: return false
    }
  }

  /// Returns a text cut to a width, with an ellipsis when something is omitted.
  static func cut(_ text: String, to width: Int) -> String {
    of(text) > width ? prefix(text, width - 1) + "…" : text
  }

  /// Returns the longest beginning of a text that fits into a width.
  static func prefix(_ text: String, _ width: Int) -> String {
    var (result, used) = ("", 0)
    for character in text {
      used += of(character)
      if used > width { break }
      result.append(character)
    }
    return result
  }
}
