// What a person and a script see when `up` meets a full disk or somebody else's lock: the cause, what the store is now, and
// what to do. On a terminal and in a pipe it is the same.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct FailedRunScreens {
  /// The golden files of the screens.
  static let names = ["full-disk-copy", "full-disk-commit", "stopped", "locked"]

  private static let hasScript = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")
  private static let environment = [
    "KEY": Template.hex(Template.key), "TOOL": builtExecutable("store-migrate"),
  ]

  private let folder: TemporaryFolder

  init() async throws {
    folder = try await CommandFolder().folder
    try FileManager.default.copyItem(atPath: folder.path("old.store"), toPath: folder.path("kept.store"))
  }

  /// The old store as it was.
  private func reset() throws {
    for name in folder.names where name.hasPrefix("old.store") { unlink(folder.path(name)) }
    try FileManager.default.copyItem(atPath: folder.path("kept.store"), toPath: folder.path("old.store"))
  }

  /// Runs `up` on the old store, in a pipe and on a terminal: what both show, and how they end.
  private func screen(_ options: String, _ more: [String: String] = [:]) throws -> (text: String, code: Int32)
  {
    let words = "up old.store --key-env KEY --key-format hex --no-input \(options)"
    let environment = Self.environment.merging(more) { $1 }
    let pipe = try runTool(
      builtExecutable("store-migrate"), words.split(separator: " ").map(String.init),
      environment: environment, directory: folder.url.path)
    let text = shown(pipe.output + pipe.errors)
    if Self.hasScript {
      if !options.contains("--lock-timeout") { try reset() }
      let terminal = try runTool(
        "/usr/bin/script", ["-qec", "stty cols 100; \"$TOOL\" \(words)", "/dev/null"],
        environment: environment, directory: folder.url.path)
      #expect(terminal.status == pipe.status)
      #expect(shown(terminal.output) == text)
    }
    return (text, pipe.status)
  }

  /// Without what differs from run to run; a bar that is drawn meanwhile is written over.
  private func shown(_ output: String) -> String {
    let lines = output.replacing("\r\n", with: "\n").split(separator: "\n").map { line in
      line.split(separator: "\r").last.map(String.init) ?? ""
    }
    return normalized(
      lines.filter { !$0.hasPrefix("up [") }.joined(separator: "\n") + "\n", folder: folder.url.path
    )
    .replacing(#/process \d+( \([^)]*\))?/#, with: "process PID")
  }

  private func expect(_ screen: (text: String, code: Int32), _ code: Int32, _ name: String, version: Int = 1)
    throws
  {
    #expect(screen.code == code, "\(screen.text)")
    let difference = try Golden.difference(
      of: screen.text, from: "screen-\(name).txt", in: "StoreMigrateKitTests")
    #expect(difference == nil, "\(difference ?? "")")
    let connection = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    #expect(try connection.userVersion() == version)
    connection.close()
    #expect(!folder.names.contains { $0.hasPrefix("old.store.") }, "\(folder.names)")
  }

  /// How many writes the steps need, of a copy of the store.
  private func writes() throws -> Int {
    try FileManager.default.copyItem(atPath: folder.path("old.store"), toPath: folder.path("tried.store"))
    return try FaultInjector.run(
      builtExecutable("store-migrate"),
      [
        "up", folder.path("tried.store"), "-m", folder.path("Steps"), "--key-env", "KEY", "--key-format",
        "hex", "--no-backup",
      ],
      environment: Self.environment, in: "tried.store", calls: ["write"]
    ).calls.count
  }

  /// All writes from one on fail.
  private func full(from index: Int) -> [String: String] {
    [
      "LD_PRELOAD": FaultInjector.library ?? "", "VAULT_FAULT_IN": "old.store", "VAULT_FAULT_CALLS": "write",
      "VAULT_FAULT_KIND": "errors", "VAULT_FAULT_ERRNO": "\(ENOSPC)", "VAULT_FAULT_AT": "\(index)",
    ]
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `a disk that is full before the first step`() throws {
    try expect(screen("-m Steps", full(from: 1)), 6, "full-disk-copy")
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `a disk that is full at the commit`() throws {
    try expect(screen("-m Steps --no-backup", full(from: try writes())), 6, "full-disk-commit")
  }

  @Test func `a step that fails behind others that stand`() throws {
    try expect(screen("-m Stopping --tx step --no-backup"), 1, "stopped", version: 3)
  }

  @Test func `a lock that is held longer than was to be waited for`() throws {
    let other = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    try other.execute("BEGIN IMMEDIATE")
    defer { other.close() }
    let screen = try screen("-m Steps --lock-timeout 0.2")
    try other.execute("ROLLBACK")
    try expect(screen, 11, "locked")
  }
}
