// Standard output and error that are closed, full, or a pipe without a reader: the tool never crashes, and
// the work is done as reported. A lost report exits with 1. Lost progress and notes change nothing.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct StandardStreams {
  let folder: TemporaryFolder
  let store: String

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("a.store")
    _ = try Connection.create(store, key: .passphrase("horse")) {
      try $0.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (7)")
    }
  }

  /// Runs the tool in a shell, with redirections after its words.
  func run(_ words: String, redirection: String) throws -> ToolResult {
    try runTool(
      "/bin/bash", ["-c", "\"\(builtExecutable("store-migrate"))\" \(words) --no-input \(redirection)"],
      environment: ["STORE_MIGRATE_KEY": "horse", "NEW_KEY": "pony"])
  }

  static let broken = [">/dev/full", ">&-", "> >(exit 0)", "2>/dev/full >&-", ">&- 2>&-", "0<&- >&- 2>&-"]

  @Test(arguments: broken)
  func `a rekey whose report cannot be written is done, and exits with 1`(_ redirection: String) throws {
    // The rekey takes long enough for the reader of the pipe to end.
    let result = try run("rekey \(store) --new-key-env NEW_KEY", redirection: redirection)
    #expect(result.status == 1, "\(result)")
    if !redirection.contains("2>") {
      #expect(result.errors.contains("is complete, but its report could not be written"), "\(result)")
    }
    #expect(try Connection.open(store, key: .passphrase("pony")).value("SELECT x FROM t") == 7)
    #expect(folder.names == ["a.store"])
  }

  @Test(arguments: ["2>/dev/full", "2>&-"])
  func `a closed or full standard error is not a failure`(_ redirection: String) throws {
    let backup = try run("backup \(store) \(folder.path("b.store"))", redirection: redirection)
    #expect(backup.status == 0 && backup.output.contains("its content equals the original's"), "\(backup)")
    #expect(
      try Connection.open(folder.path("b.store"), key: .passphrase("horse")).value("SELECT x FROM t") == 7)
    let verify = try run("verify \(store) --deep", redirection: redirection)
    #expect(try verify.status == run("verify \(store) --deep", redirection: "").status, "\(verify)")
    #expect(try run("rekey \(store) --new-key-env NEW_KEY", redirection: redirection).status == 0)
    #expect(try Connection.open(store, key: .passphrase("pony")).value("SELECT x FROM t") == 7)
    #expect(folder.names == ["a.store", "b.store"])
  }

  @Test(arguments: [">/dev/full", ">&-", ">&- 2>&-"])
  func `an error keeps its exit code if its message cannot be written`(_ redirection: String) throws {
    #expect(try run("info \(folder.path("none"))", redirection: redirection).status == 10)
    #expect(try run("info \(store) --json --key-env NEW_KEY", redirection: redirection).status == 12)
  }

  @Test func `a recovery code that was not shown is reported with the command that removes it`() throws {
    let keys = folder.path("n.keys")
    _ = try KeyFile.create(at: keys, slot: "Ann", unlock: .passphrase("horse"), work: ScryptWork(logN: 10))
    let result = try run("slots add \(keys) paper --recovery", redirection: ">/dev/full")
    #expect(result.status == 1 && result.errors.contains("slots remove \(keys) paper"), "\(result)")
  }

  @Test func `a store never gets output that was meant for a closed stream`() throws {
    // The store's descriptor would get the number of the closed stream.
    for redirection in [">&-", "2>&-", ">&- 2>&-", "<&-"] {
      let target = folder.path("c\(redirection.count).store")
      _ = try run("backup \(store) \(target)", redirection: redirection)
      let copy = try Connection.open(target, key: .passphrase("horse"))
      #expect(try copy.value("SELECT x FROM t") == 7 && copy.auditPages().isEmpty)
      try FileManager.default.removeItem(atPath: target)
    }
  }

  @Test func `output that a test cannot read is an error, and not an empty output`() throws {
    // The end of a pipe for writing cannot be read.
    let pipe = Pipe()
    #expect(throws: (any Error).self) { try pipe.fileHandleForWriting.readWhole() }
    try pipe.fileHandleForWriting.write(contentsOf: Data("all of it".utf8))
    try pipe.fileHandleForWriting.close()
    #expect(try pipe.fileHandleForReading.readWhole() == Data("all of it".utf8))
  }
}
