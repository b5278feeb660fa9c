// How long the copies before steps are kept: a copy is deleted after a number of openings without a step to
// run. No other file is deleted.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Note: ManagedObject {
  @Attribute var text: String
}

@Suite struct KeptCopyCounts {
  private let folder: TemporaryFolder
  private var url: URL { folder.url.appendingPathComponent("notes.store") }
  private let schema = Schema { Entity(Note.self) }
  private let steps: MigrationSet

  init() async throws {
    folder = try TemporaryFolder()
    steps = try MigrationSet([
      MigrationStep(
        number: 1, name: "s1",
        text:
          "format: 1\n[up]\ncreate entity Note {\n attribute text string\n attribute old string optional\n}\n"
      ),
      MigrationStep(
        number: 2, name: "s2", text: "format: 1\nallow: lossy:Note.old\n[up]\ndrop attribute Note.old\n"),
    ])
    try await Store.create(at: url, key: testKey, migrations: steps.upTo(1))
  }

  private func open(_ openings: Int? = 5) async throws -> Store.Opening {
    var configuration = Store.Configuration()
    configuration.backupOpenings = openings
    let store = try await Store.open(
      at: url, key: testKey, schema: schema, migrations: .set(steps), configuration: configuration)
    defer { store.close() }
    return store.opening
  }

  private var copies: [String] { folder.names.filter { $0.hasSuffix(".backup") } }

  /// The store's record of its copies.
  private func remembered() throws -> String? {
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    return try connection.value("SELECT value FROM vault_meta WHERE key = 'copies'")?.string
  }

  @Test func `a copy is deleted at the fifth opening after the one that made it`() async throws {
    let copy = try #require(try await open().backup?.lastPathComponent)
    for opening in 1...4 {
      #expect(try await open().migratedSteps == [] && copies == [copy], "\(opening)")
      #expect(try remembered()?.hasSuffix(" \(opening)") == true)
    }
    _ = try await open()
    #expect(try copies.isEmpty && remembered() == "")
    _ = try await open()
    #expect(folder.names == ["notes.store"])
  }

  @Test func `without a limit a copy stays, and with a lower limit it is deleted earlier`() async throws {
    let copy = try #require(try await open(nil).backup?.lastPathComponent)
    for _ in 1...7 { _ = try await open(nil) }
    #expect(try copies == [copy] && remembered()?.hasSuffix(" 0") == true)
    _ = try await open(2)
    #expect(copies == [copy])
    _ = try await open(2)
    #expect(copies.isEmpty)
  }

  @Test func `a user's files with names of copies stay, also one that replaced a copy`() async throws {
    let other = "notes.store.v1-20200101T000000Z.backup"
    try folder.write(Data(count: 4096), to: other)
    let copy = try #require(try await open().backup?.lastPathComponent)
    // The same name and whole pages, but no copy of this store.
    let mine = Data((0..<8192).map { UInt8(truncatingIfNeeded: $0) })
    try FileManager.default.removeItem(atPath: folder.path(copy))
    try folder.write(mine, to: copy)
    for _ in 1...6 { _ = try await open() }
    #expect(copies == [other, copy].sorted())
    #expect(try folder.bytes(copy) == mine)
  }

  @Test func `a copy of the store that the store did not record stays`() async throws {
    let copy = try #require(try await open().backup?.lastPathComponent)
    let second = "notes.store.v1-20200101T000000Z.backup"
    try FileManager.default.copyItem(atPath: folder.path(copy), toPath: folder.path(second))
    for _ in 1...6 { _ = try await open() }
    #expect(copies == [second])
  }

  @Test func `only the oldest copies that the store made are deleted, and none that a user made`()
    async throws
  {
    // By their names, one is older than all of the store's own copies, and one is newer.
    let others = ["notes.store.v1-20200101T000000Z.backup", "notes.store.v1-20990101T000000Z.backup"]
    for name in others { try FileManager.default.copyItem(atPath: url.path, toPath: folder.path(name)) }
    let further = try MigrationSet(
      steps.steps
        + (3...6).map {
          try MigrationStep(
            number: $0, name: "s\($0)",
            text: "format: 1\nbackup: always\n[up]\nadd attribute Note.a\($0) int default 0\n")
        })
    var made: [String] = []
    for version in 2...6 {
      let outcome = try await Store.migrate(
        at: url, key: testKey, migrations: further.upTo(version))
      made.append(try #require(outcome.backup).lastPathComponent)
      #expect(copies == (others + made.suffix(2)).sorted(), "\(version)")
    }
  }

  @Test func `opening a store without copies writes no byte`() async throws {
    try await Store.migrate(at: url, key: testKey, migrations: steps, makesBackups: false)
    _ = try await open()
    let before = try folder.bytes("notes.store")
    _ = try await open()
    #expect(try folder.bytes("notes.store") == before && remembered() == nil)
  }

  @Test func `an opening while another connection writes does not wait, and is not counted`() async throws {
    let copy = try #require(try await open().backup?.lastPathComponent)
    let other = try Connection.open(url.path, key: testKey)
    try other.execute("BEGIN IMMEDIATE")
    var configuration = Store.Configuration()
    // An opening that waited for the lock would fail, or last a day.
    configuration.busyTimeout = 86_400
    let store = try await Store.open(
      at: url, key: testKey, schema: schema, migrations: .set(steps), configuration: configuration)
    #expect(store.opening.migratedSteps == [] && copies == [copy])
    try other.execute("ROLLBACK")
    other.close()
    store.close()
    #expect(try remembered()?.hasSuffix(" 0") == true)
  }

  @Test(arguments: ["v2 one", "../../x 9", "v1-20200101T000000Z -4", ""])
  func `an invalid record of copies deletes no file`(_ text: String) async throws {
    let copy = try #require(try await open().backup?.lastPathComponent)
    let connection = try Connection.open(url.path, key: testKey)
    try connection.execute("UPDATE vault_meta SET value = ? WHERE key = 'copies'", [.text(text)])
    connection.close()
    for _ in 1...6 { _ = try await open() }
    #expect(copies == [copy])
  }
}
