// plan --rehearse: it exits as `up` would, prints what `up` would, and leaves no temporary files, however it
// ends.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct RehearsalCommands {
  let folder: TemporaryFolder
  private var temporary: String { folder.path("tmp") }
  static let steps = [
    "create entity Thing {\n attribute name string\n attribute size int default 1\n}",
    "transform sql { UPDATE $Thing SET $Thing.size = length($Thing.name) }",
    "add index Thing(size) unique",
  ]

  init() async throws {
    folder = try TemporaryFolder()
    for name in ["Migrations", "tmp"] {
      try FileManager.default.createDirectory(
        at: folder.url.appendingPathComponent(name), withIntermediateDirectories: false)
    }
    for (index, step) in Self.steps.enumerated() { try write(step, as: index + 1) }
    let set = try MigrationSet.directory(folder.url.appendingPathComponent("Migrations"))
    try await Store.create(
      at: folder.url.appendingPathComponent("s.store"), key: testKey, migrations: MigrationSet([set.steps[0]])
    )
  }

  private func write(_ step: String, as number: Int) throws {
    try folder.write(
      Data("format: 1\n[up]\n\(step)\n".utf8), to: "Migrations/000\(number)_s\(number).migration")
  }

  private func insert(_ names: String...) throws {
    let connection = try Connection.open(folder.path("s.store"), key: testKey)
    defer { connection.close() }
    for (index, name) in names.enumerated() {
      try connection.execute("INSERT INTO Thing(id, name) VALUES (\(index + 1), \(name))")
    }
  }

  private var environment: [String: String] {
    ["STORE_MIGRATE_KEY": String(repeating: "5a", count: 32), "TMPDIR": temporary]
  }

  private func words(_ line: String) -> [String] {
    line.split(separator: " ").map(String.init) + ["--key-format", "hex", "--no-input"]
  }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), words(line), environment: environment, directory: folder.url.path)
  }

  private func left() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: temporary) }

  @Test func `a rehearsal finds what plan cannot, with the message and the exit code of up`() throws {
    try insert("a", "bb", "c")
    let before = try folder.bytes("s.store")
    let plan = try run("plan s.store")
    #expect(plan.status == 0, "\(plan)")
    #expect(
      plan.output.contains(
        "? add index Thing(size) unique: not known before the run: step 0002 s2 changes Thing first"),
      "\(plan)")
    let next = plan.output.split(separator: "\n").filter { $0.contains("store-migrate") }
    #expect(next.first?.contains("plan s.store --rehearse") == true && next.count == 2, "\(plan)")

    let rehearsal = try run("plan s.store --rehearse")
    let up = try run("up s.store")
    #expect(rehearsal.status == 5 && up.status == 5, "\(rehearsal)")
    let said = try #require(up.errors.split(separator: "\n").first?.trimmingPrefix("store-migrate: "))
    let words = String(said.prefix { $0 != "(" })
    #expect(words.contains("0003_s3.migration:3"), "\(up)")
    #expect(rehearsal.output.contains("✗ \(words)"), "\(rehearsal.output)\n\(up.errors)")
    #expect(rehearsal.output.contains("0002 s2   reversible: no   rehearsed in "), "\(rehearsal)")
    #expect(rehearsal.output.contains("which was removed: `up` would fail."), "\(rehearsal)")
    #expect(!rehearsal.output.contains("? add index") && !rehearsal.output.contains("next:"), "\(rehearsal)")
    #expect(try left() == [] && folder.bytes("s.store") == before)
  }

  @Test func `a successful rehearsal suggests up, and reports the durations in JSON`() throws {
    try insert("a", "bb", "ccc")
    let text = try run("plan s.store --rehearse --tx step")
    #expect(
      text.status == 0 && text.output.contains("which was removed: `up` would succeed. It took 0."), "\(text)"
    )
    let next = try #require(text.output.split(separator: "\n").first { $0.hasPrefix("next:") })
    #expect(next.contains("up s.store --tx step") && text.errors.isEmpty, "\(text)")
    let report = try run("plan s.store --rehearse --json").output
    #expect(try ReportSchema().faults(in: report) == [])
    let json = try #require(
      try JSONSerialization.jsonObject(with: Data(report.utf8)) as? [String: Any])
    let rehearsal = try #require(json["rehearsal"] as? [String: Any])
    let steps = try #require(rehearsal["steps"] as? [[String: Any]])
    #expect(steps.map { $0["number"] as? Int } == [2, 3] && rehearsal["failure"] == nil)
    #expect(steps.allSatisfy { ($0["seconds"] as? Double ?? 0) > 0 })
    #expect(try run("up s.store").status == 0)
    let done = try run("plan s.store --rehearse")
    #expect(done.status == 0 && done.output.contains("Nothing to do") && !done.output.contains("Rehearsed"))
    let back = try run("plan s.store --to 2 --rehearse")
    #expect(back.status == 0 && back.output.contains("which was removed: `down` would succeed"), "\(back)")
    #expect(try left() == [])
  }

  @Test func `a rehearsal with --tx step reports where the run would stop`() throws {
    try insert("a", "bb", "c")
    let rehearsal = try run("plan s.store --rehearse --tx step")
    #expect(
      rehearsal.status == 5
        && rehearsal.output.contains("`up` would stop at 0003 s3, with the steps before it committed."),
      "\(rehearsal)")
    #expect(try run("up s.store --tx step").status == 5)
    #expect(try run("status s.store").output.contains("version 2"))
  }

  /// Starts a rehearsal with a step so long that no test waits for its end.
  private func start() throws -> StartedTool {
    try insert("a")
    try write(
      "transform sql { UPDATE $Thing SET $Thing.size = (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000000) SELECT count(*) FROM n) }",
      as: 2)
    let tool = try StartedTool(
      builtExecutable("store-migrate"), words("plan s.store --rehearse"), environment: environment,
      directory: folder.url.path)
    // The copy is complete once the engine has begun to write to it.
    let end = Date() + 120
    func isWriting() -> Bool {
      ((try? left()) ?? []).contains {
        FileManager.default.fileExists(atPath: "\(temporary)/\($0)/copy.store-journal")
          || FileManager.default.fileExists(atPath: "\(temporary)/\($0)/copy.store-wal")
      }
    }
    // Once is enough: each transaction creates and deletes a log.
    while !isWriting() {
      try #require(Date() < end)
      usleep(5000)
    }
    return tool
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal ends a rehearsal, which leaves no copy and changes nothing`(_ signal: Int32) throws {
    let tool = try start()
    let before = try folder.bytes("s.store")
    kill(tool.processID, signal)
    let result = try tool.end()
    #expect(
      result.status == 128 + signal
        && result.errors.contains("Nothing was changed, and no copy remains."), "\(result)")
    #expect(try left() == [] && folder.bytes("s.store") == before)
    #expect(folder.names.sorted() == ["Migrations", "s.store", "tmp"])
  }

  @Test func `a rehearsal removes what a killed one left`() throws {
    let tool = try start()
    kill(tool.processID, SIGKILL)
    _ = try tool.end()
    let names = try left()
    #expect(names.count == 1 && names[0].hasPrefix("vault-rehearse-"), "\(names)")
    try write(Self.steps[1], as: 2)
    #expect(try run("plan s.store --rehearse").status == 0)
    #expect(try left() == [])
  }

  @Test func `a rehearsal without a temporary folder or disk space reports that and blames no step`() throws {
    try insert("a")
    try FileManager.default.removeItem(atPath: temporary)
    let missing = try run("plan s.store --rehearse")
    #expect(missing.status == 1 && missing.errors.contains("set TMPDIR"), "\(missing)")
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: false)
    let line = words("plan s.store --rehearse").joined(separator: " ")
    try write("add index Thing(size)", as: 3)
    try write(
      "transform sql { INSERT INTO $Thing ($Thing.name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) SELECT hex(zeroblob(200)) || i FROM n }",
      as: 2)
    // A limit on the size of files, in kB: like a full disk, for any user and on any file system. The first
    // limit has no space for the copy. The second one has, but not for what the step writes.
    for limit in [4, 64] {
      let full = try runTool(
        "/bin/bash",
        ["-c", "trap '' XFSZ; ulimit -f \(limit); '\(builtExecutable("store-migrate"))' \(line)"],
        environment: environment, directory: folder.url.path)
      #expect(full.status == 6 && full.errors.contains("\(temporary)"), "\(limit): \(full)")
      #expect(!full.errors.contains("s.store") && !full.output.contains("would fail"), "\(limit): \(full)")
      #expect(try left() == [])
    }
  }

  @Test func `the lines that plan and dry runs suggest can be run, in both directions`() throws {
    try insert("a", "bb", "ccc")
    func next(_ line: String) throws -> [String] {
      try run(line).output.split(separator: "\n").map(String.init)
        .filter { $0.contains("store-migrate") }
        .map { line in
          String(line.trimmingPrefix("next:").drop { $0 == " " }).replacing(" --key-format hex", with: "")
        }
    }
    #expect(
      try next("up s.store --dry-run --steps 2 --tx step") == [
        "store-migrate plan s.store --to 3 --tx step --rehearse",
        "store-migrate up s.store --steps 2 --tx step",
      ])
    #expect(try run("plan s.store --to 3 --tx step --rehearse").status == 0)
    #expect(try run("up s.store").status == 0)
    try write(
      "retype Thing.name to string using ($Thing.name || 'x')\n[down]\nretype Thing.name to string using (substr($Thing.name, 1))",
      as: 4)
    #expect(try run("up s.store --yes").status == 0)
    let back = try next("down s.store --dry-run")
    #expect(back.first == "store-migrate plan s.store --to 3 --rehearse", "\(back)")
    let rehearsal = try run("plan s.store --to 3 --rehearse")
    #expect(rehearsal.output.contains("`down` would succeed"), "\(rehearsal)")
  }

  @Test func `a rehearsal works with --immutable, and fails like up on changed tables`() throws {
    try insert("a", "bb", "ccc")
    let immutable = try run("plan s.store --rehearse --immutable")
    #expect(immutable.status == 0 && immutable.output.contains("`up` would succeed"), "\(immutable)")
    let connection = try Connection.open(folder.path("s.store"), key: testKey)
    try connection.execute("ALTER TABLE Thing ADD COLUMN more TEXT")
    connection.close()
    let (drift, up) = (try run("plan s.store --rehearse"), try run("up s.store"))
    #expect(drift.status == up.status && drift.output.contains("`up` would fail."), "\(drift)\n\(up)")
    #expect(try left() == [])
  }
}
