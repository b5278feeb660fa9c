// The style of output: with colours, unchanged, or in ASCII. Colours are added last, according to the
// marks in the lines of screens, so that no text of a store can add colours of its own.

import Foundation

struct TextStyle {
  /// When output has colours.
  enum Coloring: String, CaseIterable {
    case auto, always, never
  }
  private enum Look {
    case colored, asItIs, plain
  }
  private let look: Look
  /// The names in the command line. They stay unchanged even when they contain marks of the screens,
  /// because users copy them from the output.
  private let names: [String]

  /// Creates a style.
  /// - Parameters:
  ///   - coloring: When there are colours.
  ///   - isPlain: Whether output is limited to ASCII, without colours.
  ///   - descriptor: The descriptor that the text is written to.
  ///   - words: The words of the command line.
  init(_ coloring: Coloring, isPlain: Bool, descriptor: Int32, words: [String]) {
    let isColored = coloring == .always || (coloring == .auto && Self.isWanted(descriptor))
    look = isPlain ? .plain : isColored ? .colored : .asItIs
    let paths = words + [FileManager.default.currentDirectoryPath]
    names = Set(paths.flatMap { $0.split(separator: "/").map(String.init) })
      .filter { name in
        Self.signs.contains { name.contains($0.0) } || Self.marks.contains { name.contains($0.0) }
      }
      .sorted { ($0.count, $0) > ($1.count, $1) }
  }

  private static func isWanted(_ descriptor: Int32) -> Bool {
    let environment = ProcessInfo.processInfo.environment
    return isatty(descriptor) == 1 && environment["NO_COLOR", default: ""].isEmpty
      && environment["TERM"] != "dumb"
  }

  /// Returns a text in this style.
  /// - Parameter isScreen: Whether the text is a screen for people, with marks.
  func shown(_ text: String, isScreen: Bool) -> String {
    guard isScreen else { return text }
    return switch look {
    case .asItIs: text
    case .plain: plain(text)
    case .colored:
      keepingNames(text) { text in
        text.split(separator: "\n", omittingEmptySubsequences: false).map { Self.colored(String($0)) }
          .joined(separator: "\n")
      }
    }
  }

  /// Returns a line for standard error, which has no colours.
  func shown(error text: String) -> String { look == .plain ? plain(text) : text }

  private func plain(_ text: String) -> String {
    keepingNames(text) { Self.signs.reduce($0) { $0.replacing($1.0, with: $1.1) } }
  }

  /// Applies a change to a text, except to the names in the command line.
  private func keepingNames(_ text: String, _ change: (String) -> String) -> String {
    // Placeholders with control characters, which no printed text contains: see `printable`.
    let stand = { (index: Int) in "\u{1}\(index)\u{2}" }
    let hidden = names.enumerated().reduce(text) { $0.replacing($1.element, with: stand($1.offset)) }
    return names.enumerated().reduce(change(hidden)) { $0.replacing(stand($1.offset), with: $1.element) }
  }

  private static let signs = [
    ("✓", "+"), ("•", "*"), ("→", ">"), ("✗", "x"), ("·", "-"), ("“", "\""), ("”", "\""), ("…", "..."),
  ]
  private static let (red, green, yellow, bold, end) = (
    "\u{1B}[31m", "\u{1B}[32m", "\u{1B}[33m", "\u{1B}[1m", "\u{1B}[0m"
  )

  private static let marks = [
    ("✓", green), ("•", yellow), ("→", yellow), ("✗", red), ("LOSES", red), ("warning", yellow),
  ]

  private static func colored(_ line: String) -> String {
    if line.hasPrefix("next:") { return bold + "next:" + end + line.dropFirst(5) }
    var line = line
    for (sign, color) in marks {
      line = line.replacing(sign, with: color + sign + end, maxReplacements: 1)
    }
    return line
  }
}
