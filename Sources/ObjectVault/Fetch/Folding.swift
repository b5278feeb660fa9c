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
      result = String(scalars)
    }
    if options.contains(.caseInsensitive) { result = foldCase(result) }
    return result
  }

  // Full case folding, by way of the upper case (ß becomes SS, then ss). The dotless i keeps its own: its
  // upper case is shared with i.
  private static func foldCase(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar == "\u{131}" {
        result.unicodeScalars.append(scalar)
        continue
      }
      for upper in scalar.properties.uppercaseMapping.unicodeScalars {
        result += upper.properties.lowercaseMapping
      }
    }
    return result
  }

  /// Whether `text` matches `pattern`: `*` any run, `?` one code point, a backslash takes the next character
  /// as it is. Linear in text times stars; no recursion.
  static func matches(_ text: String, like pattern: String) -> Bool {
    let tokens = tokens(of: pattern)
    let scalars = Array(text.unicodeScalars)
    var (position, token) = (0, 0)
    var (star, mark) = (-1, 0)
    while position < scalars.count {
      if token < tokens.count, tokens[token] == .one || tokens[token] == .literal(scalars[position]) {
        position += 1
        token += 1
      } else if token < tokens.count, tokens[token] == .any {
        (star, mark) = (token, position)
        token += 1
      } else if star >= 0 {
        mark += 1
        (position, token) = (mark, star + 1)
      } else {
        return false
      }
    }
    return tokens[token...].allSatisfy { $0 == .any }
  }

  private enum Token: Equatable {
    case any, one
    case literal(Unicode.Scalar)
  }

  private static func tokens(of pattern: String) -> [Token] {
    var tokens: [Token] = []
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      if isEscaped {
        tokens.append(.literal(scalar))
        isEscaped = false
      } else {
        switch scalar {
        case "*": tokens.append(.any)
        case "?": tokens.append(.one)
        case "\\": isEscaped = true
        default: tokens.append(.literal(scalar))
        }
      }
    }
    return tokens
  }
}
