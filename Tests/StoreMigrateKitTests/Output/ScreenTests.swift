// What a person sees: each line run on a pseudo-terminal, and its screen held against a golden file.

import Foundation
import TestSupport
import Testing

@Suite struct ScreenGoldens {
  /// A line of the tool, how it ends, and the name of its screen.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let line: String
    var code = 0
    var testDescription: String { name }
  }

  static let cases = [
    Case(name: "status", line: "status new.store -m Steps"),
    Case(name: "status-pending", line: "status old.store -m Steps"),
    Case(name: "plan", line: "plan old.store -m Steps"),
    Case(name: "up", line: "up old.store -m Steps"),
    Case(name: "wrong-key", line: "status new.store -m Steps --key-env WRONG", code: 12),
    Case(name: "changed-step", line: "status new.store -m Edited", code: 3),
    Case(name: "newer-store", line: "status new.store -m First", code: 4),
    Case(name: "lossy-up", line: "up new.store -m Losing", code: 5),
  ]

  private static let hasScript = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

  @Test(.enabled(if: hasScript, "there is no script"), arguments: cases)
  func `a screen is that of its golden file`(_ screen: Case) async throws {
    let folder = try await CommandFolder().folder
    let key = screen.line.contains("--key-env") ? "" : " --key-env KEY"
    let line = "stty cols 100; \"$TOOL\" \(screen.line)\(key) --key-format hex --no-input"
    let result = try runTool(
      "/usr/bin/script", ["-qec", line, "/dev/null"],
      environment: [
        "KEY": Template.hex(Template.key), "WRONG": Template.hex(Template.newKey),
        "TOOL": builtExecutable("store-migrate"),
      ], directory: folder.url.path)
    #expect(result.status == Int32(screen.code), "\(result)")
    let text = normalized(Self.shown(result.output), folder: folder.url.path)
    #expect(
      try Golden.difference(of: text, from: "screen-\(screen.name).txt", in: "StoreMigrateKitTests") == nil)
  }

  /// What is left on the screen: a bar is written over by the next one, from the begin of its line.
  private static func shown(_ output: String) -> String {
    output.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let frames = line.split(separator: "\r")
      return frames.last.map { String($0) } ?? ""
    }.joined(separator: "\n")
  }
}
