// How messages show text from migration files.

import ObjectVault
import Testing

@Suite(.tags(.pure, .slow)) struct LegibleMessages {
  private func message(_ line: String) -> String {
    do {
      _ = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
      return ""
    } catch { return "\(error)" }
  }

  @Test(arguments: [1000, 1_000_000])
  func `a message shortens a very long word`(_ length: Int) {
    for line in [
      String(repeating: "x", count: length), "drop attribute \(String(repeating: "y", count: length))",
      "create entity \(String(repeating: "z", count: length)) extra",
    ] {
      let told = message(line)
      #expect(!told.isEmpty && told.count < 1000, "\(told.count)")
    }
  }

  @Test func `a message about a line of many words has fewer than 9000 characters`() {
    let told = message("create entity E \(String(repeating: "words ", count: 10_000))")
    #expect(!told.isEmpty && told.count < 9000, "\(told.count)")
  }

  @Test(arguments: ["\u{202E}", "\u{200F}", "\u{1B}", "\u{7}"])
  func `a message escapes control characters and bidirectional marks`(_ sign: String) {
    let told = message("drop\(sign) attribute A.b")
    #expect(!told.isEmpty && !told.contains(sign) && told.contains("\\u{"), "\(told)")
  }
}
