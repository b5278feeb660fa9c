// A plan exits with the code of the run that it describes, and states how that run would end.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PlannedEnds {
  let folder: TemporaryFolder
  static let steps = [
    "create entity Thing {\n attribute name string\n attribute town string optional\n}",
    "add attribute Thing.rank int optional", "add index Thing(name) unique", "drop attribute Thing.town",
  ]

  init() async throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Migrations"), withIntermediateDirectories: false)
    for (index, step) in Self.steps.enumerated() {
      let head = step.hasPrefix("drop") ? "allow: lossy:Thing.town\n" : ""
      try folder.write(
        Data("format: 1\n\(head)[up]\n\(step)\n".utf8), to: "Migrations/000\(index + 1)_s.migration")
    }
    let set = try MigrationSet.directory(folder.url.appendingPathComponent("Migrations"))
    try await Store.create(
      at: folder.url.appendingPathComponent("s.store"), key: testKey, migrations: MigrationSet([set.steps[0]])
    )
  }

  private func insert(_ names: String...) throws {
    let connection = try Connection.open(folder.path("s.store"), key: testKey)
    defer { connection.close() }
    for (index, name) in names.enumerated() {
      try connection.execute("INSERT INTO Thing(id, name) VALUES (\(index + 1), \(name))")
    }
  }

  private static let key = ["STORE_MIGRATE_KEY": String(repeating: "5a", count: 32)]

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + ["--key-format", "hex", "--no-input"],
      environment: Self.key, directory: folder.url.path)
  }

  /// The version of the store, read from the engine.
  private func version() throws -> Int {
    let connection = try Connection.open(folder.path("s.store"), key: testKey)
    defer { connection.close() }
    return try connection.userVersion()
  }

  @Test func `plan --tx step reports before which step the run would stop`() throws {
    try insert("a", "b", "a")
    let plan = try run("plan s.store --tx step")
    #expect(
      plan.status == 5
        && plan.output.contains("`up` would stop at 0003 s, with the steps before it committed."),
      "\(plan)")
    let all = try run("plan s.store")
    #expect(all.status == 5 && all.output.contains("would fail, and the store would not change"), "\(all)")
    #expect(try run("up s.store").status == 5 && version() == 1)
    #expect(try run("up s.store --tx step").status == 5 && version() == 2)
    // No step is before it any more.
    let rest = try run("plan s.store --tx step")
    #expect(rest.status == 5 && rest.output.contains("and the store would not change"), "\(rest)")
  }

  @Test func `a dry run with --no-backup plans no copy, and suggests a line with --no-backup`() throws {
    let with = try run("up s.store --dry-run")
    #expect(with.status == 0 && with.output.contains("an encrypted backup is written"), "\(with)")
    let without = try run("up s.store --dry-run --no-backup --vacuum")
    #expect(without.status == 0 && !without.output.contains("encrypted copy"), "\(without)")
    let next = try #require(without.output.split(separator: "\n").first { $0.hasPrefix("next:") })
    #expect(next.contains("up s.store --no-backup --vacuum"), "\(next)")
    func bytes(_ line: String) throws -> Int {
      let json = try JSONSerialization.jsonObject(with: Data(run(line).output.utf8)) as? [String: Any]
      return try #require(json?["neededBytes"] as? Int)
    }
    let size = try folder.bytes("s.store").count
    #expect(
      try bytes("up s.store --dry-run --json") - bytes("up s.store --dry-run --json --no-backup") == size)
  }

  /// Runs a line with a given amount of free disk space.
  private func tight(_ line: String, bytes: String = "20000") throws -> ToolResult {
    try FaultInjector.run(
      builtExecutable("store-migrate"),
      line.replacing("s.store", with: folder.path("s.store")).split(separator: " ").map(String.init)
        + ["--key-format", "hex", "--no-input", "-m", folder.path("Migrations")],
      environment: Self.key.merging(["VAULT_FREE_BYTES": bytes]) { $1 }, in: folder.url.path
    ).result
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `with two obstacles plan exits with the code of the one that up meets first`() throws {
    let connection = try Connection.open(folder.path("s.store"), key: testKey)
    try connection.execute("ALTER TABLE Thing ADD COLUMN shoes TEXT")
    connection.close()
    for (bytes, code) in [("20000", 6), ("100000000", 1)] as [(String, Int32)] {
      for command in ["plan", "up"] {
        let result = try tight("\(command) s.store", bytes: bytes)
        #expect(result.status == code, "\(command): \(result)")
      }
    }
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `without enough disk space plan exits like up, and suggests no line`() throws {
    try insert("a", "b")
    let image = try folder.bytes("s.store")
    let plan = try tight("plan s.store")
    #expect(
      plan.status == 6 && plan.output.contains("would be refused: the disk does not have enough space")
        && !plan.output.contains("next:"), "\(plan)")
    let json = try JSONSerialization.jsonObject(with: Data(tight("plan s.store --json").output.utf8))
    #expect((json as? [String: Any])?["next"] as? [String] == [])
    let status = try tight("status s.store")
    #expect(status.status == 0 && !status.output.contains("store-migrate up"), "\(status)")
    let up = try tight("up s.store")
    #expect(up.status == 6 && up.errors.contains("are needed"), "\(up)")
    #expect(try folder.bytes("s.store") == image && !folder.names.contains { $0.hasSuffix(".backup") })
    #expect(try tight("plan s.store", bytes: "100000000").status == 0)
    #expect(try tight("up s.store", bytes: "100000000").status == 0)
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `a file system that reports no sizes is not taken for a full one`() throws {
    try insert("a", "b")
    let plan = try tight("plan s.store", bytes: "unknown")
    #expect(plan.status == 0 && !plan.output.contains("(have"), "\(plan)")
    let up = try tight("up s.store --vacuum", bytes: "unknown")
    #expect(up.status == 0, "\(up)")
    #expect(try version() == 4)
  }
}
