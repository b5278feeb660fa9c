// Which files can be imported, and the errors for others. No byte of any file changes.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct ForeignFiles {
  private static let table =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');"

  private func message(_ body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "no error"
    } catch { return "\(error)" }
  }

  @Test func `files that cannot be imported are refused, each with advice`() async throws {
    let lab = try AdoptionLab(Self.table)
    let folder = lab.folder
    try folder.write(Data(), to: "empty.db")
    try folder.write(Data("no database at all, but a text of some length".utf8), to: "text.db")
    var bytes = try Data(contentsOf: lab.file)
    for index in 4096 + 8..<4096 + 600 where index < bytes.count { bytes[index] = 0xA5 }
    try folder.write(bytes, to: "damaged.db")
    try folder.write(bytes.prefix(700), to: "cut.db")
    try await lab.adopt()
    try Connection.open(lab.store.path, key: testKey).exportPlaintext(to: folder.path("ours.db"))
    let nothing = try AdoptionLab("CREATE TABLE t (a); DROP TABLE t;")
    for (file, words) in [
      ("absent.db", ["absent.db"]), ("empty.db", ["empty"]),
      ("text.db", ["if it is encrypted, give its key"]),
      ("damaged.db", ["damaged"]), ("cut.db", ["cut.db"]), ("ours.db", ["store of ObjectVault"]),
      (".", [folder.url.lastPathComponent]),
    ] {
      let before = folder.names
      let said = await message {
        _ = try await Store.planAdoption(of: folder.url.appendingPathComponent(file), key: nil)
      }
      for word in words { #expect(said.contains(word), "\(file): \(said)") }
      #expect(folder.names == before)
    }
    #expect(await message { _ = try await nothing.plan() }.contains("has no tables"))
    let wrong = await message {
      _ = try await Store.planAdoption(of: lab.store, key: .raw([UInt8](repeating: 9, count: 32)))
    }
    #expect(wrong.contains("new.store"), "\(wrong)")
    #expect(
      await message { _ = try await Store.planAdoption(of: lab.store, key: testKey) }.contains(
        "store of ObjectVault"))
    // An existing file is not overwritten.
    let store = try Data(contentsOf: lab.store)
    #expect(await message { try await lab.adopt() }.contains("new.store"))
    #expect(try Data(contentsOf: lab.store) == store)
  }

  @Test func `an encrypted file is imported with its key`() async throws {
    let folder = try TemporaryFolder()
    let (old, new) = (
      folder.url.appendingPathComponent("old.db"), folder.url.appendingPathComponent("new.store")
    )
    let oldKey = Key.passphrase("old horse")
    _ = try Connection.create(old.path, key: oldKey) { try $0.executeScript(Self.table) }
    let bytes = try Data(contentsOf: old)
    let set = try MigrationSet([try await Store.planAdoption(of: old, key: oldKey).step])
    try await Store.adopt(old, fileKey: oldKey, into: new, key: testKey, migrations: set)
    #expect(
      try Connection.open(new.path, key: testKey).rows("SELECT id, a FROM T") == [[1, "x"], [2, "y"]])
    #expect(try Data(contentsOf: old) == bytes && folder.names == ["new.store", "old.db"])
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3"))
  func `rows in a write-ahead log are imported, and neither file nor log changes`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("log.db")
    let script = """
      import os, sqlite3, sys
      db = sqlite3.connect(sys.argv[1], isolation_level=None)
      db.execute("PRAGMA journal_mode=wal")
      db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
      db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      db.execute("INSERT INTO t VALUES (1, 'in the log')")
      os._exit(0)
      """
    let made = try runTool("/usr/bin/python3", ["-c", script, path])
    #expect(made.status == 0 && folder.names.contains("log.db-wal"), "\(made)")
    let before = try folder.names.map { try folder.bytes($0) }
    let file = URL(fileURLWithPath: path)
    let adoption = try await Store.planAdoption(of: file, key: nil)
    #expect(adoption.tables.map(\.rows) == [1])
    let names = folder.names
    #expect(try names.map { try folder.bytes($0) } == before)
    let store = folder.url.appendingPathComponent("new.store")
    try await Store.adopt(
      file, fileKey: nil, into: store, key: testKey, migrations: MigrationSet([adoption.step]))
    #expect(try Connection.open(store.path, key: testKey).rows("SELECT a FROM T") == [["in the log"]])
  }

  @Test func `an encrypted file with the tables of the steps becomes a store in place`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("tables.store")
    let set = try DowngradeLab.set([
      "create entity A {\n attribute n string unique\n}", "add attribute A.m int default 0", "add index A(m)",
    ])
    let sql = try set.model(at: 2).rendered(as: .sql).text
    _ = try Connection.create(url.path, key: testKey) {
      try $0.executeScript(sql + "INSERT INTO A(id, n) VALUES (4, 'x'); CREATE TABLE other (a)")
    }
    let bytes = try Data(contentsOf: url)
    #expect(
      await message { try await Store.adoptInPlace(url, key: testKey, migrations: set) }.contains(
        "its tables differ from those of the steps"))
    #expect(try Data(contentsOf: url) == bytes)
    // An object that the store's own verify would report.
    #expect(
      await message { try await Store.adoptInPlace(url, key: testKey, migrations: set.upTo(2)) }.contains(
        "the table other is not part of the store"))
    #expect(try Data(contentsOf: url) == bytes)
    try Connection.open(url.path, key: testKey).execute("DROP TABLE other")
    try await Store.adoptInPlace(url, key: testKey, migrations: set.upTo(2))
    #expect(try await Store.plan(at: url, key: testKey, migrations: set.upTo(2)).drift.isEmpty)
    #expect(
      await message { try await Store.adoptInPlace(url, key: testKey, migrations: set.upTo(2)) }.contains(
        "already a store"))
    #expect(
      try await Store.history(at: url, key: testKey).map { "\($0.kind) \($0.number)" } == [
        "baseline 1", "baseline 2",
      ])
    #expect(try await Store.migrate(at: url, key: testKey, migrations: set).steps == [3])
    #expect(try Connection.open(url.path, key: testKey).rows("SELECT id, n, m FROM A") == [[4, "x", 0]])
  }
}
