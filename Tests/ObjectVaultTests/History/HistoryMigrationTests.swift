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
    #expect(try await again.history().map(\.lines) == [["changed by SQL: Jotting"], ["inserted Jotting 2"]])
    #expect(try await again.history()[0].kind == .step(2))
    again.close()
    let third = try await Store.open(at: url, key: testKey, schema: with, migrations: .automatic)
    #expect(third.opening.automaticStep == nil)
    third.close()
  }

  @Test func `what was changed without a history is a gap when the history begins again`() async throws {
    let texts = [
      Self.texts[0], "set history of Note to none", "set history of Note to changes",
      "create entity Mark : Note {\n}",
    ]
    try await Store.create(at: url, key: testKey, migrations: set(1))
    try await write { _ = try $0.insert(entity: "Note") { $0["title"] = "a" } }
    let first = try #require(try await history().last?.token)
    for count in 2...4 {
      let steps = try MigrationSet(
        texts.prefix(count).enumerated().map { index, text in
          try MigrationStep(number: index + 1, name: "s\(index + 1)", text: "format: 1\n[up]\n\(text)")
        })
      try await Store.migrate(at: url, key: testKey, migrations: steps, makesBackups: false)
      try await write { try $0.fetch(entity: "Note").all().forEach { $0["title"] = "title \(count)" } }
    }
    let all = try await history()
    #expect(all.map(\.kind) == [.changes, .step(2), .step(3), .changes, .step(4), .changes])
    #expect(
      all[4].lines.isEmpty && all[1].lines == ["changed by SQL: Note"]
        && all[2].lines == ["changed by SQL: Note"])
    let store = try await Store.open(at: url, key: testKey)
    defer { store.close() }
    let id = DynamicID(entity: "Note", rowID: 1)
    #expect(try await store.values(of: id, at: all[3].token)?.values["title"] == "title 3")
    await #expect {
      try await store.values(of: id, at: first)
    } throws: {
      if case StoreError.stateUnknown(entity: "Note", rowID: 1, _) = $0 { true } else { false }
    }
  }

  @Test func `a name that is used again is another entity or property`() async throws {
    let texts = [
      "create entity Memo history full {\n attribute title string optional\n}\n"
        + "create entity Note history full {\n attribute title string optional\n}",
      "allow: lossy:Note\n[up]\ndrop entity Note", "rename entity Memo -> Note",
      "allow: lossy:Note.title\n[up]\ndrop attribute Note.title\nadd attribute Note.text string optional",
      "rename attribute Note.text -> title",
    ]
    func set(_ count: Int) throws -> MigrationSet {
      try MigrationSet(
        texts.prefix(count).enumerated().map { index, text in
          try MigrationStep(
            number: index + 1, name: "s\(index + 1)",
            text: "format: 1\n\(text.contains("[up]") ? "" : "[up]\n")\(text)")
        })
    }
    try await Store.create(at: url, key: testKey, migrations: set(1))
    try await write { context in
      for name in ["Memo", "Note"] { _ = try context.insert(entity: name) { $0["title"] = name } }
    }
    try await Store.migrate(at: url, key: testKey, migrations: set(4), makesBackups: false)
    try await write { try $0.fetch(entity: "Note").all().forEach { $0["text"] = "new" } }
    try await Store.migrate(at: url, key: testKey, migrations: set(5), makesBackups: false)
    let all = try await history()
    #expect(Set(all[0].lines) == ["inserted Note 1", "inserted Note@2 1"])
    let old = Dictionary(uniqueKeysWithValues: all[0].changes.inserted.map { ($0.entity, $0.values) })
    #expect(old == ["Note": ["title@4": "Memo"], "Note@2": ["title": "Note"]])
    #expect(all.last?.kind == .step(5) && all[all.count - 2].changes.updated[0].new == ["title": "new"])
    let store = try await Store.open(at: url, key: testKey)
    defer { store.close() }
    #expect(!all[0].isReversible)
    await #expect {
      try await store.undo(all[0])
    } throws: {
      "\($0)".contains("a later step removed Note") || "\($0)".contains("a later step removed title")
    }
    #expect(
      try await store.history(HistoryRequest().of(DynamicID(entity: "Note", rowID: 1)).newestFirst()).last?
        .lines == ["inserted Note 1"])
  }

  @Test func `a deleted object comes back with the default of an attribute that a later step has added`()
    async throws
  {
    try await Store.create(at: url, key: testKey, migrations: set(1))
    try await write { _ = try $0.insert(entity: "Note") { ($0["title"], $0["body"]) = ("a", "b") } }
    try await write { try $0.fetch(entity: "Note").delete() }
    try await up(to: 3)
    let store = try await Store.open(at: url, key: testKey)
    defer { store.close() }
    try await store.undo(try #require(try await store.history().first { $0.lines == ["deleted Page 1"] }))
    let values = try await store.values(of: DynamicID(entity: "Page", rowID: 1), at: store.historyToken())
    #expect(values?.values == ["headline": "a", "body": "b", "stars": 0])
  }

  @Test func `a step that stores links elsewhere is a gap`() async throws {
    let texts = [
      "create entity Note history full {\n attribute title string\n relationship others -> Note many\n}",
      "make Note.others one",
    ]
    func set(_ count: Int) throws -> MigrationSet {
      try MigrationSet(
        texts.prefix(count).enumerated().map { index, text in
          try MigrationStep(
            number: index + 1, name: "s\(index + 1)",
            text: "format: 1\nallow: lossy:Note.others\n[up]\n\(text)")
        })
    }
    try await Store.create(at: url, key: testKey, migrations: set(1))
    try await write { context in
      let notes = try (0..<2).map { number in try context.insert(entity: "Note") { $0["title"] = "\(number)" }
      }
      try notes[0].add(notes[1], to: "others")
    }
    try await Store.migrate(at: url, key: testKey, migrations: set(2), makesBackups: false)
    let all = try await history()
    #expect(all.last?.lines == ["changed by SQL: Note"])
  }

  @Test func `objects that change tables, and those of a new entity, have no known earlier states`()
    async throws
  {
    let texts = [
      "create entity Base history full {\n attribute title string optional\n}\n"
        + "create entity Note history full {\n attribute title string optional\n}",
      "set parent of Note to Base",
      "create entity Tag history full {\n attribute word string\n}\nseed { INSERT INTO $Tag($Tag.word) VALUES ('a') }",
    ]
    func set(_ count: Int) throws -> MigrationSet {
      try MigrationSet(
        texts.prefix(count).enumerated().map { index, text in
          try MigrationStep(number: index + 1, name: "s\(index + 1)", text: "format: 1\n[up]\n\(text)")
        })
    }
    try await Store.create(at: url, key: testKey, migrations: set(1))
    try await write { context in
      for name in ["Base", "Note"] { _ = try context.insert(entity: name) { $0["title"] = name } }
    }
    let token = try #require(try await history().last?.token)
    try await Store.migrate(at: url, key: testKey, migrations: set(3), makesBackups: false)
    let all = try await history()
    #expect(Set(all[0].lines) == ["inserted Base 1", "inserted Note@2 1"])
    #expect(all[2].lines.contains("changed by SQL: Tag"))
    let store = try await Store.open(at: url, key: testKey)
    defer { store.close() }
    let note = try await store.read { try $0.fetch(entity: "Note").one().id }
    for id in [note, DynamicID(entity: "Tag", rowID: 1)] {
      await #expect {
        try await store.values(of: id, at: token)
      } throws: {
        if case StoreError.stateUnknown = $0 { true } else { false }
      }
    }
  }

  @Test func `a program with the model before the history may not write past it`() async throws {
    let steps = try MigrationSet([
      MigrationStep(
        number: 1, name: "one",
        text: "format: 1\n[up]\ncreate entity Jotting {\n attribute text string default \"\"\n}"),
      MigrationStep(
        number: 2, name: "two", text: "format: 1\nreader: 1\n[up]\nset history of Jotting to full"),
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
