// The copy before a step: when it is made, what it contains, which copies are kept.

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
  func `a copy is made before a step that loses or rewrites values, or that requests one`(
    _ step: String, _ expected: Bool
  ) async throws {
    let step = "format: 1\n" + step.replacing("$Note.text", with: "text").replacing("$Note", with: "Note")
    let outcome = try await migrate(step)
    #expect(outcome.steps == [2])
    #expect((outcome.backup != nil) == expected)
    #expect(copies.count == (expected ? 1 : 0))
  }

  @Test func `the copy is the store before the step, with its passphrase, and is named after its version`()
    async throws
  {
    let outcome = try await migrate("format: 1\n[up]\ndrop attribute Note.old")
    let backup = try #require(outcome.backup)
    #expect(backup.lastPathComponent.wholeMatch(of: #/notes\.store\.v1-\d{8}T\d{6}Z\.backup/#) != nil)
    let copy = try Connection.open(backup.path, key: .passphrase("horse"))
    #expect(try copy.rows("SELECT text, old FROM Note ORDER BY id") == [["kept", "canary"], ["x", .null]])
    #expect(try copy.userVersion() == 1)
    #expect(try Data(contentsOf: backup).range(of: Data("canary".utf8)) == nil)
    // The copy is a store, so it can be migrated.
    copy.close()
    let again = try await Store.migrate(
      at: backup, key: .passphrase("horse"),
      migrations: Self.set([Self.first, "format: 1\n[up]\ndrop attribute Note.old"]), makesBackups: false,
      allowing: ["Note.old"])
    #expect(again.steps == [2])
  }

  @Test func `a copy can be made of indexes that need the store's own collations`() async throws {
    let step = "format: 1\n[up]\nadd attribute Note.price decimal optional indexed"
    _ = try await migrate(step)
    let connection = try Connection.open(url.path, key: .passphrase("horse"))
    try StoreInfo.prepare(connection)
    try connection.executeScript("UPDATE Note SET price = id || '.50'")
    connection.close()
    let outcome = try await migrate(step, "format: 1\nbackup: always\n[up]\ndrop attribute Note.old")
    #expect(outcome.steps == [3] && outcome.backup != nil && copies.count == 1)
  }

  @Test func `a step that fails leaves the store unchanged, and no copy`() async throws {
    await #expect(throws: StoreError.self) {
      try await migrate("format: 1\n[up]\ndrop attribute Note.old\nrequire \"never\" {\n SELECT 0\n}")
    }
    #expect(copies.isEmpty)
    #expect(try Connection.open(url.path, key: .passphrase("horse")).userVersion() == 1)
  }

  @Test func `files that are not copies of the store stay, whatever their names are`() async throws {
    let others = [
      "notes.store.v1-20200101T000000Z.backup", "notes.store.v10-20210101T000000Z.backup",
      "notes.store.v9-20220101T000000Z.backup", "notes.store.v1-20910101T000000Z.backup",
      "notes.store.vacation.backup", "other.v1-20200101T000000Z.backup",
    ]
    for name in others { try folder.write(Data(count: 4096), to: name) }
    let backup = try #require(try await migrate("format: 1\n[up]\ndrop attribute Note.old").backup)
    #expect(Set(copies) == Set(others + [backup.lastPathComponent]))
  }

  @Test func `a file, a link and a folder with names of copies stay`() async throws {
    let names = (1...3).map { "notes.store.v1-200\($0)0101T000000Z.backup" }
    try folder.write(Data("my notes".utf8), to: names[0])
    try FileManager.default.createSymbolicLink(
      atPath: folder.path(names[1]), withDestinationPath: folder.path(names[0]))
    try FileManager.default.createDirectory(atPath: folder.path(names[2]), withIntermediateDirectories: true)
    _ = try await migrate("format: 1\n[up]\ndrop attribute Note.old")
    for name in names { #expect(folder.names.contains(name)) }
    #expect(try folder.bytes(names[0]) == Data("my notes".utf8))
  }

  @Test func `makesBackups set to false makes no copy, and keeps the existing files`() async throws {
    let old = (1...5).map { "notes.store.v\($0)-20200101T000000Z.backup" }
    for name in old { try folder.write(Data(), to: name) }
    let outcome = try await migrate("format: 1\n[up]\ndrop attribute Note.old", makesBackups: false)
    #expect(outcome.steps == [2] && outcome.backup == nil && copies == old)
  }

  @Test func `a migration whose copy cannot be written fails before its first step`() async throws {
    // The copy's name would be longer than a file name may be.
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

  @Test func `the error for a store name too long for a copy's name states what to do`() async throws {
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
