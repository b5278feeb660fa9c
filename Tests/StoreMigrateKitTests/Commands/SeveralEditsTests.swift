// Several steps that were edited after they ran: all of them are reported, with the line that records them.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.processes)) struct SeveralEdits {
  let folder: TemporaryFolder
  static let steps = [
    "create entity Note {\n attribute text string\n}",
    "add attribute Note.rank int optional\nadd attribute Note.town string optional",
    "add attribute Note.a int optional\nadd attribute Note.b int optional",
    "add attribute Note.c int optional",
  ]

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Migrations"), withIntermediateDirectories: false)
    for (index, step) in Self.steps.enumerated() { try write(index + 1, step) }
    #expect(try run("create s.store").status == 0)
  }

  private func write(_ number: Int, _ step: String) throws {
    try folder.write(Data("format: 1\n[up]\n\(step)\n".utf8), to: "Migrations/000\(number)_s.migration")
  }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + ["--key-format", "hex", "--no-input"],
      environment: ["STORE_MIGRATE_KEY": String(repeating: "5a", count: 32)], directory: folder.url.path)
  }

  private func edit(_ number: Int) throws {
    try write(number, Self.steps[number - 1].split(separator: "\n").reversed().joined(separator: "\n"))
  }

  @Test func `all edited steps are reported, with one line that records them`() throws {
    try edit(2)
    try edit(3)
    for line in ["status s.store", "up s.store", "plan s.store"] {
      let result = try run(line)
      #expect(
        result.status == 3 && result.errors.contains("0002 s was edited") && result.errors.contains("0003 s")
          && result.errors.contains("repair s.store 0002 0003"), "\(result)")
    }
    for (given, other) in [("2", "0003"), ("3", "0002")] {
      let result = try run("repair s.store \(given) -y")
      #expect(
        result.status == 3 && result.errors.contains("\(other) s was edited after it was applied, too")
          && result.errors.contains("store-migrate repair s.store 0002 0003"), "\(result)")
    }
    #expect(try run("repair s.store 0002 0003 -y").status == 0)
    #expect(try run("status s.store").status == 0)
  }

  @Test func `a single edited step is reported alone`() throws {
    try edit(3)
    let result = try run("status s.store")
    #expect(result.errors.contains("repair s.store 0003 --key-format"), "\(result)")
    #expect(!result.errors.contains(", too"), "\(result)")
  }
}
