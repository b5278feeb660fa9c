// The progress of a long command: a bar on a terminal, a line for each quarter in a pipe, nothing with
// --json or --quiet. The text of the bar's line is in ProgressLine.swift.

import Foundation
import ObjectVault

/// A progress bar on standard error. Standard output contains only the report.
final class ProgressBar {
  private let label: String
  private let isSilent: Bool
  private let isTerminal: Bool
  /// Whether the progress is a moving bar: on a terminal, unless nothing is shown at all.
  var isLive: Bool { isTerminal && !isSilent }
  private let write: (String) -> Void
  private var line: ProgressLine
  private let start = ContinuousClock.now
  private var quarter = 0
  private var isShown = false

  /// Creates a bar.
  /// - Parameters:
  ///   - label: The text before the bar.
  ///   - unit: What is counted, such as `rows`.
  ///   - isSilent: Whether nothing is shown at all.
  ///   - line: Writes a line when standard error is not a terminal.
  init(_ label: String, unit: String, isSilent: Bool, line: @escaping (String) -> Void) {
    self.label = label
    self.isSilent = isSilent
    isTerminal = isatty(2) == 1
    self.line = ProgressLine(label, unit: unit, width: StandardStream.error.lineWidth)
    let isTerminal = isTerminal
    write = { text in
      if isTerminal { StandardStream.error.write(text) } else { line(text) }
    }
  }

  func show(_ done: Int, of total: Int, doing: String? = nil) {
    guard !isSilent, total > 0 else { return }
    guard isTerminal else { return showQuarter(done, of: total) }
    let elapsed = start.duration(to: .now) / .seconds(1)
    guard let text = line.frame(done, of: total, at: elapsed, doing: doing) else { return }
    isShown = true
    write("\r\(text)")
  }

  private func showQuarter(_ done: Int, of total: Int) {
    let reached = done * 100 / total / 25
    guard reached != quarter else { return }
    quarter = reached
    if reached > 0 { write("\(label) \(reached * 25) %") }
  }

  /// Writes a line, below the bar when one is shown.
  func say(_ text: String) {
    if isShown { write("\n") }
    isShown = false
    write(isTerminal ? printable(text) + "\n" : text)
  }

  func finish() {
    if isShown { write("\n") }
  }
}
