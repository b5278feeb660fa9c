// What [c] and [d] disregard, the same for every engine: full Unicode folding, no locale.
//
// What a character becomes does not depend on the others of a text, but for parts of which Unicode composes one character. So
// a table holds what each becomes (FoldTable), and only a text with such parts is folded as a whole.

private import Foundation

package enum Folding {
  /// The text with case, marks or both taken out. Costs about a nanosecond for each byte.
  package static func fold(_ text: String, _ options: StringOptions) -> String {
    var text = text
    guard let table = FoldTable.all[options.rawValue & 3] else { return text }
    return text.withUTF8 { unsafe table.folded($0) } ?? whole(text, options)
  }

  /// The text folded as a whole, by the definition of the two options.
  static func whole(_ text: String, _ options: StringOptions) -> String {
    var result = text
    if options.contains(.diacriticInsensitive) {
      let marks = result.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
        $0.properties.generalCategory != .nonspacingMark
      }
      var scalars = String.UnicodeScalarView()
      scalars.append(contentsOf: marks)
      // Composed again: what is left of a Hangul syllable is one code point, and no other begins it.
      result = String(scalars).precomposedStringWithCanonicalMapping
    }
    if options.contains(.caseInsensitive) { result = foldCase(result) }
    return result
  }

  // Full case folding, by way of the lower case (ẞ becomes ß), the upper (SS) and the lower again (ss). The
  // dotless i keeps its own: its upper case is shared with i.
  private static func foldCase(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar.value < 0x80 || scalar == "\u{131}" {
        result.unicodeScalars.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
        continue
      }
      for lower in scalar.properties.lowercaseMapping.unicodeScalars {
        for upper in lower.properties.uppercaseMapping.unicodeScalars {
          result.unicodeScalars.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
        }
      }
    }
    return result
  }
}
