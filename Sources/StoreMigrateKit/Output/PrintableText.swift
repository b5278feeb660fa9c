// Whatever is printed for people comes by printable(_:) of the library: names and texts of a file that somebody else wrote do
// not reach the terminal as what would move its cursor, or change its title. Here is the same for programs; and what of a step
// is cut on a screen, which JSON has whole.

import ObjectVault

/// A text of JSON, in which signs that a terminal would obey stand within strings, with these as JSON writes them.
func printable(json text: String) -> String {
  spelled(text) { scalar in
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

/// A text of a step, such as an operation or why nothing leads back, as it stands in a line of a screen.
func brief(_ text: String) -> String { legible(text, upTo: 400) }
