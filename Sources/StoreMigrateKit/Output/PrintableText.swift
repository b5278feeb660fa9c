// Whatever is printed for people comes by here: names and texts of a file that somebody else wrote do not reach the terminal
// as what would move its cursor, or change its title.

import ObjectVault

/// A text with what a terminal would obey, or what turns the direction of a line, written as `\\u{1B}`. Ends of lines and
/// tabs stay.
func printable(_ text: String) -> String {
  spelled(text) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
}

/// The same of JSON, in which such signs stand within strings.
func printable(json text: String) -> String {
  spelled(text) { scalar in
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

private func spelled(_ text: String, _ spelling: (Unicode.Scalar) -> String) -> String {
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
