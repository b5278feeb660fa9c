// A process that lacks what every command needs: the folder that it runs in, and threads.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct ToolSurroundings {
  private let folder: TemporaryFolder
  private static let environment = ["STORE_MIGRATE_KEY": "horse"]

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("gone"), withIntermediateDirectories: false)
    _ = try Connection.create(folder.path("a.store"), key: .passphrase("horse")) {
      try $0.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (7)")
    }
  }

  /// Runs a line in a folder that has been deleted.
  private func runInDeleted(_ line: String) throws -> ToolResult {
    try runTool(
      "/bin/bash",
      ["-c", "cd gone && rmdir ../gone && exec '\(builtExecutable("store-migrate"))' \(line) --no-input"],
      environment: Self.environment, directory: folder.url.path)
  }

  @Test(
    arguments: [
      ("new x", 1), ("check", 10), ("info a.store", 10), ("backup ../a.store b.store", 10),
      ("schema import x.db", 1), ("slots list a.keys", 10), ("create b.store -m Steps", 10),
    ] as [(String, Int32)])
  func `a command in a deleted folder reports that`(_ line: String, _ code: Int32) throws {
    let result = try runInDeleted(line)
    #expect(result.status == code, "\(line): \(result)")
    #expect(
      result.errors.hasSuffix("deleted. Change to another folder, or use absolute paths.\n"),
      "\(line): \(result)")
    #expect(!result.errors.contains("URL"), "\(line): \(result)")
  }

  @Test func `a command with absolute paths works in a deleted folder`() throws {
    let result = try runInDeleted("backup \(folder.path("a.store")) \(folder.path("b.store"))")
    #expect(result.status == 0, "\(result)")
    #expect(folder.names == ["a.store", "b.store"])
  }

  /// Runs the tool as a user without any other process, limited to `threads` threads.
  private static func run(threads: Int, in folder: String) throws -> ToolResult {
    // A random user number, which very likely has no other process.
    let user = Int.random(in: 100_000...2_000_000_000)
    return try runTool(
      "/usr/bin/timeout",
      [
        "-s", "KILL", "60", "/usr/bin/setpriv", "--reuid", "\(user)", "--clear-groups", "/bin/bash", "-c",
        "ulimit -u \(threads); exec '\(builtExecutable("store-migrate"))' info nothing.store",
      ], environment: environment, directory: folder)
  }

  private static let canBecomeAnother: Bool =
    geteuid() == 0
    && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv")
    && (try? run(threads: 64, in: "/").status) == 10

  @Test(
    .enabled(if: canBecomeAnother, "needs root, setpriv, and a build that others may run"),
    arguments: [1, 2, 3, 4])
  func `a lack of threads is reported without waiting`(_ threads: Int) throws {
    let result = try Self.run(threads: threads, in: "/")
    #expect(result.status == 1 && result.errors.contains("no more threads"), "\(result)")
    #expect(try Self.run(threads: 64, in: "/").status == 10)
  }
}
