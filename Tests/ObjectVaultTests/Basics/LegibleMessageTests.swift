// What messages say of texts that somebody else wrote.

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
  func `a word that nobody reads to its end is cut`(_ length: Int) {
    for line in [
      String(repeating: "x", count: length), "drop attribute \(String(repeating: "y", count: length))",
      "create entity \(String(repeating: "z", count: length)) extra",
    ] {
      let told = message(line)
      #expect(!told.isEmpty && told.count < 1000, "\(told.count)")
    }
  }

  @Test func `all of it is no longer than a screen`() {
    let told = message("create entity E \(String(repeating: "words ", count: 10_000))")
    #expect(!told.isEmpty && told.count < 9000, "\(told.count)")
  }

  @Test(arguments: ["\u{202E}", "\u{200F}", "\u{1B}", "\u{7}"])
  func `what turns a line or moves a cursor is written out`(_ sign: String) {
    let told = message("drop\(sign) attribute A.b")
    #expect(!told.isEmpty && !told.contains(sign) && told.contains("\\u{"), "\(told)")
  }
}
