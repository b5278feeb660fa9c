// Screens: each line runs on a pseudo-terminal, and its screen is compared with a golden file.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct ScreenGoldens {
  /// A line of the tool, its exit code, and the name of its screen.
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
    Case(name: "newer-store-back", line: "status back.store -m First", code: 4),
    Case(name: "lossy-up", line: "up new.store -m Losing", code: 5),
    Case(name: "no-store", line: "status absent.store -m Steps", code: 10),
    Case(name: "plain", line: "status plain.db -m Steps", code: 12),
    Case(name: "foreign", line: "status tables.store -m Steps", code: 12),
    Case(name: "drift", line: "status drift.store -m Steps"),
    Case(name: "plan-drift", line: "plan drift.store -m Steps", code: 1),
    Case(name: "missing-step", line: "up moved.store -m Steps", code: 3),
    Case(name: "moved-step", line: "up new.store -m Moved", code: 3),
    Case(name: "step-twice", line: "up new.store -m Twice", code: 3),
    Case(name: "refused-rows", line: "plan twice.store -m Unique", code: 5),
    Case(name: "dry-run", line: "up 'my notes.store' -m Losing --dry-run"),
    Case(name: "verbose-up", line: "up old.store -m Steps -v --no-backup"),
    Case(name: "color", line: "status 'my notes.store' -m Losing --color always"),
    Case(name: "plain-status", line: "status 'my notes.store' -m Losing --plain"),
  ]

  private static let hasScript = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

  @Test(.enabled(if: hasScript, "there is no script"), arguments: cases)
  func `each screen equals its golden file`(_ screen: Case) async throws {
    let folder = try await CommandFolder().folder
    let key = screen.line.contains("--key-env") ? "" : " --key-env KEY"
    let line = "stty cols 100; \"$TOOL\" \(screen.line)\(key) --key-format hex --no-input"
    let result = try runTool(
      "/usr/bin/script", ["-qec", line, "/dev/null"],
      environment: [
        "KEY": Template.hex(Template.key), "WRONG": Template.hex(Template.newKey),
        // The golden files have no colours except where a line requests them, whatever terminal the tests
        // run in.
        "TOOL": builtExecutable("store-migrate"), "TERM": "dumb",
      ], directory: folder.url.path)
    #expect(result.status == Int32(screen.code), "\(result)")
    let text = normalized(Self.shown(result.output), folder: folder.url.path)
    let name = "screen-\(screen.name).txt"
    let difference = try Golden.difference(of: text, from: name, in: "StoreMigrateKitTests")
    #expect(difference == nil, "\(difference ?? "")")
  }

  @Test(.enabled(if: hasScript, "there is no script"))
  func `while steps run, a terminal shows the rate and the remaining time`() async throws {
    let folder = try await CommandFolder().folder
    let connection = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    try connection.executeScript(
      """
      INSERT INTO Note(text, createdAt) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700000)
        SELECT 'note ' || i, i FROM n
      """)
    connection.close()
    let steps = folder.url.appendingPathComponent("Steps")
    // A changed default makes both engines rebuild the table.
    for (number, value) in [(3, "a"), (4, "b")] {
      try Data("format: 1\nbackup: never\n[up]\nset default of Note.text to \"\(value)\"\n".utf8).write(
        to: steps.appendingPathComponent("000\(number)_text.migration"))
    }
    let result = try Self.run(
      "up old.store -m Steps --no-backup --key-env KEY --key-format hex --no-input", in: folder)
    #expect(result.status == 0, "\(result.output.suffix(400))")
    let frames = result.output.split { $0 == "\r" || $0.isNewline }
    #expect(
      frames.contains { $0.contains(#/^up \[#*\.+\] \d+ %  [\d,]+ rows\/s  \d+:\d\d left/#) }, "\(frames)")
    #expect(Self.shown(result.output).hasPrefix("up [####################] 100 %\n"))
  }

  @Test(.enabled(if: hasScript, "there is no script"), arguments: ["yes", "no", ""])
  func `before a loss a terminal shows the steps and prompts for confirmation`(_ answer: String) async throws
  {
    let folder = try await CommandFolder().folder
    let result = try Self.run(
      "up new.store -m Losing --no-backup --key-env KEY --key-format hex", in: folder, input: "\(answer)\n")
    #expect(result.status == (answer == "yes" ? 0 : 5), "\(result)")
    // The place of the typed answer on the screen depends on the terminal.
    let lines = Self.shown(result.output).split(separator: "\n").filter { $0 != answer }
    #expect(lines.prefix(2) == ["0003 step:", "  · drop attribute Author.city"])
    #expect(
      lines[2] == "The pending steps would permanently lose Author.city. Type yes to continue:", "\(result)")
  }

  @Test(
    .enabled(if: hasScript, "there is no script"),
    arguments: [("", true), ("NO_COLOR=1 ", false), ("TERM=dumb ", false)])
  func `a terminal shows colours unless NO_COLOR or TERM=dumb forbids them`(
    _ before: String, _ isColored: Bool
  ) async throws {
    let folder = try await CommandFolder().folder
    let result = try runTool(
      "/usr/bin/script",
      ["-qec", "\(before)\"$TOOL\" status new.store -m Steps --key-env KEY --key-format hex", "/dev/null"],
      environment: [
        "KEY": Template.hex(Template.key), "TOOL": builtExecutable("store-migrate"), "TERM": "xterm",
        "NO_COLOR": "",
      ], directory: folder.url.path)
    #expect(result.status == 0 && result.output.contains("\u{1B}[") == isColored, "\(result)")
    #expect(
      try runTool(
        builtExecutable("store-migrate"),
        ["status", "new.store", "-m", "Steps", "--key-env", "KEY", "--key-format", "hex"],
        environment: ["KEY": Template.hex(Template.key)], directory: folder.url.path
      ).output.contains("\u{1B}") == false)
  }

  @Test(.enabled(if: hasScript, "there is no script"), arguments: ["yes", "no", ""])
  func `baseline on a terminal prompts for confirmation of the rows that it omits`(_ answer: String)
    async throws
  {
    let folder = try await CommandFolder().folder
    let line =
      "baseline legacy.db made.store --to 1 -m Legacy --new-key-env KEY --new-key-format hex"
    let result = try Self.run(line, in: folder, input: "\(answer)\n")
    let isDone = answer == "yes"
    #expect(result.status == (isDone ? 0 : 5), "\(result)")
    #expect(result.output.contains("Type yes to continue:") && result.output.contains("kinds"), "\(result)")
    #expect(folder.names.contains("made.store") == isDone && !folder.names.contains { $0.contains(".new-") })
    #expect(isDone || result.output.contains("--allow lossy:kinds"))
  }

  /// Runs a line of the tool on a terminal with typed input.
  private static func run(_ line: String, in folder: TemporaryFolder, input: String = "") throws -> ToolResult
  {
    try runTool(
      "/usr/bin/script", ["-qec", "stty cols 100; \"$TOOL\" \(line)", "/dev/null"], input: input,
      environment: ["KEY": Template.hex(Template.key), "TOOL": builtExecutable("store-migrate")],
      directory: folder.url.path)
  }

  /// The final text of the screen: each bar overwrites the one before, from the beginning of its line.
  private static func shown(_ output: String) -> String {
    output.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let frames = line.split(separator: "\r")
      // Spaces that overwrite a longer text are invisible.
      return frames.last.map { String(String.UnicodeScalarView($0)).replacing(#/ +$/#, with: "") } ?? ""
    }.joined(separator: "\n")
  }
}
