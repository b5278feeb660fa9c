// The tool on the stores that releases have written: it looks into all of them, the oldest format among them, and changes
// none while it looks.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FixtureCommands {
  let folder: TemporaryFolder
  let store: String

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("old.store")
  }

  private func take(_ fixture: String) throws {
    try FileManager.default.copyItem(
      atPath: packageRoot.appendingPathComponent("Tests/Fixtures/stores/\(fixture)").path, toPath: store)
  }

  private func run(_ words: String..., key: String = "an old brush") throws -> ToolResult {
    let form = key == "an old brush" ? [] : ["--key-format", "hex"]
    return try runTool(
      builtExecutable("store-migrate"), [words[0], store] + words.dropFirst() + form + ["--no-input"],
      environment: ["STORE_MIGRATE_KEY": key])
  }

  @Test(arguments: [3, 4].filter { $0 <= Engine.current.cipherMajor })
  func `each look finds what was in a store of this release`(_ major: Int) throws {
    try take("0.1.0/sqlcipher\(major).sqlcipher")
    let before = try folder.bytes("old.store")
    let steps = packageRoot.appendingPathComponent("Tests/Fixtures/stores/0.1.0/Steps").path
    #expect(try run("status", "-m", steps, "--exit-code").output.contains("version      2 of 2"))
    #expect(try run("verify", "-m", steps).status == 0)
    let rows = try run("fetch", "Painting", "--columns", "id,painter.name,int,note", "--format", "csv")
    #expect(
      rows.output
        == "id,painter.name,int,note\r\n1,吳道子,\(Int.min),first\r\n2,\"Zoë 'the' \"\"brush\"\"\",0,\r\n",
      "\(rows)")
    #expect(try run("count", "Painting", "--where", "ANY motifs.name == 'horse'").output == "2\n")
    #expect(try folder.bytes("old.store") == before && folder.names == ["old.store"])
    #expect(try run("up", "-m", steps).output.contains("Nothing to do"))
  }

  @Test(.enabled(if: Engine.current.cipherMajor == 3, "SQLCipher 4 reads both"))
  func `a store of a newer engine is not opened, and told from a wrong key`() throws {
    try take("0.1.0/sqlcipher4.sqlcipher")
    for command in ["info", "fetch", "count"] {
      let result = try command == "info" ? run("info") : run(command, "Painting")
      #expect(result.status == 12 && result.errors.contains("the key fits, but"), "\(result)")
    }
    #expect(folder.names == ["old.store"])
  }

  @Test func `a store of format 1 is looked into without a change of its format`() throws {
    try take("format-1/microblog.sqlcipher")
    let before = try folder.bytes("old.store")
    let key = String(repeating: "5a", count: 32)
    let statuses = try run("fetch", "Status", "--columns", "id,user.name", "--format", "csv", key: key)
    #expect(statuses.output == "id,user.name\r\n1,Ann\r\n2,Ann\r\n3,Ann\r\n", "\(statuses)")
    // Through the links, whose columns were called otherwise; from both ends.
    for (condition, ids) in [
      ("ANY tags.name == 'y'", "1\r\n3"), ("NONE tags.name == 'y'", "2"), ("tags.@count == 2", "1"),
    ] {
      let found = try run(
        "fetch", "Status", "--where", condition, "--columns", "id", "--format", "csv", key: key)
      #expect(found.output == "id\r\n\(ids)\r\n", "\(condition): \(found)")
    }
    #expect(try run("count", "Tag", "--where", "statuses.@count == 2", key: key).output == "1\n")
    #expect(try folder.bytes("old.store") == before && folder.names == ["old.store"])
  }

  @Test func `a store of a later format is not looked into, and the message says why`() throws {
    try take("format-1/microblog.sqlcipher")
    do {
      let connection = try Connection.open(store, key: testKey)
      try connection.execute("INSERT OR REPLACE INTO vault_meta(key, value) VALUES ('format', 3)")
      connection.close()
    }
    let result = try run("fetch", "Status", key: String(repeating: "5a", count: 32))
    #expect(result.status == 4 && result.errors.contains("Update the program"), "\(result)")
  }
}
