// What messages and screens show of texts that somebody else wrote: cut where they are long, and without signs that a terminal
// would obey.

/// A piece of a text that may be long, for a message.
func shortened(_ text: some StringProtocol) -> String {
  let start = text.prefix(60)
  return start.endIndex == text.endIndex ? String(start) : "\(start)…"
}

/// What a message says of a text that somebody else wrote: printable, a word that nobody reads to its end cut, and all of it no
/// longer than a screen.
/// - Parameter longest: How many signs are shown; of an operation among others fewer than of the reason of a failure.
package func legible(_ text: String, upTo longest: Int = 4000) -> String {
  let longestWord = 200
  // Nearly all are, and are not walked through then.
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

/// A text with what a terminal would obey, or what turns the direction of a line, written as `\\u{1B}`. Ends of lines and
/// tabs stay.
package func printable(_ text: String) -> String {
  spelled(text) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
}

/// The same with another spelling.
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
