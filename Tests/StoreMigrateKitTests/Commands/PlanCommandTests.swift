// plan, verify and check by their findings: rows that a step would reject, damaged bookkeeping tables, and
// steps that do not compile.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PlanCommands {
  let folder: TemporaryFolder
  let url: URL
  static let hex = String(repeating: "5a", count: 32)
  static let first = "create entity Thing {\n attribute name string\n attribute age int default 1\n}"
  static let second = "add attribute Thing.more string optional"

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("notes.store")
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Steps"), withIntermediateDirectories: false)
  }

  private func write(_ steps: [String]) throws -> MigrationSet {
    for (index, step) in steps.enumerated() {
      try folder.write(Data("format: 1\n[up]\n\(step)\n".utf8), to: "Steps/000\(index + 1)_s.migration")
    }
    return try .directory(folder.url.appendingPathComponent("Steps"))
  }

  private func run(_ command: String, _ more: String...) throws -> ToolResult {
    let store = command == "check" ? [] : [url.path, "--key-format", "hex"]
    return try runTool(
      builtExecutable("store-migrate"),
      [command] + store + (command == "info" ? [] : ["-m", folder.path("Steps")]) + ["--no-input"] + more,
      environment: ["STORE_MIGRATE_KEY": Self.hex])
  }

  @Test func `plan counts the rows that up would reject, and both exit with 5`() async throws {
    let set = try write([Self.first, "add index Thing(name) unique"])
    try await Store.create(at: url, key: testKey, migrations: MigrationSet([set.steps[0]]))
    let connection = try Connection.open(url.path, key: testKey)
    try connection.execute("INSERT INTO Thing(id, name) VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    connection.close()
    let before = try folder.bytes("notes.store")
    let text = try run("plan")
    #expect(text.status == 5 && text.errors.isEmpty, "\(text.errors)")
    #expect(
      text.output.contains(
        "REFUSED add index Thing(name) unique: 1 value of Thing(name) occurs more than once, but must be "
          + "unique (row 3). First make all values differ"
      ))
    #expect(text.output.contains("Nothing was written."))
    let json = try #require(
      try JSONSerialization.jsonObject(with: Data(run("plan", "--json").output.utf8)) as? [String: Any])
    let steps = try #require(json["steps"] as? [[String: Any]])
    let refusal = try #require((steps[0]["refusals"] as? [[String: Any]])?.first)
    #expect(
      refusal["count"] as? Int == 1 && refusal["rows"] as? [Int] == [3]
        && refusal["rule"] as? String == "unique")
    #expect(json["exit"] as? Int == 5)
    #expect(try folder.bytes("notes.store") == before && folder.names.sorted() == ["Steps", "notes.store"])
    let up = try run("up")
    #expect(up.status == 5 && up.errors.contains("occurs more than once"), "\(up)")
  }

  static let damages: [(sql: String, word: String)] = [
    ("UPDATE vault_meta SET value = -1 WHERE key = 'version'", "row version"),
    ("UPDATE vault_meta SET value = 9223372036854775807 WHERE key = 'generation'", "row generation"),
    ("UPDATE vault_meta SET value = 1 WHERE key = 'version'", "vault_migrations, row 2"),
    ("UPDATE vault_migrations SET version = 0 WHERE version = 1", "vault_migrations, row 0"),
    ("UPDATE vault_meta SET value = '{' WHERE key = 'modelJSON'", "row modelJSON"),
    ("DELETE FROM vault_migrations", "vault_migrations, row 1"),
    ("DROP TABLE vault_ids", "vault_ids is missing"),
  ]

  @Test(arguments: damages.indices)
  func `damage in the bookkeeping tables is reported by every command`(_ index: Int) async throws {
    let set = try write([Self.first, Self.second])
    try await Store.create(at: url, key: testKey, migrations: set)
    let connection = try Connection.open(url.path, key: testKey)
    try connection.execute(sql: Self.damages[index].sql)
    connection.close()
    for command in ["status", "plan", "up", "verify"] {
      let result = try run(command)
      let expected: Int32 = command == "verify" ? 2 : 1
      #expect(result.status == expected, "\(command): \(result)")
      #expect((result.output + result.errors).contains(Self.damages[index].word), "\(command): \(result)")
    }
    let info = try run("info")
    #expect(info.status == 0 && info.output.contains(Self.damages[index].word), "\(info)")
  }

  @Test func `check names steps that do not compile`() throws {
    _ = try write([
      "create entity A {\n relationship bs -> B many inverse B.as\n}\ncreate entity B {\n relationship as -> A many inverse A.bs\n}",
      "transform sql { DELETE FROM $A.bs WHERE $A.bs.C = 1 }",
      "transform sql { DELETE FROM $C }",
    ])
    let result = try run("check")
    #expect(result.status == 2)
    #expect(
      result.output.contains(
        "0002_s.migration:3, \"transform sql\": $A.bs.C is not a column of the links"))
    #expect(result.output.contains("$A.bs.A and $A.bs.B") && result.output.contains("0003_s.migration"))
  }
}
