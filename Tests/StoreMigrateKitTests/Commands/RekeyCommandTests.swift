// A rekey that cannot be: the cause is named before anything is changed, and what is said of the keys is so.

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

  /// Runs it with a fault in a call that opens the journal.
  private func rekey(_ newKey: String, _ fault: Fault? = nil) throws -> FaultInjector.Run {
    try FaultInjector.run(
      builtExecutable("store-migrate"), words, environment: environment(newKey), in: "a.store-journal",
      calls: ["open"], fault: fault)
  }

  /// The store is under the former key, and no file lies beside it.
  private func isAsBefore() throws -> Bool {
    let connection = try Connection.open(store, key: .passphrase("horse"))
    defer { connection.close() }
    return folder.names == ["a.store"]
  }

  @Test func `the key that the store has is refused, and nothing is written`() throws {
    let before = try folder.bytes("a.store")
    let result = try runTool(builtExecutable("store-migrate"), words, environment: environment("horse"))
    #expect(result.status == 5, "\(result)")
    #expect(result.errors.contains("this is the key that the file has already"), "\(result)")
    #expect(try folder.bytes("a.store") == before && isAsBefore())
  }

  @Test func `a damaged page is named with a remedy, and the content is not said to be there`() throws {
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
  func `a folder in which no journal can be made is named, and not a check that failed`(_ code: Int32) throws
  {
    // The tool looks for a journal before; the last to open it is the engine, which makes it.
    let undisturbed = try RekeyCommands().rekey("pony")
    let run = try rekey("pony", Fault(.error(code), at: undisturbed.calls.count))
    #expect(run.result.status == 1, "\(run)")
    #expect(
      run.result.errors.contains("this user may make no file in this folder. Change its permissions"),
      "\(run)")
    #expect(try isAsBefore())
  }

  @Test(.enabled(if: FaultInjector.isAvailable))
  func `a disk without room for the journal ends with 6`() throws {
    let run = try FaultInjector.run(
      builtExecutable("store-migrate"), words, environment: environment("pony"), in: "a.store-journal",
      calls: ["write"], fault: Fault(.errors(ENOSPC), at: 1))
    #expect(run.result.status == 6 && run.result.errors.contains("the disk is full"), "\(run)")
    #expect(try isAsBefore())
  }

  @Test func `a file that may only be read is said to`() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: store)
    let result = try runTool(builtExecutable("store-migrate"), words, environment: environment("pony"))
    #expect(result.status == 1 && result.errors.contains("the file is read-only"), "\(result)")
  }
}
