// A store on a read-only disk: reading commands work, and the others name a remedy.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct ReadOnlyDisks {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    _ = try Connection.create(folder.path("a.store"), key: .passphrase("horse")) {
      try $0.executeScript("PRAGMA journal_mode = wal; CREATE TABLE t(x); INSERT INTO t VALUES (7)")
    }
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("disk"), withIntermediateDirectories: false)
  }

  /// Runs the tool with a read-only file system `disk` that contains the store.
  private func run(_ line: String) throws -> ToolResult {
    try Self.runScript(
      "mount -t tmpfs none disk && cp a.store disk/ && mount -o remount,ro disk && exec "
        + "'\(builtExecutable("store-migrate"))' \(line) --no-input", in: folder.url.path)
  }

  private static func runScript(_ script: String, in folder: String) throws -> ToolResult {
    try runTool(
      "/usr/bin/unshare", ["-rm", "/bin/sh", "-c", script],
      environment: ["STORE_MIGRATE_KEY": "horse", "NEW_KEY": "pony"], directory: folder)
  }

  private static let canMount: Bool = (try? runScript("mount -t tmpfs none /mnt", in: "/").status) == 0

  @Test(.enabled(if: canMount, "needs unshare and the right to mount"), arguments: ["", " --immutable"])
  func `export and backup work on a read-only disk`(_ option: String) throws {
    let export = try run("export disk/a.store out.db --yes" + option)
    #expect(export.status == 0, "\(export)")
    let backup = try run("backup disk/a.store out.store" + option)
    #expect(backup.status == 0, "\(backup)")
    #expect(
      try Connection.open(folder.path("out.store"), key: .passphrase("horse")).value("SELECT x FROM t") == 7)
    try Connection.encrypt(
      plaintext: folder.path("out.db"), to: folder.path("b.store"), key: .passphrase("pony"))
    #expect(
      try Connection.open(folder.path("b.store"), key: .passphrase("pony")).value("SELECT x FROM t") == 7)
  }

  @Test(.enabled(if: canMount, "needs unshare and the right to mount"))
  func `rekey on a read-only disk suggests no option that it lacks`() throws {
    let result = try run("rekey disk/a.store --new-key-env NEW_KEY")
    #expect(result.status == 1 && result.errors.contains("use a copy of it"), "\(result)")
    #expect(!result.errors.contains("--"), "\(result)")
  }
}
