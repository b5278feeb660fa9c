// How a text looks: with colours, as it is, or in ASCII. Colours come behind all else, by what the lines of screens say: no
// text of a store reaches a terminal as one.

import Foundation

struct TextStyle {
  /// When there are colours.
  enum Coloring: String, CaseIterable {
    case auto, always, never
  }
  private enum Look {
    case colored, asItIs, plain
  }
  private let look: Look

  /// - Parameters:
  ///   - coloring: When there are colours.
  ///   - isPlain: Whether there are only signs of ASCII, and no colours.
  ///   - descriptor: Where the text goes.
  init(_ coloring: Coloring, isPlain: Bool, descriptor: Int32) {
    let isColored = coloring == .always || (coloring == .auto && Self.isWanted(descriptor))
    look = isPlain ? .plain : isColored ? .colored : .asItIs
  }

  private static func isWanted(_ descriptor: Int32) -> Bool {
    let environment = ProcessInfo.processInfo.environment
    return isatty(descriptor) == 1 && environment["NO_COLOR", default: ""].isEmpty
      && environment["TERM"] != "dumb"
  }

  /// - Parameter isScreen: Whether the text is one for people, with marks.
  func shown(_ text: String, isScreen: Bool) -> String {
    guard isScreen else { return text }
    return switch look {
    case .asItIs: text
    case .plain: Self.signs.reduce(text) { $0.replacing($1.0, with: $1.1) }
    case .colored:
      text.split(separator: "\n", omittingEmptySubsequences: false).map { Self.colored(String($0)) }
        .joined(separator: "\n")
    }
  }

  private static let signs = [
    ("✓", "+"), ("•", "*"), ("→", ">"), ("✗", "x"), ("·", "-"), ("“", "\""), ("”", "\""), ("…", "..."),
  ]
  private static let (red, green, yellow, bold, end) = (
    "\u{1B}[31m", "\u{1B}[32m", "\u{1B}[33m", "\u{1B}[1m", "\u{1B}[0m"
  )

  private static func colored(_ line: String) -> String {
    if line.hasPrefix("next:") { return bold + "next:" + end + line.dropFirst(5) }
    var line = line
    for (sign, color) in [
      ("✓", green), ("•", yellow), ("→", yellow), ("✗", red), ("LOSES", red), ("warning", yellow),
    ] {
      line = line.replacing(sign, with: color + sign + end, maxReplacements: 1)
    }
    return line
  }
}
