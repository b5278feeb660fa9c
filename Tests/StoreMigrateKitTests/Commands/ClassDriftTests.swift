// check of an app's own tool when the classes differ from the steps: the lines, their losses, and what is in
// doubt.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure)) struct ClassDrifts {
  @Test func `check reports a possible renaming beside the loss of its lines`() throws {
    let folder = try TemporaryFolder()
    func run(_ words: String..., version: Int) throws -> ToolResult {
      try runTool(
        builtExecutable("notes-migrate"), words + ["--no-input"],
        environment: ["NOTES_VERSION": "\(version)"],
        directory: folder.url.path)
    }
    try FileManager.default.createDirectory(
      atPath: folder.path("Migrations"), withIntermediateDirectories: false)
    try #require(run("new", "initial", "--from-model", version: 1).status == 0)
    try #require(run("embed", version: 1).status == 0)
    #expect(try run("check", version: 1).status == 0)
    let check = try run("check", version: 2)
    #expect(check.status == 2, "\(check)")
    #expect(check.output.contains("\n  LOSES Note.body\n"), "\(check)")
    #expect(
      check.output.contains("\n  May be a renaming: --rename Note.body=text, or --no-rename Note.body"),
      "\(check)")
    // One finding, and not one for each line.
    let json = try run("check", "--json", version: 2)
    let report = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    #expect((report?["findings"] as? [String])?.count == 1, "\(json)")
  }
}
