// A tool whose built-in steps cannot be read: it reports them where it needs them, and can still write them
// anew.

import Foundation
import TestSupport
import Testing

@Suite struct BundledStepsOfTools {
  private func run(_ step: String, _ words: [String], in folder: TemporaryFolder) throws -> ToolResult {
    try runTool(
      builtExecutable("microblog-migrate"), words + ["--no-input"],
      environment: ["MICROBLOG_STEP_7": step, "STORE_MIGRATE_KEY": "x"], directory: folder.url.path)
  }

  @Test(arguments: ["format: 1\n[up]\nadd atribute User.x int\n", "format: 1\n[up]\n"])
  func `built-in steps that cannot be read are reported, and not taken for no steps`(_ step: String) throws {
    for words in [["sql"], ["lint"], ["create", "new.store"]] {
      let folder = try TemporaryFolder()
      let result = try run(step, words, in: folder)
      #expect(result.status == 1 && result.output.isEmpty, "\(result)")
      for word in ["this tool was built with", "0007", "microblog-migrate embed"] {
        #expect(result.errors.contains(word), "\(result)")
      }
      #expect(folder.names.isEmpty)
    }
  }

  @Test func `a tool whose built-in steps cannot be read still embeds those of a folder`() throws {
    let folder = try TemporaryFolder()
    let steps = folder.url.appendingPathComponent("Migrations")
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: false)
    try Data("format: 1\nname: initial\n[up]\ncreate entity A {\n attribute n int\n}\n".utf8).write(
      to: steps.appendingPathComponent("0001_initial.migration"))
    for words in [["embed"], ["sql", "-m", "Migrations"]] {
      let result = try run("nothing", words, in: folder)
      #expect(result.status == 0, "\(words): \(result)")
    }
  }
}
