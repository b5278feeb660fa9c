// Failing rekeys: the cause is reported before anything is changed, and what the message states about the
// keys is true.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct RekeyCommands {
  let folder: TemporaryFolder
  let store: String

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("a.store")
    _ = try Connection.create(store, key: .passphrase("horse")) {
      try $0.executeScript(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        INSERT INTO t SELECT i, zeroblob(4000) FROM n;
        """)
    }
  }

  private func environment(_ newKey: String) -> [String: String] {
    ["STORE_MIGRATE_KEY": "horse", "NEW_KEY": newKey]
  }
  private var words: [String] { ["rekey", store, "--new-key-env", "NEW_KEY", "--no-input", "--quiet"] }

  /// Runs rekey with a fault in a call that opens the journal.
  private func rekey(_ newKey: String, _ fault: Fault? = nil) throws -> FaultInjector.Run {
    try FaultInjector.run(
      builtExecutable("store-migrate"), words, environment: environment(newKey), in: "a.store-journal",
      calls: ["open"], fault: fault)
  }

  /// Checks that the store is under the former key. Returns whether no other file is beside it.
  private func isAsBefore() throws -> Bool {
    let connection = try Connection.open(store, key: .passphrase("horse"))
    defer { connection.close() }
    return folder.names == ["a.store"]
  }

  @Test func `rekey to the present key is refused, and nothing is written`() throws {
    let before = try folder.bytes("a.store")
    let result = try runTool(builtExecutable("store-migrate"), words, environment: environment("horse"))
    #expect(result.status == 5, "\(result)")
    #expect(result.errors.contains("the file has this key already"), "\(result)")
    #expect(try folder.bytes("a.store") == before && isAsBefore())
  }

  @Test func `rekey of a damaged store names the page and a remedy, and claims no intact content`() throws {
    try folder.flip("a.store", at: 48 * 4096 + 1000)
    let before = try folder.bytes("a.store")
    let result = try runTool(builtExecutable("store-migrate"), words, environment: environment("pony"))
    #expect(result.status == 1, "\(result)")
    #expect(
      result.errors.contains("page 49 is damaged or missing. Restore the file from a backup."), "\(result)")
    let storeState = "a.store opens with the OLD key, as before.\n"
    #expect(result.errors.hasSuffix(storeState) && !result.errors.contains("all there"), "\(result)")
    #expect(try folder.bytes("a.store") == before)
    #expect(try isAsBefore())
  }

  @Test(
    .enabled(if: FaultInjector.isAvailable), arguments: [EACCES, EROFS])
  func `rekey in a folder where no journal can be created reports the folder`(_ code: Int32) throws {
    // The tool searches for a journal before. The last call is the engine's, which creates it.
    let undisturbed = try RekeyCommands().rekey("pony")
    let run = try rekey("pony", Fault(.error(code), at: undisturbed.calls.count))
    #expect(run.result.status == 1, "\(run)")
    #expect(
      run.result.errors.contains("this user has no permission to create files in this folder."),
      "\(run)")
    #expect(try isAsBefore())
  }

  @Test(.enabled(if: FaultInjector.isAvailable))
  func `rekey without disk space for the journal exits with 6`() throws {
    let run = try FaultInjector.run(
      builtExecutable("store-migrate"), words, environment: environment("pony"), in: "a.store-journal",
      calls: ["write"], fault: Fault(.errors(ENOSPC), at: 1))
    #expect(run.result.status == 6 && run.result.errors.contains("the disk is full"), "\(run)")
    #expect(try isAsBefore())
  }

  @Test func `rekey of a read-only file reports that`() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: store)
    let result = try runTool(builtExecutable("store-migrate"), words, environment: environment("pony"))
    #expect(result.status == 1 && result.errors.contains("the file is read-only"), "\(result)")
  }
}
