// The line of a bar: how much is done, how fast it goes, and how long the rest will take. Pure: the time is given.

/// What one line of a terminal says of a long command.
package struct ProgressLine {
  private let label: String
  private let unit: String
  private let width: Int
  private var rate = ProgressRate()
  private var shown: (percent: Int, time: Double)?
  /// How much of the line is written over by the next frame.
  private var length = 0

  /// - Parameters:
  ///   - label: What stands before the bar.
  ///   - unit: What is counted, such as `rows`.
  ///   - width: The cells of a line of the terminal; nil for one that does not say.
  package init(_ label: String, unit: String, width: Int?) {
    (self.label, self.unit, self.width) = (label, unit, width ?? 80)
  }

  /// The line as it is now, with spaces behind it where the one before was longer.
  /// - Parameters:
  ///   - done: How much is done.
  ///   - total: How much there is; above 0.
  ///   - seconds: The time since the beginning.
  ///   - doing: What runs at the moment; nil where nobody says.
  /// - Returns: nil where nothing changed that is worth a new line.
  package mutating func frame(_ done: Int, of total: Int, at seconds: Double, doing: String? = nil) -> String?
  {
    rate.note(done, at: seconds)
    let percent = min(100, done * 100 / total)
    // Numbers that change more often cannot be read, and a bar that waits for the next percent looks as if it had stopped.
    if let shown, percent / 2 == shown.percent / 2, percent == 100 || seconds < shown.time + 0.25 {
      return nil
    }
    shown = (percent, seconds)
    let (filled, empty) = (percent / 5, 20 - percent / 5)
    let bar =
      "\(label) [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: empty))] \(percent) %"
    // Of what cannot be counted, as the end of a table, no speed and no time would be true.
    let isStill = doing != nil && rate.stillSeconds > 1
    let more = (isStill ? [] : speed(total - done)) + (doing.map { [$0] } ?? [])
    let text = percent < 100 ? fitting([bar] + more) : bar
    let cells = CellWidth.of(text)
    defer { length = cells }
    return text + String(repeating: " ", count: max(0, min(length, width - 1) - cells))
  }

  /// The parts of a line, as many as it has room for; of the last one its beginning, where only that is too long.
  private func fitting(_ parts: [String]) -> String {
    let lines = parts.indices.map { parts[...$0].joined(separator: "  ") }
    // The last cell stays free: some terminals begin a new line behind it.
    let whole = lines.last { CellWidth.of($0) < width } ?? parts[0]
    let room = width - CellWidth.of(whole)
    guard parts.count == 2, whole == parts[0], room > 12 else { return whole }
    return "\(whole)  \(CellWidth.prefix(parts[1], room - 6))..."
  }

  private func speed(_ left: Int) -> [String] {
    guard let perSecond = rate.perSecond else { return [] }
    return ["\(grouped(Int(perSecond.rounded()))) \(unit)/s", "\(Self.clock(Double(left) / perSecond)) left"]
  }

  /// Such as `0:07`, or `1:02:00`.
  private static func clock(_ seconds: Double) -> String {
    let whole = Int(min(seconds, 359_999).rounded(.up))
    let two = { (number: Int) in (number < 10 ? "0" : "") + String(number) }
    let (hours, minutes) = (whole / 3600, whole / 60 % 60)
    return hours > 0 ? "\(hours):\(two(minutes)):\(two(whole % 60))" : "\(minutes):\(two(whole % 60))"
  }
}

/// How fast something goes: the last seconds count more than those before, as steps differ.
struct ProgressRate {
  /// nil until enough is done to tell.
  private(set) var perSecond: Double?
  private var last: (done: Int, seconds: Double) = (0, 0)
  private var moved: (done: Int, seconds: Double) = (0, 0)
  /// How long nothing has been done.
  private(set) var stillSeconds = 0.0

  mutating func note(_ done: Int, at seconds: Double) {
    if done != moved.done { moved = (done, seconds) }
    stillSeconds = seconds - moved.seconds
    // The first row may wait for somebody's lock, and that is no speed.
    if done == 0, last.done == 0 { last.seconds = seconds }
    let time = seconds - last.seconds
    guard time >= 0.1, done > 0 || last.done > 0 else { return }
    let now = Double(max(0, done - last.done)) / time
    last = (done, seconds)
    // Of a pause nobody concludes that it will never end.
    guard let before = perSecond else { return perSecond = now > 0 ? now : nil }
    perSecond = max(before + (now - before) * min(1, time / 2), 0.01)
  }
}
