// The screen of `up` with a full disk or a lock of another process: the cause, the present state of the
// store, and the remedy. It is the same on a terminal and in a pipe.

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

  /// Restores the old store.
  private func reset() throws {
    for name in folder.names where name.hasPrefix("old.store") { unlink(folder.path(name)) }
    try FileManager.default.copyItem(atPath: folder.path("kept.store"), toPath: folder.path("old.store"))
  }

  /// Runs `up` on the old store, in a pipe and on a terminal. Returns what both print, and the exit code.
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

  /// Removes what differs from run to run. A progress bar is overwritten by the next line.
  private func shown(_ output: String) -> String {
    let lines = output.replacing("\r\n", with: "\n").split(separator: "\n").map { line in
      line.split(separator: "\r").last.map(String.init) ?? ""
    }
    return normalized(
      lines.filter { !$0.hasPrefix("up [") }.joined(separator: "\n") + "\n", folder: folder.url.path
    )
    .replacing(#/process \d+( \([^)]*\))?/#, with: "process PID")
  }

  private func expect(
    _ screen: (text: String, code: Int32), code: Int32, golden name: String, version: Int = 1
  )
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

  /// The number of writes that the steps need, on a copy of the store.
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

  /// The environment in which all writes from one on fail.
  private func full(from index: Int) -> [String: String] {
    [
      "LD_PRELOAD": FaultInjector.library ?? "", "VAULT_FAULT_IN": "old.store", "VAULT_FAULT_CALLS": "write",
      "VAULT_FAULT_KIND": "errors", "VAULT_FAULT_ERRNO": "\(ENOSPC)", "VAULT_FAULT_AT": "\(index)",
    ]
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `up reports a disk that is full before the first step`() throws {
    try expect(screen("-m Steps", full(from: 1)), code: 6, golden: "full-disk-copy")
  }

  @Test(.enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
  func `up reports a disk that is full at the commit`() throws {
    try expect(screen("-m Steps --no-backup", full(from: try writes())), code: 6, golden: "full-disk-commit")
  }

  @Test func `up --tx step reports a failing step after applied ones`() throws {
    try expect(screen("-m Stopping --tx step --no-backup"), code: 1, golden: "stopped", version: 3)
  }

  @Test func `up reports a lock that is held longer than --lock-timeout`() throws {
    let other = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    try other.execute("BEGIN IMMEDIATE")
    defer { other.close() }
    let screen = try screen("-m Steps --lock-timeout 0.2")
    try other.execute("ROLLBACK")
    try expect(screen, code: 11, golden: "locked")
  }
}
