// The plan with --tx step of steps that were folded into one: they run in one transaction, as in the run.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FoldedPlans {
  private let folder: TemporaryFolder

  /// Creates a store that has run five steps, of which the first four are then folded into one.
  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("Steps"), withIntermediateDirectories: false)
    let steps = [
      "create entity Thing {\n attribute name string\n}", "make Thing.name optional",
      "add attribute Thing.a int optional", "add attribute Thing.b int optional",
      "add attribute Thing.c int optional",
    ]
    for (index, step) in steps.enumerated() {
      try folder.write(Data("format: 1\n[up]\n\(step)\n".utf8), to: "Steps/000\(index + 1)_s.migration")
    }
    #expect(try run("create s.store").status == 0)
    let squash = try runTool(
      builtExecutable("store-migrate"), ["squash", "--to", "4", "-m", "Steps"], directory: folder.url.path)
    #expect(squash.status == 0, "\(squash)")
  }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + [
        "-m", "Steps", "--key-env", "KEY", "--key-format", "hex", "--no-input",
      ], environment: ["KEY": Template.hex(Template.key)], directory: folder.url.path)
  }

  /// The version of the store, read from the engine.
  private func version() throws -> Int {
    let connection = try Connection.open(folder.path("s.store"), key: .raw(Template.key))
    defer { connection.close() }
    return try connection.userVersion()
  }

  @Test func `plan --tx step reports folded steps as one transaction down, and down runs them so`() throws {
    // A row without a name is rejected by the model before the second step.
    let connection = try Connection.open(folder.path("s.store"), key: .raw(Template.key))
    try connection.execute("INSERT INTO Thing(id, name) VALUES (1, NULL)")
    connection.close()
    let plan = try run("plan s.store --to 0 --tx step")
    #expect(plan.status == 5, "\(plan)")
    #expect(
      plan.output.contains(
        "5 steps to roll back, each in its own transaction, but 0004 to 0001 together, from version 5"),
      "\(plan)")
    #expect(
      plan.output.contains("`down` would stop at 0002 s, with the steps before 0004 s rolled back."),
      "\(plan)")
    #expect(try run("down s.store --to 0 --tx step --yes --no-backup").status == 5)
    #expect(try version() == 4)
    // Only the folded steps are left.
    let rest = try run("plan s.store --to 0 --tx step")
    #expect(
      rest.status == 5 && rest.output.contains("4 steps to roll back in one transaction, from version 4")
        && rest.output.contains("`down` would fail, and the store would not change."), "\(rest)")
    #expect(try run("down s.store --to 0 --tx step --yes --no-backup").status == 5)
    #expect(try version() == 4)
  }

  @Test func `plan --tx step reports folded steps as one transaction up, and up runs them so`() throws {
    #expect(try run("down s.store --to 0 --yes --no-backup").status == 0)
    let plan = try run("plan s.store --tx step")
    #expect(
      plan.status == 0
        && plan.output.contains("each in its own transaction, but 0001 to 0004 together, from version 0 to 5"),
      "\(plan)")
    #expect(try run("up s.store --tx step").status == 0)
    #expect(try version() == 5)
  }
}
