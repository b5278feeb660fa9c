// The copy before a step: when it is made, what it holds, how many are kept.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct MigrationBackups {
  let folder: TemporaryFolder
  let url: URL
  static let first =
    "format: 1\n[up]\ncreate entity Note {\n attribute text string\n attribute old string optional\n}"

  init() async throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("notes.store")
    try await Store.create(at: url, key: .passphrase("horse"), migrations: Self.set([Self.first]))
    let connection = try Connection.open(url.path, key: .passphrase("horse"))
    try connection.executeScript(
      "INSERT INTO Note(id, text, old) VALUES (1, 'kept', 'canary'), (2, 'x', NULL)")
  }

  static func set(_ texts: [String]) throws -> MigrationSet {
    try MigrationSet(
      texts.enumerated().map { try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: $1) })
  }

  func migrate(_ steps: String..., makesBackups: Bool = true) async throws -> MigrationOutcome {
    try await Store.migrate(
      at: url, key: .passphrase("horse"), migrations: Self.set([Self.first] + steps),
      makesBackups: makesBackups, allowing: ["Note.old"])
  }

  var copies: [String] { folder.names.filter { $0.hasSuffix(".backup") } }

  @Test(arguments: [
    ("[up]\nadd attribute Note.a string optional", false),
    ("backup: always\n[up]\nadd attribute Note.a string optional", true),
    ("[up]\ndrop attribute Note.old", true), ("backup: never\n[up]\ndrop attribute Note.old", false),
    ("[up]\ntransform sql {\n UPDATE $Note SET $Note.text = 'y'\n}", true),
    ("[up]\nseed {\n INSERT INTO Note (id, text) VALUES (9, 'z')\n}", false),
  ])
  func `a step gets a copy when it loses or rewrites values, or says so`(_ step: String, _ expected: Bool)
    async throws
  {
    let step = "format: 1\n" + step.replacing("$Note.text", with: "text").replacing("$Note", with: "Note")
    let outcome = try await migrate(step)
    #expect(outcome.steps == [2])
    #expect((outcome.backup != nil) == expected)
    #expect(copies.count == (expected ? 1 : 0))
  }

  @Test func `the copy is the store as it was, under the same passphrase, and is named after its version`()
    async throws
  {
    let outcome = try await migrate("format: 1\n[up]\ndrop attribute Note.old")
    let backup = try #require(outcome.backup)
    #expect(backup.lastPathComponent.wholeMatch(of: #/notes\.store\.v1-\d{8}T\d{6}Z\.backup/#) != nil)
    let copy = try Connection.open(backup.path, key: .passphrase("horse"))
    #expect(try copy.rows("SELECT text, old FROM Note ORDER BY id") == [["kept", "canary"], ["x", .null]])
    #expect(try copy.userVersion() == 1)
    #expect(try Data(contentsOf: backup).range(of: Data("canary".utf8)) == nil)
    // And it is a store: it migrates like one.
    copy.close()
    let again = try await Store.migrate(
      at: backup, key: .passphrase("horse"),
      migrations: Self.set([Self.first, "format: 1\n[up]\ndrop attribute Note.old"]), makesBackups: false,
      allowing: ["Note.old"])
    #expect(again.steps == [2])
  }

  @Test func `a copy is made of indexes that only the store's own collations can read`() async throws {
    let step = "format: 1\n[up]\nadd attribute Note.price decimal optional indexed"
    _ = try await migrate(step)
    let connection = try Connection.open(url.path, key: .passphrase("horse"))
    try StoreInfo.prepare(connection)
    try connection.executeScript("UPDATE Note SET price = id || '.50'")
    connection.close()
    let outcome = try await migrate(step, "format: 1\nbackup: always\n[up]\ndrop attribute Note.old")
    #expect(outcome.steps == [3] && outcome.backup != nil && copies.count == 1)
  }

  @Test func `a step that fails leaves the store as it was, and no copy`() async throws {
    await #expect(throws: StoreError.self) {
      try await migrate("format: 1\n[up]\ndrop attribute Note.old\nrequire \"never\" {\n SELECT 0\n}")
    }
    #expect(copies.isEmpty)
    #expect(try Connection.open(url.path, key: .passphrase("horse")).userVersion() == 1)
  }

  @Test func `files of others are left alone, whatever they are called`() async throws {
    let others = [
      "notes.store.v1-20200101T000000Z.backup", "notes.store.v10-20210101T000000Z.backup",
      "notes.store.v9-20220101T000000Z.backup", "notes.store.v1-20910101T000000Z.backup",
      "notes.store.vacation.backup", "other.v1-20200101T000000Z.backup",
    ]
    for name in others { try folder.write(Data(count: 4096), to: name) }
    let backup = try #require(try await migrate("format: 1\n[up]\ndrop attribute Note.old").backup)
    #expect(Set(copies) == Set(others + [backup.lastPathComponent]))
  }

  @Test func `what is called like a copy and is none stays`() async throws {
    let names = (1...3).map { "notes.store.v1-200\($0)0101T000000Z.backup" }
    try folder.write(Data("my notes".utf8), to: names[0])
    try FileManager.default.createSymbolicLink(
      atPath: folder.path(names[1]), withDestinationPath: folder.path(names[0]))
    try FileManager.default.createDirectory(atPath: folder.path(names[2]), withIntermediateDirectories: true)
    _ = try await migrate("format: 1\n[up]\ndrop attribute Note.old")
    for name in names { #expect(folder.names.contains(name)) }
    #expect(try folder.bytes(names[0]) == Data("my notes".utf8))
  }

  @Test func `whoever opens may do without, and then keeps the copies that are there`() async throws {
    let old = (1...5).map { "notes.store.v\($0)-20200101T000000Z.backup" }
    for name in old { try folder.write(Data(), to: name) }
    let outcome = try await migrate("format: 1\n[up]\ndrop attribute Note.old", makesBackups: false)
    #expect(outcome.steps == [2] && outcome.backup == nil && copies == old)
  }

  @Test func `a path that no copy can be written to stops the migration before the first step`() async throws
  {
    // A name so long that the copy's would be longer than a file name may be.
    let long = folder.url.appendingPathComponent(String(repeating: "n", count: 225))
    try FileManager.default.moveItem(at: url, to: long)
    let error = await #expect(throws: StoreError.self) {
      try await Store.migrate(
        at: long, key: .passphrase("horse"),
        migrations: Self.set([Self.first, "format: 1\n[up]\ndrop attribute Note.old"]),
        allowing: ["Note.old"])
    }
    guard case .backupFailed(let file, _, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(file == long.path)
    #expect(try Connection.open(long.path, key: .passphrase("horse")).userVersion() == 1)
  }

  @Test func `a store whose name leaves no room for that of a copy says what to do`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent(String(repeating: "n", count: 215))
    let set = try DowngradeLab.set([
      "create entity A {\n attribute n string\n}", "transform sql { UPDATE $A SET $A.n = upper($A.n) }",
    ])
    try await Store.create(at: url, key: testKey, migrations: set.upTo(1))
    await #expect {
      try await Store.migrate(at: url, key: testKey, migrations: set)
    } throws: { error in
      guard case StoreError.backupFailed(_, _, let reason) = error else { return false }
      return reason.contains("leave room for the name of its journal")
        && reason.contains("give the store a shorter name, or migrate without a copy")
    }
    _ = try await Store.migrate(at: url, key: testKey, migrations: set, makesBackups: false)
  }
}
