// A copy replaced a store whose log a killed program left: every page authenticates, but the indexes do not
// match the tables.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct StaleLogs {
  let folder: TemporaryFolder
  let store: String

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("a.store")
    let steps = folder.path("steps")
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: true)
    let step =
      "format: 1\nname: note\n\n[up]\ncreate entity Note {\n    attribute n int indexed\n    attribute text string\n}\n"
    try Data(step.utf8).write(to: URL(fileURLWithPath: steps + "/0001_note.migration"))
    #expect(try run("create", store, "-m", steps).status == 0)
    let connection = try Connection.open(store, key: .passphrase("k"))
    try fill(connection, 1...5)
    connection.close()
    let copy = try folder.bytes("a.store")
    let later = try Connection.open(store, key: .passphrase("k"))
    try later.setJournalMode(.wal)
    try fill(later, 6...405)
    _ = try later.checkpoint(.truncate)
    try fill(later, 406...408)
    // The state after the program is killed and the copy is put over the store.
    let log = try folder.bytes("a.store-wal")
    later.close()
    try folder.write(copy, to: "a.store")
    try folder.write(log, to: "a.store-wal")
  }

  func fill(_ connection: Connection, _ range: ClosedRange<Int>) throws {
    try connection.transaction(.immediate) {
      for number in range {
        try connection.execute("INSERT INTO Note(n, text) VALUES (\(number), \("t\(number)"))")
      }
      try connection.execute("INSERT OR REPLACE INTO vault_ids VALUES ('Note', \(range.upperBound))")
    }
  }

  func run(_ words: String...) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), words + ["--no-input"], environment: ["STORE_MIGRATE_KEY": "k"])
  }

  @Test func `verify finds a stale log without --deep, and backup refuses the store`() throws {
    let verified = try run("verify", store, "-m", folder.path("steps"))
    #expect(verified.status == 2, "\(verified)")
    #expect(verified.output.contains("index"), "\(verified)")
    let backup = try run("backup", store, folder.path("b.store"))
    #expect(backup.status != 0 && backup.errors.contains("index"), "\(backup)")
    #expect(!folder.names.contains("b.store"))
  }

  @Test func `verify of a large file does not compare indexes, and prints the line that does`() throws {
    // A sparse file: it takes no disk space, and extends beyond the pages of the database.
    #expect(truncate(store, 300 << 20) == 0)
    let verified = try run("verify", store, "-m", folder.path("steps"), "--key-env", "STORE_MIGRATE_KEY")
    // The quick check of newer engines counts the entries, and finds the damage nevertheless.
    #expect([0, 2].contains(verified.status), "\(verified)")
    #expect(verified.output.contains("The indexes were not compared"), "\(verified)")
    #expect(
      verified.output.contains("--deep -m \(folder.path("steps")) --key-env STORE_MIGRATE_KEY"), "\(verified)"
    )
    let json = try run("verify", store, "--json")
    #expect(json.output.contains(#""comparedIndexes":false"#), "\(json)")
    let deep = try run("verify", store, "--deep")
    #expect(deep.status == 2 && deep.output.contains("index"), "\(deep)")
  }
}
