// Names of steps with characters that Swift, the lock file or a shell would interpret.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct StepNames {
  let folder: TemporaryFolder
  var steps: String { folder.path("Steps") }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    try write("0001_base", step: "create entity A {\n attribute n int\n}")
  }

  private func write(_ name: String, step: String) throws {
    try Data("format: 1\n\n[up]\n\(step)\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
  }

  private func run(_ words: String...) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"])
  }

  /// The value of a Swift literal; nil if the literal ends early or has an interpolation.
  private func meaning(_ literal: Substring) -> String? {
    var (text, rest) = ("", literal.dropFirst())
    while let character = rest.popFirst() {
      switch character {
      case "\"": return rest.isEmpty ? text : nil
      case "\\":
        switch rest.popFirst() {
        case "\\": text += "\\"
        case "\"": text += "\""
        case "u":
          let digits = rest.prefix { $0 != "}" }
          rest = rest.dropFirst(digits.count + 1)
          guard let scalar = UInt32(digits.dropFirst(), radix: 16).flatMap(Unicode.Scalar.init) else {
            return nil
          }
          text.unicodeScalars.append(scalar)
        default: return nil
        }
      default: text.append(character)
      }
    }
    return nil
  }

  @Test func `a name with quotes, backslashes and direction marks is exact in the embedded code`() throws {
    let names = [
      "add \"x\"", "a\\(n)", "a\\", "\\u{41}", "#\"", "陳\u{200F}大文", "a\u{7}", "a s1:b", "\\\"\"\"#",
    ]
    for (index, name) in names.enumerated() {
      try write(
        "\(String(10_002 + index).dropFirst())_\(name)", step: "add attribute A.a\(index) int optional")
    }
    let embedded = try run("embed", "--released", "1.0")
    #expect(embedded.status == 0, "\(embedded)")
    let text = try String(contentsOfFile: "\(steps)/Embedded.swift", encoding: .utf8)
    let found = text.split(separator: "\n").compactMap { line in
      line.firstRange(of: ", name: ").map { meaning(line[$0.upperBound...].dropLast()) }
    }
    #expect(found == ["base"] + names)
    let parsed = try runTool("/usr/bin/env", ["swiftc", "-frontend", "-parse", "\(steps)/Embedded.swift"])
    #expect(parsed.status == 0, "\(parsed)")
    // The code still has the names if the lock file lacks a line.
    #expect(try run("check").status == 0)
    let lock = "\(steps)/migrations.lock"
    let lines = try String(contentsOfFile: lock, encoding: .utf8).split(separator: "\n").dropLast(2)
    try Data(lines.map { "\($0)\n" }.joined().utf8).write(to: URL(fileURLWithPath: lock))
    let cut = try run("embed")
    #expect(cut.status == 1 && cut.errors.contains("the line of step 0010 is missing"), "\(cut)")
  }

  @Test(arguments: ["a\nb", "a\u{2028}b", "a\u{85}b"])
  func `a step name with a line break is refused before it breaks the lock file`(_ name: String) throws {
    try write("0002_\(name)", step: "add attribute A.b int optional")
    let refused = try run("embed")
    #expect(
      refused.status == 1 && refused.errors.contains("its name cannot be the name of a file"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: "\(steps)/migrations.lock"))
  }

  @Test func `a released step with a space in its name is not reported for a change of another`() throws {
    try write("0002_add town", step: "add attribute A.town string optional")
    #expect(try run("embed", "--released", "1.0").status == 0)
    try write("0003_more", step: "add attribute A.more int optional")
    let stale = try run("check")
    #expect(stale.status == 2 && stale.output.contains("does not match the steps"), "\(stale)")
    #expect(!stale.output.contains("0002") && stale.output.contains("store-migrate embed"), "\(stale)")
    try write("0002_add town", step: "add attribute A.town string")
    #expect(try run("check").output.contains("0002_add town.migration was edited after it was released"))
  }

  @Test func `a step in the place of a released one is reported with both names`() throws {
    try write("0002_mine", step: "add attribute A.mine int optional")
    #expect(try run("embed", "--released", "1.0").status == 0)
    try FileManager.default.moveItem(
      atPath: "\(steps)/0002_mine.migration", toPath: "\(steps)/0003_mine.migration")
    try write("0002_theirs", step: "add attribute A.theirs int optional")
    let check = try run("check")
    #expect(
      check.status == 2
        && check.output.contains(
          "0002 was released with 1.0 as mine, but is now theirs. Give 0003_mine.migration that number again, "
            + "and rebase 0002_theirs.migration after it."
        ),
      "\(check)")
    #expect(!check.output.contains("edited"), "\(check)")
    // The suggestion, carried out.
    try FileManager.default.moveItem(
      atPath: "\(steps)/0003_mine.migration", toPath: "\(steps)/0002_mine.migration")
    #expect(try run("rebase", "0002_theirs.migration").status == 0)
    #expect(try run("check").status == 0)
  }
}
