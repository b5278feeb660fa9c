// Standard output and error that are closed, full, or a pipe without a reader: never a trap, and the work is as it is said to
// be. A report that is lost ends with 1; progress and notes that are lost change nothing.

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

  /// Runs the tool by a shell, with redirections behind its words.
  func run(_ words: String, _ redirection: String) throws -> ToolResult {
    try runTool(
      "/bin/bash", ["-c", "\"\(builtExecutable("store-migrate"))\" \(words) --no-input \(redirection)"],
      environment: ["STORE_MIGRATE_KEY": "horse", "NEW_KEY": "pony"])
  }

  static let broken = [">/dev/full", ">&-", "> >(exit 0)", "2>/dev/full >&-", ">&- 2>&-", "0<&- >&- 2>&-"]

  @Test(arguments: broken)
  func `a rekey whose report cannot be written is done, and ends with 1`(_ redirection: String) throws {
    // Time for the reader of the pipe to be gone.
    let result = try run("rekey \(store) --new-key-env NEW_KEY", redirection)
    #expect(result.status == 1, "\(result)")
    if !redirection.contains("2>") {
      #expect(result.errors.contains("is complete, but its report could not be written"), "\(result)")
    }
    #expect(try Connection.open(store, key: .passphrase("pony")).value("SELECT x FROM t") == 7)
    #expect(folder.names == ["a.store"])
  }

  @Test(arguments: ["2>/dev/full", "2>&-"])
  func `a closed or full standard error is no failure`(_ redirection: String) throws {
    let backup = try run("backup \(store) \(folder.path("b.store"))", redirection)
    #expect(backup.status == 0 && backup.output.contains("compared with the original"), "\(backup)")
    #expect(
      try Connection.open(folder.path("b.store"), key: .passphrase("horse")).value("SELECT x FROM t") == 7)
    let verify = try run("verify \(store) --deep", redirection)
    #expect(try verify.status == run("verify \(store) --deep", "").status, "\(verify)")
    #expect(try run("rekey \(store) --new-key-env NEW_KEY", redirection).status == 0)
    #expect(try Connection.open(store, key: .passphrase("pony")).value("SELECT x FROM t") == 7)
    #expect(folder.names == ["a.store", "b.store"])
  }

  @Test(arguments: [">/dev/full", ">&-", ">&- 2>&-"])
  func `an error keeps its code when nobody can read it`(_ redirection: String) throws {
    #expect(try run("info \(folder.path("none"))", redirection).status == 10)
    #expect(try run("info \(store) --json --key-env NEW_KEY", redirection).status == 12)
  }

  @Test func `a recovery code that was not shown is told with the command that takes it back`() throws {
    let keys = folder.path("n.keys")
    _ = try KeyFile.create(at: keys, slot: "Ann", unlock: .passphrase("horse"), work: ScryptWork(logN: 10))
    let result = try run("slots add \(keys) paper --recovery", ">/dev/full")
    #expect(result.status == 1 && result.errors.contains("slots remove \(keys) paper"), "\(result)")
  }

  @Test func `a store never gets what was meant for a closed stream`() throws {
    // Its descriptor would have the number of the stream that is closed.
    for redirection in [">&-", "2>&-", ">&- 2>&-", "<&-"] {
      let target = folder.path("c\(redirection.count).store")
      _ = try run("backup \(store) \(target)", redirection)
      let copy = try Connection.open(target, key: .passphrase("horse"))
      #expect(try copy.value("SELECT x FROM t") == 7 && copy.auditPages().isEmpty)
      try FileManager.default.removeItem(atPath: target)
    }
  }

  @Test func `what a test cannot read of a program is an error, and not an empty output`() throws {
    // The end of the pipe that is written to.
    let pipe = Pipe()
    #expect(throws: (any Error).self) { try pipe.fileHandleForWriting.readWhole() }
    try pipe.fileHandleForWriting.write(contentsOf: Data("all of it".utf8))
    try pipe.fileHandleForWriting.close()
    #expect(try pipe.fileHandleForReading.readWhole() == Data("all of it".utf8))
  }
}
