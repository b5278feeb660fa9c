// How far a long command is: a bar on a terminal, a line for each quarter in a pipe, nothing with --json or --quiet.

import Foundation

/// Shown on standard error, so that standard output holds the report alone.
final class ProgressBar {
  private let label: String
  private let isSilent: Bool
  private let isTerminal: Bool
  /// Whether anybody sees a bar that moves.
  var isLive: Bool { isTerminal && !isSilent }
  private let write: (String) -> Void
  private var shown = -1

  /// - Parameters:
  ///   - label: What stands before the bar.
  ///   - isSilent: Whether nothing is shown at all.
  ///   - line: Writes a line where there is no terminal.
  init(_ label: String, isSilent: Bool, line: @escaping (String) -> Void) {
    self.label = label
    self.isSilent = isSilent
    isTerminal = isatty(2) == 1
    let isTerminal = isTerminal
    write = { text in
      if isTerminal { StandardStream.error.write(text) } else { line(text) }
    }
  }

  func show(_ done: Int, of total: Int) {
    guard !isSilent, total > 0 else { return }
    let step = isTerminal ? 2 : 25
    let percent = done * 100 / total / step * step
    guard percent != shown else { return }
    shown = percent
    if isTerminal {
      let filled = percent / 5
      write(
        "\r\(label) [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: 20 - filled))] \(percent) %"
      )
    } else if percent > 0 {
      write("\(label) \(percent) %")
    }
  }

  func finish() {
    if !isSilent, isTerminal, shown >= 0 { write("\n") }
  }
}
