// Folding for the options [c] and [d]: full Unicode case folding and removal of marks, without a locale,
// and with equal results on every engine.
//
// The folded form of a character does not depend on its neighbours, except for parts from which Unicode
// composes one character. So FoldTable has the folded form of each character, and only a text with such
// parts is folded as a whole.

private import Foundation

package enum Folding {
  /// Returns the text without case, marks or both. Costs about a nanosecond for each byte.
  package static func fold(_ text: String, _ options: StringOptions) -> String {
    var text = text
    guard let table = FoldTable.all[options.rawValue & 3] else { return text }
    return text.withUTF8 { unsafe table.folded($0) } ?? whole(text, options)
  }

  /// Folds the text as a whole, by the definition of the two options.
  static func whole(_ text: String, _ options: StringOptions) -> String {
    var result = text
    if options.contains(.diacriticInsensitive) {
      let marks = result.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
        $0.properties.generalCategory != .nonspacingMark
      }
      var scalars = String.UnicodeScalarView()
      scalars.append(contentsOf: marks)
      // Composed again, so that a Hangul syllable is one code point. Its parts alone would match the
      // beginning of other syllables.
      result = String(scalars).precomposedStringWithCanonicalMapping
    }
    if options.contains(.caseInsensitive) { result = foldCase(result) }
    return result
  }

  // Full case folding: to lower case (ẞ becomes ß), upper case (SS) and lower case again (ss). The
  // dotless i is not mapped to upper case, because i has the same upper case.
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
