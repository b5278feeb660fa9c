// Unusual contents of a command line, a history or a folder.

import CipherSQLite
import Foundation
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.slow)) struct ToolSurprises {
  let folder: TemporaryFolder

  init() async throws { folder = try await CommandFolder().folder }

  private func run(_ words: [String]) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      words + ["--no-input"] + (words[0] == "check" ? [] : ["--key-format", "hex"]),
      environment: ["STORE_MIGRATE_KEY": Template.hex(Template.key)], directory: folder.url.path)
  }

  private func look(_ line: String) throws -> ToolResult {
    try run(line.split(separator: " ").map(String.init))
  }

  @Test func `an option value that equals a command name is taken as a value`() throws {
    try FileManager.default.moveItem(
      at: folder.url.appendingPathComponent("Steps"), to: folder.url.appendingPathComponent("migrate"))
    let result = try look("-m migrate migrate old.store")
    #expect(result.status == 0 && result.output.contains("version 2"), "\(result)")
  }

  @Test func `a dry run checks its arguments like the run`() throws {
    let (run, dry) = (
      try look("down new.store -m Steps --to 9"), try look("down new.store -m Steps --to 9 --dry-run")
    )
    #expect(run.status == 64 && dry.status == 64 && run.errors == dry.errors, "\(dry)")
  }

  @Test func `a history with impossible durations is shown`() throws {
    for milliseconds in [Int.max, Int.min, -3, 14] {
      let connection = try Connection.open(folder.path("new.store"), key: .raw(Template.key))
      try connection.execute("UPDATE vault_migrations SET ms = \(milliseconds) WHERE version = 1")
      connection.close()
      for line in ["status new.store -m Steps", "history new.store"] {
        let result = try look(line)
        #expect(result.status == 0, "\(result)")
      }
    }
    #expect(try look("status new.store -m Steps").output.contains(" 0.01 s"))
  }

  @Test(arguments: ["--plain", "--color always"])
  func `--plain and colours do not change file names`(_ look: String) throws {
    let name = "✓ a·b… warning.store"
    try FileManager.default.copyItem(atPath: folder.path("old.store"), toPath: folder.path(name))
    let result = try run(["status", name, "-m", "Losing"] + look.split(separator: " ").map(String.init))
    let next = try #require(result.output.split(separator: "\n").first { $0.contains("store-migrate plan") })
    #expect(result.status == 0 && next.contains("'\(name)'"), "\(result)")
  }

  @Test func `an invalid pending step does not prevent status, verify and history`() throws {
    try Data("format: 1\n[up]\ntransform sql { UPDATE $Note SET nosuch = 1 }\n".utf8).write(
      to: folder.url.appendingPathComponent("Steps/0003_wrong.migration"))
    for line in ["status new.store -m Steps", "verify new.store -m Steps", "history new.store"] {
      let result = try look(line)
      #expect(result.status == 0, "\(line): \(result)")
    }
    for line in ["plan new.store -m Steps", "check -m Steps"] {
      let result = try look(line)
      #expect(result.status != 0 && (result.output + result.errors).contains("nosuch"), "\(line): \(result)")
    }
  }

  @Test func `a long wait for another process's migration is not reported again and again`() throws {
    let other = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    try other.execute("BEGIN EXCLUSIVE")
    let mark = try #require(MigrationMark(try DatabasePath(folder.path("old.store")).path))
    let tool = try StartedTool(
      builtExecutable("store-migrate"),
      ["up", "old.store", "-m", "Steps", "--key-format", "hex", "--no-input"], input: "",
      environment: ["STORE_MIGRATE_KEY": Template.hex(Template.key)], directory: folder.url.path)
    #expect(try tool.says("Another process is migrating"))
    // The tool checks again twice a second.
    Thread.sleep(forTimeInterval: 2)
    withExtendedLifetime(mark) {}
    try other.execute("COMMIT")
    other.close()
    let result = try tool.end()
    #expect(result.errors.components(separatedBy: "Another process is migrating").count <= 3, "\(result)")
  }
}
