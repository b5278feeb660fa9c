// An app of version 1 with a store of version 2, whose step admits such an app. The app works as before,
// and parts of the file that it does not know are no faults to it.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Item: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute var count: Int
  @ToMany(inverse: \Gear.item, onDelete: .cascade) var parts: Set<Gear>
}

private final class Gear: ManagedObject {
  @Attribute var size: Int
  @ToOne var item: Item?
}

@Suite struct OlderApps {
  private static let schema = Schema {
    Entity(Item.self)
    Entity(Gear.self)
  }

  @Test(arguments: [
    "add attribute Item.note string optional", "add attribute Item.level int default 3",
    "add index Item(count)",
    "add attribute Item.code int unique optional", "create entity Extra {\n attribute n int\n}",
    "create entity Label {\n attribute text string\n relationship item -> Item required\n}\n"
      + "add relationship Item.labels -> Label many inverse Label.item on delete cascade\n"
      + "seed { INSERT INTO $Label ($Label.text, $Label.item) SELECT 'x', $Item.id FROM $Item }",
    "add relationship Item.next -> Item\ntransform sql { UPDATE $Item SET $Item.next = 1 }",
    "create raw view Names { SELECT $Item.name FROM $Item }",
    "create raw index ByLength { ON $Item (length($Item.name)) }",
  ])
  func `an older app that a step admits saves, deletes and verifies as before`(_ up: String) async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let lines = try MigrationSet([MigrationStep]()).proposal(for: Self.schema).lines.joined(separator: "\n")
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(lines)\n"),
      MigrationStep(number: 2, name: "more", text: "format: 1\nreader: 1\n[up]\n\(up)\n"),
    ])
    #expect(try !set.findings().contains { $0.rule == MigrationFinding.Rule.readerTooOld })
    func open() async throws -> Store {
      try await Store.open(at: url, key: testKey, schema: Self.schema, migrations: .set(set.upTo(1)))
    }
    func fill(_ names: Range<Int>) async throws {
      let store = try await open()
      defer { store.close() }
      try await store.write { context in
        for number in names {
          let item = context.insert(Item.self) { ($0.name, $0.count) = ("item \(number)", number) }
          context.insert(Gear.self) { ($0.size, $0.item) = (number, item) }
        }
      }
      #expect(try await store.verify().isEmpty)
    }
    try await fill(0..<20)
    try await Store.migrate(at: url, key: testKey, migrations: set)
    try await fill(20..<40)
    let store = try await open()
    try await store.write { context in
      for item in try context.fetch(Item.self).where("count < 30").all() {
        if item.count % 2 == 0 { context.delete(item) } else { item.name += " changed" }
      }
    }
    #expect(try await store.verify().isEmpty)
    let left = try await store.read { context in
      try (context.fetch(Item.self).sorted(by: \.id).all().map(\.name), context.fetch(Gear.self).count())
    }
    store.close()
    let expected = (0..<40).filter { $0 >= 30 || $0 % 2 == 1 }.map {
      "item \($0)\($0 < 30 ? " changed" : "")"
    }
    #expect(left == (expected, 25))
    // The newer app finds no fault either.
    let newer = try await Store.open(at: url, key: testKey)
    #expect(try await newer.verify().isEmpty)
    newer.close()
    #expect(try await Store.plan(at: url, key: testKey, migrations: set).isUpToDate)
  }

  @Test func `plans of a locked store wait for the busy timeout, and then fail`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let lines = try MigrationSet([MigrationStep]()).proposal(for: Self.schema).lines.joined(separator: "\n")
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(lines)\n")
    ])
    try await Store.create(at: url, key: testKey, migrations: set)
    let holder = try Connection.open(url.path, key: testKey)
    defer { holder.close() }
    try holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    try holder.execute("UPDATE vault_meta SET value = value")
    for isBack in [false, true] {
      await #expect {
        if isBack {
          _ = try await Store.planDowngrade(at: url, key: testKey, to: 0, migrations: set, busyTimeout: 0.2)
        } else {
          _ = try await Store.plan(at: url, key: testKey, migrations: set, busyTimeout: 0.2)
        }
      } throws: { if case SQLError.busy(_, waitedSeconds: 0.2..., _) = $0 { true } else { false } }
    }
  }
}
