// Programs of the present and of the first version that share an old store, each in a process of its own.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.processes), .serialized) struct MigrationProcesses {
  private let folder: TemporaryFolder
  private let url: URL
  private let set: MigrationSet

  init() async throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("a.store")
    set = try MigrationSet.embedded(MicroblogMigrations.steps)
    try await Store.create(at: url, key: testKey, migrations: set.upTo(1))
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    try connection.execute(
      "INSERT INTO User(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT 'user ' || i FROM n"
    )
    try connection.execute("INSERT OR REPLACE INTO vault_ids VALUES ('User', 20000)")
  }

  @Test func `of two processes that open an old store at once one migrates it, and both work`() async throws {
    let path = url.path
    let both = try [Running(["use-new-held", path]), Running(["use-new-held", path])]
    // One process stops within its steps until the test continues it. The other one meets its lock
    // meanwhile.
    let first = try both.map { try $0.line() }
    try #require(Set(first) == ["migrating", "waiting"], "\(first)")
    let (one, other) = first[0] == "migrating" ? (both[0], both[1]) : (both[1], both[0])
    try one.tell()
    let lines = try [one.line(), one.line(), other.line(), other.line()]
    #expect(lines[0] == "steps [2, 3, 4, 5, 6]" && lines[2] == "steps []", "\(lines)")
    #expect(lines.contains("users 20002"), "\(lines)")
    #expect(one.status() == 0 && other.status() == 0)
    #expect(
      try Connection.open(path, key: testKey).value("SELECT count(*) FROM User WHERE screenName = name")
        == 20002)
    #expect(folder.names.filter { !$0.hasSuffix(".backup") } == ["a.store"])
  }

  @Test func `a migration refuses an old program that is running and one that starts later`() async throws {
    let old = try Running(["use-old", url.path])
    try #require(try old.line() == "wrote")
    let new = try runTool(builtExecutable("test-child"), ["use-new", url.path])
    #expect(new.output == "steps [2, 3, 4, 5, 6]\nusers 20002\n", "\(new)")
    let written = try Connection.open(url.path, key: testKey).value("SELECT count(*) FROM User")
    try old.tell()
    let answer = try old.line()
    #expect(
      answer.hasPrefix("refused") && answer.contains("has migrated the store since it was opened here"),
      "\(answer)")
    let late = try runTool(builtExecutable("test-child"), ["use-old", url.path])
    #expect(late.status == 0 && late.output.hasPrefix("refused"), "\(late)")
    #expect(late.output.contains("is at version 6; these migrations end at 1"), "\(late)")
    #expect(try Connection.open(url.path, key: testKey).value("SELECT count(*) FROM User") == written)
  }

  @Test func `an open store reports a migration at its next write, read or save`() async throws {
    let steps = try set.upTo(1)
    func open() async throws -> Store { try await Store.open(at: url, key: testKey) }
    let (writer, reader, saver) = (try await open(), try await open(), try await open())
    defer { for store in [writer, reader, saver] { store.close() } }
    #expect(steps.version == 1)
    let context = saver.makeContext()
    try context.insert(entity: "User") { $0["name"] = "late" }
    try await Store.migrate(at: url, key: testKey, migrations: set)
    let told = StoreError.storeMigratedElsewhere(file: url.path)
    await #expect(throws: told) {
      try await writer.write { _ = try $0.insert(entity: "User") { $0["name"] = "x" } }
    }
    await #expect(throws: told) { try await reader.read { try $0.fetch(entity: "User").count() } }
    #expect(throws: told) { try context.save() }
    // Every further read and write fails, too.
    await #expect(throws: told) { try await writer.read { try $0.fetch(entity: "User").count() } }
    await #expect(throws: told) {
      try await reader.write { _ = try $0.insert(entity: "User") { $0["name"] = "x" } }
    }
    #expect(try Connection.open(url.path, key: testKey).value("SELECT count(*) FROM User") == 20000)
  }
}

/// A child process with line-based input and output.
private final class Running {
  private let process = Process()
  private let (input, output) = (Pipe(), Pipe())

  init(_ words: [String]) throws {
    process.executableURL = URL(fileURLWithPath: builtExecutable("test-child"))
    process.arguments = words
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// Waits for the process to exit.
  func status() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }

  func tell() throws { try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

  func line() throws -> String {
    var bytes = Data()
    while let next = try output.fileHandleForReading.read(upToCount: 1), next != Data("\n".utf8) {
      bytes += next
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
