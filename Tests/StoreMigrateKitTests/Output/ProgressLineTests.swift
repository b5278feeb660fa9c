// The line of a progress bar, frame by frame: the rate, the remaining time, and nothing left of the frame
// before.

import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.pure)) struct ProgressLines {
  /// The text on the line after each frame was written over the one before.
  private func screen(_ frames: [String]) -> String {
    frames.reduce(into: "") { line, frame in line = frame + line.dropFirst(frame.count) }
  }

  @Test func `a bar shows the rate and the remaining time, and at its end neither`() throws {
    var line = ProgressLine("up", unit: "rows", width: 100)
    var frames: [String] = []
    for tenth in 0...10 {
      if let frame = line.frame(tenth * 30_000, of: 300_000, at: Double(tenth) * 0.5) { frames.append(frame) }
    }
    #expect(frames[0] == "up [....................] 0 %")
    #expect(frames[4].trimmed == "up [########............] 40 %  60,000 rows/s  0:03 left")
    #expect(screen(frames).trimmed == "up [####################] 100 %")
    #expect(line.frame(300_000, of: 300_000, at: 6) == nil)
  }

  @Test func `a bar follows a change of speed, and is not updated more often than it can be read`() throws {
    var line = ProgressLine("verify", unit: "pages", width: 100)
    _ = line.frame(0, of: 1000, at: 0)
    _ = line.frame(100, of: 1000, at: 1)
    // Ten times slower from here on.
    var last = ""
    for second in 2...20 { last = line.frame(100 + second * 10, of: 1000, at: Double(second)) ?? last }
    #expect(last.contains(" 10 pages/s  1:10 left"), "\(last)")
    #expect(line.frame(300, of: 1000, at: 20.1) == nil)
    #expect(line.frame(300, of: 1000, at: 20.3) != nil)
    #expect(line.frame(320, of: 1000, at: 20.31) != nil)
    // Without progress the remaining time grows, and stays finite.
    for second in 21...600 { last = line.frame(320, of: 1000, at: Double(second)) ?? last }
    #expect(last.contains("left") && last.contains(":"), "\(last)")
  }

  @Test func `work that cannot be counted is shown by its name, without a remaining time`() throws {
    var line = ProgressLine("up", unit: "rows", width: 100)
    for tenth in 0...20 {
      _ = line.frame(tenth * 10_000, of: 600_000, at: Double(tenth) * 0.1, doing: "0003: retype U.n to int")
    }
    let frame = line.frame(210_000, of: 600_000, at: 2.5, doing: "0003: retype U.n to int")
    #expect(try #require(frame).trimmed.hasSuffix("left  0003: retype U.n to int"))
    var last = ""
    for tenth in 30...60 {
      last = line.frame(210_000, of: 600_000, at: Double(tenth) * 0.1, doing: "0003: add index U(n)") ?? last
      #expect(tenth < 36 || !last.contains("left"), "\(last)")
    }
    #expect(last.trimmed == "up [#######.............] 35 %  0003: add index U(n)")
    // With progress there is a remaining time again.
    for tenth in 61...64 {
      last =
        line.frame(tenth * 10_000 - 390_000, of: 600_000, at: Double(tenth) * 0.1, doing: "0004: seed")
        ?? last
    }
    #expect(last.contains("rows/s") && last.contains("left"), "\(last)")
  }

  @Test func `of a name that is too long the beginning is shown`() throws {
    var line = ProgressLine("up", unit: "rows", width: 60)
    _ = line.frame(0, of: 10, at: 0)
    _ = line.frame(5, of: 10, at: 1)
    let name = "0003: " + String(repeating: "x", count: 100)
    let shown = line.frame(5, of: 10, at: 3, doing: name)
    let frame = try #require(shown).trimmed
    #expect(
      frame.hasPrefix("up [##########..........] 50 %  0003: xxx") && frame.hasSuffix("..."), "\(frame)")
    #expect(frame.count < 60)
  }

  @Test func `names in wide scripts take no more cells than the line has`() throws {
    for (label, name) in [("up", String(repeating: "步", count: 60)), (String(repeating: "移", count: 9), "x")]
    {
      for width in 40...70 {
        var line = ProgressLine(label, unit: "rows", width: width)
        _ = line.frame(0, of: 10, at: 0)
        _ = line.frame(5, of: 10, at: 1)
        let shown = line.frame(5, of: 10, at: 3, doing: name)
        let frame = try #require(shown)
        let cells = frame.unicodeScalars.reduce(0) { $0 + ($1.value >= 0x4E00 ? 2 : 1) }
        // The bar itself is never cut.
        #expect(cells < max(width, 50), "\(width): \(frame)")
        #expect(label != "up" || width < 44 || cells >= width - 3, "\(width): \(frame)")
      }
    }
  }

  @Test func `the time before the first row does not count for the rate`() throws {
    var line = ProgressLine("up", unit: "rows", width: 100)
    for tenth in 0...100 { _ = line.frame(0, of: 1000, at: Double(tenth) * 0.1) }
    _ = line.frame(100, of: 1000, at: 10.5)
    #expect(
      line.frame(200, of: 1000, at: 11)?.trimmed == "up [####................] 20 %  200 rows/s  0:04 left")
  }

  @Test(arguments: [(30, "up [##########..........] 50 %"), (12, "up [##########..........] 50 %")])
  func `a narrow terminal shows only the parts that fit`(_ width: Int, _ shown: String) throws {
    var line = ProgressLine("up", unit: "rows", width: width)
    _ = line.frame(0, of: 10, at: 0)
    #expect(line.frame(5, of: 10, at: 1)?.trimmed == shown)
  }

  @Test func `a line shows what fits, the rate before the remaining time`() throws {
    for width in 20...80 {
      var line = ProgressLine("up", unit: "rows", width: width)
      _ = line.frame(0, of: 10, at: 0)
      let frame = line.frame(5, of: 10, at: 1)
      let text = try #require(frame).trimmed
      #expect(text.count < width || !text.contains("rows/s"), "\(width): \(text)")
      #expect(text.contains("left") == (width > 51) && (!text.contains("left") || text.contains("rows/s")))
    }
  }
}

extension String {
  fileprivate var trimmed: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
