// The tool with stores that releases have written: it reads all of them, also of the oldest format, and
// changes none by reading.

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
  func `every reading command finds the content of a store of the first release`(_ major: Int) throws {
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
  func `a store of a newer engine is refused, and not reported as a wrong key`() throws {
    try take("0.1.0/sqlcipher4.sqlcipher")
    for command in ["info", "fetch", "count"] {
      let result = try command == "info" ? run("info") : run(command, "Painting")
      #expect(result.status == 12 && result.errors.contains("the key is right, but"), "\(result)")
    }
    #expect(folder.names == ["old.store"])
  }

  @Test(arguments: [(2, 1, "Export the rows"), (5, 4, "Update the program")])
  func `a store of another format is refused with a message that names the remedy`(
    _ format: Int, _ status: Int32, _ remedy: String
  ) throws {
    try take("0.1.0/sqlcipher3.sqlcipher")
    do {
      let connection = try Connection.open(store, key: .passphrase("an old brush"))
      try connection.execute("INSERT OR REPLACE INTO vault_meta(key, value) VALUES ('format', \(format))")
      connection.close()
    }
    for words in [["fetch", "Painting"], ["count", "Painting"], ["verify"]] {
      let result = words.count > 1 ? try run(words[0], words[1]) : try run(words[0])
      #expect(result.status == status && result.errors.contains(remedy), "\(words): \(result)")
    }
  }
}
