// What [c] and [d] disregard, the same for every engine: full Unicode folding, no locale.

private import Foundation

enum Folding {
  /// The text with case, marks or both taken out.
  static func fold(_ text: String, _ options: StringOptions) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) {
      return options.contains(.caseInsensitive) ? text.lowercased() : text
    }
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
