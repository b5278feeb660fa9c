// The text of a progress bar: how much is done, the speed, and the remaining time. It has no side effects
// and gets the time as an argument.

/// The line of a terminal for a long command.
package struct ProgressLine {
  private let label: String
  private let unit: String
  private let width: Int
  private var rate = ProgressRate()
  private var shown: (percent: Int, time: Double)?
  /// The cells of the line that the next one has to overwrite.
  private var length = 0

  /// Creates the line.
  /// - Parameters:
  ///   - label: The text before the bar.
  ///   - unit: What is counted, such as `rows`.
  ///   - width: The cells of a line of the terminal; nil when the terminal does not report it.
  package init(_ label: String, unit: String, width: Int?) {
    (self.label, self.unit, self.width) = (label, unit, width ?? 80)
  }

  /// Returns the present line, padded with spaces when the line before was longer.
  /// - Parameters:
  ///   - done: How much is done.
  ///   - total: How much there is; above 0.
  ///   - seconds: The time since the beginning.
  ///   - doing: What runs at the moment; nil when that is not known.
  /// - Returns: nil when nothing has changed that is worth a new line.
  package mutating func frame(_ done: Int, of total: Int, at seconds: Double, doing: String? = nil) -> String?
  {
    rate.note(done, at: seconds)
    let percent = min(100, done * 100 / total)
    // Numbers that change more often cannot be read. A bar that is redrawn only for each percent seems to
    // have stopped.
    if let shown, percent / 2 == shown.percent / 2, percent == 100 || seconds < shown.time + 0.25 {
      return nil
    }
    shown = (percent, seconds)
    let (filled, empty) = (percent / 5, 20 - percent / 5)
    let bar =
      "\(label) [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: empty))] \(percent) %"
    // Some statements write no rows that can be counted, such as one that drops a table. The speed and
    // the time would be wrong then.
    let isStill = doing != nil && rate.stillSeconds > 1
    let more = (isStill ? [] : speed(total - done)) + (doing.map { [$0] } ?? [])
    let text = percent < 100 ? fitting([bar] + more) : bar
    let cells = CellWidth.of(text)
    defer { length = cells }
    return text + String(repeating: " ", count: max(0, min(length, width - 1) - cells))
  }

  /// Returns as many parts of the line as fit. If there are two and only the second does not fit, its
  /// beginning is used.
  private func fitting(_ parts: [String]) -> String {
    let lines = parts.indices.map { parts[...$0].joined(separator: "  ") }
    // The last cell stays free: some terminals begin a new line after it.
    let whole = lines.last { CellWidth.of($0) < width } ?? parts[0]
    let room = width - CellWidth.of(whole)
    guard parts.count == 2, whole == parts[0], room > 12 else { return whole }
    return "\(whole)  \(CellWidth.prefix(parts[1], room - 6))..."
  }

  private func speed(_ left: Int) -> [String] {
    guard let perSecond = rate.perSecond else { return [] }
    return ["\(grouped(Int(perSecond.rounded()))) \(unit)/s", "\(Self.clock(Double(left) / perSecond)) left"]
  }

  /// Returns a duration such as `0:07` or `1:02:00`.
  private static func clock(_ seconds: Double) -> String {
    let whole = Int(min(seconds, 359_999).rounded(.up))
    let two = { (number: Int) in (number < 10 ? "0" : "") + String(number) }
    let (hours, minutes) = (whole / 3600, whole / 60 % 60)
    return hours > 0 ? "\(hours):\(two(minutes)):\(two(whole % 60))" : "\(minutes):\(two(whole % 60))"
  }
}

/// The speed of the work. Recent seconds have more weight than earlier ones, because steps differ in
/// speed.
struct ProgressRate {
  /// The units per second; nil until enough is done to compute it.
  private(set) var perSecond: Double?
  private var last: (done: Int, seconds: Double) = (0, 0)
  private var moved: (done: Int, seconds: Double) = (0, 0)
  /// The seconds since anything was done.
  private(set) var stillSeconds = 0.0

  mutating func note(_ done: Int, at seconds: Double) {
    if done != moved.done { moved = (done, seconds) }
    stillSeconds = seconds - moved.seconds
    // The time before the first row may be spent waiting for a lock, which must not count.
    if done == 0, last.done == 0 { last.seconds = seconds }
    let time = seconds - last.seconds
    guard time >= 0.1, done > 0 || last.done > 0 else { return }
    let now = Double(max(0, done - last.done)) / time
    last = (done, seconds)
    // A pause does not set the speed to 0, which would mean an infinite remaining time.
    guard let before = perSecond else { return perSecond = now > 0 ? now : nil }
    perSecond = max(before + (now - before) * min(1, time / 2), 0.01)
  }
}
