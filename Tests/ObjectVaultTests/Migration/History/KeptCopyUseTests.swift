// Copies stay while they are in use or cannot be read. Openings by an app that lacks steps do not count.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Note: ManagedObject {
  @Attribute var text: String
}

@Suite struct KeptCopyUses {
  private static let rewriting = "transform sql { UPDATE $Note SET $Note.text = 'x' }"
  // The steps change nothing for the classes.
  private static let texts =
    ["create entity Note {\n attribute text string\n}"]
    + (2...4).map { _ in "backup: always\nreader: 1\n[up]\n\(rewriting)\n[down]\n\(rewriting)" }
  private let lab: DowngradeLab
  private let schema = Schema { Entity(Note.self) }

  init() async throws { lab = try await DowngradeLab(Self.texts, at: 1) }

  private var copies: [String] { lab.folder.names.filter { $0.hasSuffix(".backup") } }

  private func remembered() throws -> String {
    try lab.rows("SELECT value FROM vault_meta WHERE key = 'copies'").first?[0].string ?? ""
  }

  /// Opens the store as the app of a version does. The third opening deletes copies.
  private func open(_ version: Int) async throws {
    var configuration = Store.Configuration()
    configuration.backupOpenings = 3
    let store = try await Store.open(
      at: lab.url, key: testKey, schema: schema, migrations: .set(lab.set.upTo(version)),
      configuration: configuration)
    store.close()
  }

  @Test func `openings by an app that does not know all steps are not counted`() async throws {
    try await open(3)
    let made = copies
    #expect(made.count == 1)
    // The last step admits programs of version 1.
    for _ in 1...4 { try await open(1) }
    #expect(try copies == made && remembered().hasSuffix(" 0"))
    for _ in 1...3 { try await open(3) }
    #expect(copies.isEmpty)
  }

  @Test func `a copy stays while a connection reads it`() async throws {
    try await open(2)
    let name = try #require(copies.first)
    let reader = try Connection.open(lab.folder.path(name), key: testKey)
    try reader.execute("BEGIN")
    #expect(try reader.value("SELECT count(*) FROM Note") == 0)
    for _ in 1...4 { try await open(2) }
    #expect(copies == [name])
    reader.close()
    try await open(2)
    #expect(copies.isEmpty)
  }

  @Test func `a copy stays while it is open as a store`() async throws {
    try await open(2)
    let name = try #require(copies.first)
    let reader = try await Store.open(at: lab.folder.url.appendingPathComponent(name), key: testKey)
    #expect(try await reader.read { try $0.fetch(entity: "Note").count() } == 0)
    for _ in 1...4 { try await open(2) }
    #expect(copies == [name])
    // A newer copy does not replace it either.
    try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set.upTo(3))
    try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    #expect(copies.count == 3 && copies.contains(name))
    reader.close()
    // Then all copies are deleted, this one and the newer ones.
    for _ in 1...3 { try await open(4) }
    #expect(copies.isEmpty)
    try await Store.downgrade(at: lab.url, key: testKey, to: 2, migrations: lab.set)
    #expect(copies.count == 1 && !copies.contains(name), "\(lab.folder.names)")
  }

  @Test func `a copy with the journal of an unfinished change stays`() async throws {
    try await open(2)
    let name = try #require(copies.first)
    try lab.folder.write(Data("pages".utf8), to: "\(name)-journal")
    for _ in 1...4 { try await open(2) }
    #expect(copies == [name])
  }

  @Test func `a copy that cannot be read at present stays recorded`() async throws {
    try await open(2)
    let name = try #require(copies.first)
    // A file without permissions. Root may read any file, so for root it also gets another owner.
    let path = lab.folder.path(name)
    let own = (geteuid(), getegid())
    #expect(unsafe chmod(path, 0) == 0)
    if own.0 == 0 { #expect(unsafe chown(path, 1, 1) == 0) }
    for _ in 1...4 { try await open(2) }
    #expect(try copies == [name] && remembered().hasPrefix("v1-"))
    if own.0 == 0 { #expect(unsafe chown(path, own.0, own.1) == 0) }
    #expect(unsafe chmod(path, 0o600) == 0)
    try await open(2)
    #expect(copies.isEmpty)
  }

  @Test func `the copies that stay are the last ones that the store recorded, whatever the clock was`()
    async throws
  {
    func up(_ version: Int) async throws {
      try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set.upTo(version))
    }
    try await up(2)
    // A copy that was made while the clock was years ahead.
    let first = try #require(copies.first)
    try FileManager.default.moveItem(
      atPath: lab.folder.path(first), toPath: lab.folder.path("lab.store.v1-20900101T000000Z.backup"))
    try lab.run("UPDATE vault_meta SET value = 'v1-20900101T000000Z 0' WHERE key = 'copies'")
    try await up(3)
    try await up(4)
    let names = try remembered().split(separator: "\n").filter { !$0.hasSuffix(" leaving") }.map {
      "lab.store.\($0.split(separator: " ")[0]).backup"
    }
    #expect(names.count == 2 && copies == names.sorted() && !copies.contains { $0.contains(".v1-") })
  }
}
