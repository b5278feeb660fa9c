// The tool on a store that an older version of the library wrote.

import Foundation
import TestSupport
import Testing

@Suite struct FormatCommands {
  @Test func `a store of the former format is planned, verified and brought to the present one`() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("notes.store")
    let migrations = packageRoot.appendingPathComponent("Migrations").path
    try FileManager.default.copyItem(
      at: packageRoot.appendingPathComponent("Tests/Fixtures/stores/format-1/microblog.sqlcipher"), to: url)
    let key = String(repeating: "5a", count: 32)
    func tool(_ words: String...) throws -> ToolResult {
      try runTool(
        builtExecutable("store-migrate"),
        words + [url.path, "-m", migrations, "--key-format", "hex", "--no-input"],
        environment: ["STORE_MIGRATE_KEY": key])
    }
    #expect(try tool("verify").status == 0)
    #expect(try tool("plan").output.contains("names of their own first"))
    let up = try tool("up")
    #expect(up.status == 0 && up.output.contains("names of their own now"), "\(up.errors)")
    #expect(try tool("verify").status == 0)
    #expect(try tool("up").output.contains("Nothing to do"))
  }
}
