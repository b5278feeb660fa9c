// Histories through migration steps: names, records of steps, formats, and other programs.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HistoryMigrations {
  private static let texts = [
    "create entity Note history full {\n attribute title string\n attribute body string optional\n}\n"
      + "create entity Plain {\n attribute n int\n}",
    "rename attribute Note.title -> headline\nadd attribute Note.stars int default 0",
    "rename entity Note -> Page",
    "allow: lossy:Page.body\n[up]\ndrop attribute Page.body",
    "add attribute Page.body string optional",
    "transform sql { UPDATE $Page SET $Page.stars = 5 }",
    "set history of Page to none\nset history of Plain to changes",
    "set history of Plain to none",
  ]

  private let folder: TemporaryFolder
  private var url: URL { folder.url.appendingPathComponent("a.store") }

  init() throws { folder = try TemporaryFolder() }

  private func set(_ count: Int) throws -> MigrationSet {
    try MigrationSet(
      Self.texts.prefix(count).enumerated().map { index, text in
        try MigrationStep(
          number: index + 1, name: "s\(index + 1)",
          text: "format: 1\n\(text.contains("[up]") ? "" : "[up]\n")\(text)")
      })
  }

  private func up(to count: Int) async throws {
    try await Store.migrate(at: url, key: testKey, migrations: set(count), makesBackups: false)
  }

  /// Runs a body in a write of the store, which is closed afterwards.
  private func write(_ body: @escaping @Sendable (ObjectContext) throws -> Void) async throws {
    let store = try await Store.open(at: url, key: testKey)
    try await store.write(body)
    store.close()
  }

  private func history() async throws -> [HistoryTransaction] {
    let store = try await Store.open(at: url, key: testKey)
    defer { store.close() }
    #expect(try await store.verify() == [])
    return try await store.history()
  }

  private func format() throws -> SQLValue? {
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    return try connection.value("SELECT value FROM vault_meta WHERE key = 'format'")
  }

  @Test func `names follow renamings, what was removed has the version of the model that lacks it`()
    async throws
  {
    try await Store.create(at: url, key: testKey, migrations: set(1))
    try await write { context in
      _ = try context.insert(entity: "Note") { ($0["title"], $0["body"]) = ("a", "b") }
    }
    try await up(to: 3)
    let renamed = try await history()
    #expect(renamed[0].lines == ["inserted Page 1"])
    #expect(renamed[0].changes.inserted[0].values == ["headline": "a", "body": "b"])
    #expect(renamed[0].modelVersion == 1)
    #expect(renamed.map(\.kind) == [.changes, .step(2), .step(3)])
    #expect(renamed.map(\.name) == [nil, "0002 s2", "0003 s3"])
    // Neither step has changed values that were recorded.
    #expect(renamed.allSatisfy { $0.changes.changedBySQL.isEmpty })
    try await up(to: 5)
    try await write { context in
      for page in try context.fetch(entity: "Page").all() { page["body"] = "new" }
    }
    try await up(to: 6)
    let all = try await history()
    #expect(all[0].changes.inserted[0].values == ["headline": "a", "body@4": "b"])
    let update = try #require(all.first { $0.lines == ["updated Page 1: body"] })
    #expect(update.changes.updated[0].new == ["body": "new"] && update.modelVersion == 5)
    #expect(all.last?.kind == .step(6) && all.last?.lines == ["changed by SQL: Page"])
  }

  @Test func `a rollback is recorded and gives names back`() async throws {
    try await Store.create(at: url, key: testKey, migrations: set(1))
    try await up(to: 3)
    try await write { context in _ = try context.insert(entity: "Page") { $0["headline"] = "x" } }
    try await Store.downgrade(
      at: url, key: testKey, to: 1, migrations: set(3), makesBackups: false, allowing: ["Note.stars"])
    let all = try await history()
    #expect(all.map(\.kind) == [.step(2), .step(3), .changes, .rollback(3), .rollback(2)])
    #expect(all[2].changes.inserted[0].entity == "Note")
    #expect(all[2].changes.inserted[0].values == ["title": "x", "stars@1": 0])
  }

  @Test func `the format tells older programs that there is a history, and only then`() async throws {
    try await Store.create(at: url, key: testKey, migrations: set(1))
    #expect(try format() == 4)
    try await up(to: 7)
    #expect(try format() == 4)
    try await write { context in
      _ = try context.insert(entity: "Page") { $0["headline"] = "not recorded" }
      _ = try context.insert(entity: "Plain") { $0["n"] = 1 }
    }
    let last = try #require(try await history().last)
    #expect(last.lines == ["inserted Plain 1"])
    try await up(to: 8)
    #expect(try format() == 3)
    try await write { context in _ = try context.insert(entity: "Plain") { $0["n"] = 2 } }
    // What was recorded stays.
    #expect(try await history().map(\.kind).last == .step(8))
    #expect(try await history().count == 8)
  }

  @Test func `classes with and without a history are different models`() async throws {
    let with = Schema { Entity(Jotting.self).history() }
    let without = Schema { Entity(Jotting.self) }
    let store = try await Store.open(at: url, key: testKey, schema: without, migrations: .automatic)
    try await store.write { _ = $0.insert(Jotting.self) { $0.text = "a" } }
    store.close()
    await #expect {
      _ = try await Store.open(at: url, key: testKey, schema: with, migrations: .creatingSchema)
    } throws: {
      let text = "\($0)"
      return text.contains("Jotting has no history in the store and has the history full in the Swift schema")
        && text.contains("set history of Jotting to full")
    }
    let again = try await Store.open(at: url, key: testKey, schema: with, migrations: .automatic)
    #expect(again.opening.automaticStep?.text.contains("set history of Jotting to full") == true)
    try await again.write { _ = $0.insert(Jotting.self) { $0.text = "b" } }
    #expect(try await again.history().map(\.lines) == [["inserted Jotting 2"]])
    again.close()
    let third = try await Store.open(at: url, key: testKey, schema: with, migrations: .automatic)
    #expect(third.opening.automaticStep == nil)
    third.close()
  }

  @Test func `a program with the model before the history may not write past it`() async throws {
    let steps = try MigrationSet([
      MigrationStep(
        number: 1, name: "one",
        text: "format: 1\n[up]\ncreate entity Jotting {\n attribute text string default \"\"\n}"),
      MigrationStep(number: 2, name: "two", text: "format: 1\n[up]\nset history of Jotting to full"),
    ])
    #expect(steps.steps[1].operations.map(\.description) == ["set history of Jotting to full"])
    let old = try MigrationSet(Array(steps.steps.prefix(1)))
    try await Store.create(at: url, key: testKey, migrations: steps)
    await #expect {
      _ = try await Store.open(
        at: url, key: testKey, schema: Schema { Entity(Jotting.self) }, migrations: .set(old))
    } throws: {
      if case StoreError.storeIsNewer = $0 { true } else { false }
    }
  }
}
