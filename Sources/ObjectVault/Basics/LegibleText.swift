// Makes untrusted text safe to show in messages and terminals: long text is shortened, and characters
// that a terminal would interpret are escaped.

/// Shortens a text to its first 60 characters, for a message.
func shortened(_ text: some StringProtocol) -> String {
  let start = text.prefix(60)
  return start.endIndex == text.endIndex ? String(start) : "\(start)…"
}

/// Makes an untrusted text fit for a message: escapes it as ``printable(_:)`` does, shortens words to 200
/// scalars, and limits the whole text.
/// - Parameter longest: The highest number of Unicode scalars to show, at least 200. Callers pass less
///   for an operation in a list than for the reason of a failure.
package func legible(_ text: String, upTo longest: Int = 4000) -> String {
  let longestWord = 200
  // Nearly all texts are so short that there is nothing to shorten.
  guard text.utf8.count > longestWord else { return printable(text) }
  var (result, word, count) = (String.UnicodeScalarView(), 0, 0)
  for scalar in text.unicodeScalars {
    word = scalar.properties.isWhitespace ? 0 : word + 1
    guard word <= longestWord else {
      if word == longestWord + 1 { result.append("…") }
      continue
    }
    count += 1
    guard count <= longest else {
      result.append("…")
      break
    }
    result.append(scalar)
  }
  return printable(String(result))
}

/// Escapes hidden scalars: those that a terminal would interpret, that change the direction of text, or
/// that are spaces without width. An escape looks like `\u{1B}`. Line ends and tabs stay.
package func printable(_ text: String) -> String {
  spelled(text) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
}

/// Replaces each scalar that ``printable(_:)`` escapes by the text that `spelling` returns for it.
package func spelled(_ text: String, _ spelling: (Unicode.Scalar) -> String) -> String {
  let isHidden = { (scalar: Unicode.Scalar) in
    scalar != "\n" && scalar != "\t" && scalar.isHidden
  }
  guard text.unicodeScalars.contains(where: isHidden) else { return text }
  var result = ""
  for scalar in text.unicodeScalars {
    if isHidden(scalar) { result += spelling(scalar) } else { result.unicodeScalars.append(scalar) }
  }
  return result
}
