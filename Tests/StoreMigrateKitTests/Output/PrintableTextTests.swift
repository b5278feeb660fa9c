// Texts in a file with control characters, such as the name of a step that was changed: no command prints
// them unchanged.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PrintableTexts {
  @Test func `control characters in a file do not reach the terminal`() async throws {
    let folder = try TemporaryFolder()
    let (path, steps, key) = (
      folder.path("a.store"), folder.path("Steps"), String(repeating: "5a", count: 32)
    )
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    try Data("format: 1\n\n[up]\ncreate entity A {\n attribute n int\n}\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/0001_a.migration"))
    try await Store.create(
      at: URL(fileURLWithPath: path), key: testKey, migrations: .directory(URL(fileURLWithPath: steps)))
    let connection = try Connection.open(path, key: testKey)
    try connection.execute(
      "UPDATE vault_migrations SET name = 'a' || char(27) || ']0;title' || char(7) || char(8238) || 'b' WHERE version = 1"
    )
    try connection.execute("CREATE TABLE \"t\u{1B}[2J\" (a)")
    connection.close()
    for words in [["history"], ["verify"], ["status"], ["plan"], ["down", "--to", "0"]] {
      let result = try runTool(
        builtExecutable("store-migrate"),
        [words[0], path] + words.dropFirst() + (words[0] == "history" ? [] : ["-m", steps])
          + ["--no-input", "--key-env", "K", "--key-format", "hex"],
        environment: ["K": key])
      let text = result.output + result.errors
      #expect(!text.unicodeScalars.contains { [0x1B, 0x07, 0x202E].contains($0.value) }, "\(words): \(text)")
      if words[0] == "history" || words[0] == "verify" {
        #expect(text.contains("\\u{1B}"), "\(words): \(text)")
      }
    }
    let json = try runTool(
      builtExecutable("store-migrate"),
      ["history", path, "--json", "--no-input", "--key-env", "K", "--key-format", "hex"],
      environment: ["K": key]
    ).output
    #expect(
      json.contains("]0;title") && !json.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
    let read = try JSONSerialization.jsonObject(with: Data(json.utf8))
    #expect("\(read)".contains("\u{202E}"))
  }

  @Test func `a very long text of a step is cut on screens, and whole in JSON`() async throws {
    let folder = try TemporaryFolder()
    let (path, steps) = (folder.path("a.store"), folder.path("Steps"))
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    func write(_ name: String, text: String) throws {
      try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
        to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
    }
    let long = String(repeating: "words and more of them ", count: 5000)
    try write("0001_a", text: "create entity A {\n attribute n int\n}")
    try await Store.create(
      at: URL(fileURLWithPath: path), key: testKey, migrations: .directory(URL(fileURLWithPath: steps)))
    try write(
      "0002_b",
      text:
        "require \"\(long)\" { SELECT 1 }\nretype A.n to string using (trim('\(long)'))\ndrop attribute A.n\n[down]\nirreversible \"\(long)\""
    )
    for words in [["status", path], ["plan", path], ["lint"]] {
      func run(_ more: String...) throws -> String {
        let result = try runTool(
          builtExecutable("store-migrate"),
          words + ["-m", steps, "--no-input"]
            + (words[0] == "lint" ? [] : ["--key-env", "K", "--key-format", "hex"])
            + more, environment: ["K": String(repeating: "5a", count: 32)])
        #expect(!result.output.isEmpty, "\(result)")
        return result.output
      }
      let shown = try run()
      #expect(
        shown.utf8.count < 20_000 && shown.contains("words and more of them"), "\(words) \(shown.utf8.count)")
      if words[0] != "lint" { #expect(try run("--json").utf8.count > 100_000) }
    }
  }

  @Test func `a printed line for a path with control characters creates that file when pasted`() throws {
    let folder = try TemporaryFolder()
    let (name, steps) = ("e\u{1B}[31mz\u{202E}'s.store", folder.path("Steps"))
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    try Data("format: 1\n\n[up]\ncreate entity A {\n attribute n int\n}\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/0001_a.migration"))
    let tool = URL(fileURLWithPath: builtExecutable("store-migrate"))
    let absent = try runTool(
      tool.path, ["status", name, "-m", "Steps", "--key-env", "K", "--no-input"], environment: ["K": "horse"],
      directory: folder.url.path)
    #expect(absent.status == 10 && !absent.errors.contains("\u{1B}"), "\(absent)")
    let line = try #require(
      absent.errors.split(separator: "\n").first { $0.contains("store-migrate create") })
    let made = try runTool(
      "/bin/bash", ["-c", "PATH='\(tool.deletingLastPathComponent().path)':$PATH\n\(line)"],
      environment: ["K": "horse"], directory: folder.url.path)
    #expect(made.status == 0, "\(line) \(made)")
    #expect(folder.names == ["Steps", name])
  }
}
