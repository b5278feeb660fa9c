// Text that is safe to print. Names and texts in a file may have been written by anyone, and must not
// move the terminal's cursor or change its title. Output for people goes through `printable(_:)` of the
// library; the variant for JSON is here. So is the shortening of a step's texts on screens; JSON has them
// whole.

import ObjectVault

/// Returns a JSON text in which characters that a terminal would obey are escaped as JSON does. They
/// occur only within strings.
func printable(json text: String) -> String {
  spelled(text) { scalar in
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

/// Returns a text of a step, such as an operation or the reason why there is no rollback, short enough
/// for a line of a screen.
func brief(_ text: String) -> String { legible(text, upTo: 400) }
