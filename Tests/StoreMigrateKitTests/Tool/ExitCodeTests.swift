// The exit codes: a real process exits with each of them.

import CipherSQLite
import Foundation
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite struct ExitCodes {
  private let folder: TemporaryFolder
  private static let environment = [
    "KEY": String(repeating: "5a", count: 32), "OTHER": String(repeating: "11", count: 32),
  ]
  private static let key = ["--key-env", "KEY", "--key-format", "hex"]

  init() throws {
    folder = try TemporaryFolder()
    for name in ["Steps", "Fewer", "Edited", "Broken"] {
      try FileManager.default.createDirectory(
        at: folder.url.appendingPathComponent(name), withIntermediateDirectories: false)
    }
    try write("Steps/0001_base", step: "create entity A {\n attribute n int\n attribute m int optional\n}")
    try write("Fewer/0001_base", step: "create entity A {\n attribute n int\n attribute m int optional\n}")
    try write("Edited/0001_base", step: "create entity A {\n attribute n int\n}")
    try write("Broken/0001_base", step: "make entity A")
    try write("Steps/0002_seed", step: "seed { INSERT INTO $A ($A.n, $A.m) VALUES (1, 2) }")
    try write("Steps/0003_drop", step: "drop attribute A.m")
    for (name, version) in [("new", "3"), ("old", "2"), ("big", "2")] {
      let made = try run(["create", "\(name).store", "--to", version, "-m", "Steps"] + Self.key)
      #expect(made.status == 0, "\(made)")
    }
    let big = try Connection.open(folder.path("big.store"), key: testKey)
    defer { big.close() }
    try big.executeScript(
      """
      PRAGMA journal_mode = delete;
      INSERT INTO A(n) WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k LIMIT 20000) SELECT i FROM k
      """)
  }

  private func write(_ name: String, step: String) throws {
    try folder.write(Data("format: 1\n[up]\n\(step)\n".utf8), to: "\(name).migration")
  }

  private func run(_ words: [String], _ tool: String = builtExecutable("store-migrate")) throws -> ToolResult
  {
    try runTool(tool, words, environment: Self.environment, directory: folder.url.path)
  }

  /// Runs the tool until it waits for a lock, and then sends it a signal.
  private func signalled(_ signal: Int32) throws -> ToolResult {
    let holder = try Connection.open(folder.path("old.store"), key: testKey)
    defer { holder.close() }
    try holder.begin(.immediate)
    let tool = try StartedTool(
      builtExecutable("store-migrate"), ["up", "old.store", "-m", "Steps", "--yes"] + Self.key,
      environment: Self.environment, directory: folder.url.path)
    #expect(try tool.says("waiting for it"))
    kill(tool.processID, signal)
    return try tool.end()
  }

  private func result(of code: ExitCode) throws -> ToolResult {
    let up = ["up", "old.store", "-m", "Steps", "--no-input"]
    switch code {
    case .ok: return try run(["status", "new.store", "-m", "Steps"] + Self.key)
    case .failed: return try run(["check", "-m", "Broken"])
    case .attention: return try run(["status", "old.store", "-m", "Steps", "--exit-code"] + Self.key)
    case .historyConflict: return try run(["up", "new.store", "-m", "Edited"] + Self.key)
    case .storeTooNew: return try run(["up", "new.store", "-m", "Fewer"] + Self.key)
    case .refused: return try run(up + Self.key)
    case .noSpace:
      let line = "up big.store -m Steps --yes --no-input \(Self.key.joined(separator: " "))"
      return try run(
        ["-c", "trap '' XFSZ; ulimit -f 64; '\(builtExecutable("store-migrate"))' \(line)"], "/bin/bash")
    case .notFound: return try run(["status", "none.store"] + Self.key)
    case .locked:
      let holder = try Connection.open(folder.path("old.store"), key: testKey)
      defer { holder.close() }
      try holder.begin(.immediate)
      return try run(up + ["--yes", "--lock-timeout", "0"] + Self.key)
    case .cannotDecrypt: return try run(["status", "old.store", "--key-env", "OTHER", "--key-format", "hex"])
    case .usage: return try run(["status"])
    case .hungUp: return try signalled(SIGHUP)
    case .interrupted: return try signalled(SIGINT)
    case .terminated: return try signalled(SIGTERM)
    }
  }

  // The switch above does not compile for a new code until a run is added that causes it.
  @Test func `a process exits with each exit code`() throws {
    for code in ExitCode.allCases {
      let result = try result(of: code)
      #expect(result.status == code.rawValue, "\(code): \(result)")
    }
    // Runs that were stopped or refused have not changed the store.
    let after = try run(["status", "old.store", "-m", "Steps", "--exit-code"] + Self.key)
    #expect(after.status == ExitCode.attention.rawValue, "\(after)")
  }
}
