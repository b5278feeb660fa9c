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
  /// Names that the line has given, which stay as they are whatever signs are in them: they are copied from what is shown.
  private let names: [String]

  /// - Parameters:
  ///   - coloring: When there are colours.
  ///   - isPlain: Whether there are only signs of ASCII, and no colours.
  ///   - descriptor: Where the text goes.
  ///   - words: The words of the line.
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

  /// - Parameter isScreen: Whether the text is one for people, with marks.
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

  /// A line on standard error, which has no colours.
  func shown(error text: String) -> String { look == .plain ? plain(text) : text }

  private func plain(_ text: String) -> String {
    keepingNames(text) { Self.signs.reduce($0) { $0.replacing($1.0, with: $1.1) } }
  }

  /// Changes what is around the names of the line.
  private func keepingNames(_ text: String, _ change: (String) -> String) -> String {
    // What is shown has no such sign: see printable.
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
