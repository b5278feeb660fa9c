// schema import, a second time: what the first one wrote is replaced while it is as it was.

import Foundation
import StoreMigrateKit
import TestSupport
import Testing

@Suite struct SchemaImports {
  let folder: TemporaryFolder

  init() async throws { folder = try await CommandFolder().folder }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), line.split(separator: " ").map(String.init) + ["--no-input"],
      environment: ["NEW_KEY": "correct horse"], directory: folder.url.path)
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOf: folder.url.appendingPathComponent(name), encoding: .utf8)
  }

  private static let line = "schema import coredata.db -m Taken"

  @Test func `what an import wrote and nobody touched is replaced by the next one`() throws {
    #expect(try run(Self.line).status == 0)
    let (step, classes) = (try text("Taken/0001_adopted.migration"), try text("Adopted.swift"))
    #expect(step.contains("relationship person -> Person") && classes.contains("@ToOne"))
    // The hint of the first run, followed.
    let second = try run(Self.line + " --to-one Note.person=")
    #expect(second.status == 0, "\(second)")
    #expect(try text("Taken/0001_adopted.migration").contains("attribute person int"))
    #expect(try text("Adopted.swift") != classes)
    // And back again, byte by byte.
    #expect(try run(Self.line).status == 0)
    #expect(try text("Taken/0001_adopted.migration") == step && text("Adopted.swift") == classes)
    let adopted = try run("baseline coredata.db adopted.store -m Taken --to 1 --new-key-env NEW_KEY")
    #expect(adopted.status == 0, "\(adopted)")
  }

  @Test(arguments: ["Taken/0001_adopted.migration", "Adopted.swift"])
  func `what was changed since is kept, and the line to remove it is printed`(_ name: String) throws {
    #expect(try run(Self.line).status == 0)
    let edited = try text(name) + "\n# mine\n"
    try folder.write(Data(edited.utf8), to: name)
    let refused = try run(Self.line)
    #expect(refused.status == 1 && refused.errors.contains("Nothing was written"), "\(refused)")
    #expect(try text(name) == edited)
    let line = try #require(refused.errors.split(separator: "\n").first { $0.hasPrefix("  rm ") })
    #expect(try runTool("/bin/sh", ["-c", String(line)]).status == 0)
    #expect(try run(Self.line).status == 0)
  }

  @Test func `a step that people have, and one beside it, are not replaced`() throws {
    #expect(try run(Self.line).status == 0)
    #expect(try run("new more -m Taken").status == 0)
    let beside = try run(Self.line)
    #expect(
      beside.status == 1 && beside.errors.contains("Taken has 0001_adopted.migration already"), "\(beside)")
    try FileManager.default.removeItem(at: folder.url.appendingPathComponent("Taken/0002_more.migration"))
    #expect(try run("embed -m Taken").status == 0 && run(Self.line).status == 0)
    #expect(try run("embed -m Taken --released 1.0").status == 0)
    let released = try run(Self.line)
    #expect(released.status == 1 && released.errors.contains("people have it"), "\(released)")
  }
}
