// A step that does not fit the model before it: how far the other steps may run, and what is reported.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct UnfitSteps {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("Steps"), withIntermediateDirectories: false)
    try write("0001_a", text: "create entity A {\n attribute n int\n}")
    #expect(try run("create a.store").status == 0)
    try write("0002_b", text: "add attribute A.m int optional")
    // Step 0002 adds this attribute already.
    try write("0003_c", text: "add attribute A.m int optional")
    try write("0004_d", text: "add attribute A.o int optional")
  }

  private func write(_ name: String, text: String) throws {
    try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
      to: URL(fileURLWithPath: folder.path("Steps/\(name).migration")))
  }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + [
        "-m", "Steps", "--key-env", "KEY", "--key-format", "hex", "--no-input",
      ], environment: ["KEY": Template.hex(Template.key)], directory: folder.url.path)
  }

  private func version() throws -> Int {
    let inspection = try Inspection(path: folder.path("a.store"), key: .raw(Template.key))
    return try withExtendedLifetime(inspection) { try StoreInfo(inspection.connection).version }
  }

  @Test(arguments: ["--to 2", "--steps 1"])
  func `plan and up run as far as requested, whatever later steps contain`(_ words: String) throws {
    let plan = try run("up a.store \(words) --dry-run")
    #expect(plan.status == 0 && plan.output.contains("up a.store \(words)"), "\(plan)")
    let up = try run("up a.store \(words)")
    #expect(up.status == 0, "\(up)")
    #expect(try version() == 2)
  }

  @Test(arguments: ["plan a.store", "up a.store", "up a.store --to 3"])
  func `plan and up report the failing line, and change nothing`(_ line: String) throws {
    let result = try run(line)
    #expect(result.status == 1, "\(result)")
    #expect(
      result.errors.contains(
        "0003_c.migration:4 cannot run: add attribute A.m int optional: A.m already exists. "
          + "Nothing was changed."), "\(result)")
    #expect(result.errors.contains("    store-migrate check -m Steps"), "\(result)")
    #expect(!result.errors.contains("failed at"))
    #expect(try version() == 1)
  }

  @Test func `status reports the store as usual, and marks the step that cannot run`() throws {
    let status = try run("status a.store")
    #expect(status.status == 0, "\(status)")
    for text in [
      "version      1 of 4, 3 pending", "✓ applied", "0002  b  • pending", "0003  c  ✗ cannot run",
      "0004  d  • pending", "backup       unknown: 0003 cannot run",
      "warning      0003_c.migration:4 cannot run: ",
      "next:        store-migrate check -m Steps",
    ] { #expect(status.output.contains(text), "\(text): \(status.output)") }
    #expect(!status.output.contains("no pending step") && !status.output.contains("needs "), "\(status)")
    let json = try run("status a.store --json")
    #expect(
      json.status == 0 && json.output.contains("\"fault\":\"0003_c.migration:4 cannot run: "), "\(json)")
    #expect(try run("status a.store --exit-code").status == 2)
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `status --json predicts nothing of a run that cannot take place`() throws {
    // This step makes a backup, which needs disk space.
    try Data("format: 1\nbackup: always\n\n[up]\nadd attribute A.m int optional\n".utf8).write(
      to: URL(fileURLWithPath: folder.path("Steps/0002_b.migration")))
    func status(_ more: String...) throws -> ToolResult {
      try FaultInjector.run(
        builtExecutable("store-migrate"),
        ["status", folder.path("a.store"), "-m", folder.path("Steps"), "--key-env", "KEY"]
          + ["--key-format", "hex", "--no-input"] + more,
        environment: ["KEY": Template.hex(Template.key), "VAULT_FREE_BYTES": "20000"], in: folder.url.path
      ).result
    }
    func object() throws -> [String: Any] {
      let output = try status("--json").output
      #expect(try ReportSchema().faults(in: output) == [], "\(output)")
      return try #require(JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
    }
    let unknown = ["makesBackup", "backup", "neededBytes", "cost"]
    let unfit = try object()
    #expect(unknown.filter { unfit[$0] != nil } == [], "\(unfit)")
    #expect((unfit["version"] as? [String: Any])?["minimumReaderAfterwards"] == nil, "\(unfit)")
    #expect((unfit["warnings"] as? [String])?.contains { $0.contains("of disk") } == false, "\(unfit)")
    #expect(try !status().output.contains("of disk"))
    for step in ["0003_c", "0004_d"] {
      try FileManager.default.removeItem(atPath: folder.path("Steps/\(step).migration"))
    }
    let fit = try object()
    #expect(unknown.filter { fit[$0] == nil } == [], "\(fit)")
    #expect((fit["version"] as? [String: Any])?["minimumReaderAfterwards"] != nil, "\(fit)")
    #expect((fit["warnings"] as? [String])?.contains { $0.contains("of disk") } == true, "\(fit)")
  }

  @Test func `a foreign file is reported with the line that imports it`() throws {
    let plain = try runTool(
      "/usr/bin/env",
      ["python3", "-c", "import sqlite3; sqlite3.connect('p.db').execute('CREATE TABLE t(x)')"],
      directory: folder.url.path)
    try #require(plain.status == 0)
    _ = try Connection.create(folder.path("f.db"), key: .raw(Template.key)) {
      try $0.execute("CREATE TABLE t(x)")
    }
    for file in ["p.db", "f.db"] {
      for command in ["status", "plan", "up", "verify", "history"] {
        let result = try run("\(command) \(file)")
        let leadsOn = result.errors.contains("\n    store-migrate schema import \(file) ")
        #expect(result.status == 12 && leadsOn, "\(command): \(result)")
      }
    }
  }
}
