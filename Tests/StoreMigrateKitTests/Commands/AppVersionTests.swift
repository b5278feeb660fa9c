// The version of the app in histories: the app's own tool states it where no bundle does.

import Foundation
import TestSupport
import Testing

@Suite struct AppVersions {
  @Test(arguments: [("4.2", "microblog-migrate 4.2"), (nil, "microblog-migrate")])
  func `history shows the version of the app whose tool ran the steps`(_ version: String?, _ app: String)
    throws
  {
    let folder = try TemporaryFolder()
    var environment = ["KEY": Template.hex(Template.key)]
    environment["MICROBLOG_VERSION"] = version
    func run(_ tool: String, _ words: String...) throws -> ToolResult {
      try runTool(
        builtExecutable(tool), words + ["--key-env", "KEY", "--key-format", "hex", "--no-input"],
        environment: environment, directory: folder.url.path)
    }
    #expect(try run("microblog-migrate", "create", "a.store").status == 0)
    let history = try run("store-migrate", "history", "a.store")
    let lines = history.output.split(separator: "\n").filter { $0.contains("created") }
    #expect(!lines.isEmpty && lines.allSatisfy { $0.hasSuffix("  \(app)") }, "\(history)")
  }
}
