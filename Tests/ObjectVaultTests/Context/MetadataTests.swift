// Small values of the app about its store: their types, their transaction, and what keeps them.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct MetadataValues {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  /// The rows of the app in the file, as another connection reads them.
  private func stored(_ path: String? = nil) throws -> [String: SQLValue] {
    let rows = try Connection.open(path ?? store.url.path, key: testKey).rows(
      "SELECT key, value FROM vault_meta WHERE key LIKE 'app.%'")
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0].string ?? "", $0[1]) })
  }

  @Test func `values of every kind are read as they were set, and the shell shows them`() async throws {
    let (date, uuid) = (Date(timeIntervalSinceReferenceDate: 4.25), UUID())
    try await store.write { context in
      let metadata = context.metadata
      try metadata.set("text", to: "2026-11-30")
      try metadata.set("number", to: 42)
      try metadata.set("flag", to: true)
      try metadata.set("date", to: date)
      try metadata.set("data", to: Data([0, 1, 255]))
      try metadata.set("uuid", to: uuid)
      try metadata.set("decimal", to: Decimal(string: "0.10") ?? 0)
      try metadata.set("enum", to: Mood.cross)
      try metadata.set("json", to: Address(street: "A", number: 7))
      try metadata.set("", to: 1.5)
      try metadata.set("日本 'quoted' %", to: "\0x")
    }
    #expect(try await store.metadata("text", as: String.self) == "2026-11-30")
    #expect(try await store.metadata("number", as: Int.self) == 42)
    #expect(try await store.metadata("flag", as: Bool.self) == true)
    #expect(try await store.metadata("date", as: Date.self) == date)
    #expect(try await store.metadata("data", as: Data.self) == Data([0, 1, 255]))
    #expect(try await store.metadata("uuid", as: UUID.self) == uuid)
    #expect(try await store.metadata("decimal", as: Decimal.self) == Decimal(string: "0.1"))
    #expect(try await store.read { try $0.metadata.value("enum", as: Mood.self) } == .cross)
    #expect(
      try await store.read { try $0.metadata.value("json", as: Address.self) }
        == Address(street: "A", number: 7))
    #expect(try await store.metadata("", as: Double.self) == 1.5)
    #expect(try await store.metadata("日本 'quoted' %", as: String.self) == "\0x")
    #expect(try await store.metadata("missing", as: String.self) == nil)
    let rows = try stored()
    #expect(rows.count == 11)
    #expect(rows["app.text"] == "2026-11-30" && rows["app.number"] == 42 && rows["app.date"] == 4.25)
    #expect(rows["app.enum"] == "cross" && rows["app."] == 1.5)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a value of another type is an error, and NaN cannot be set`() async throws {
    try await store.write { try $0.metadata.set("a", to: "text") }
    await #expect(throws: StoreError.metadataUnreadable(name: "a", expected: "int")) {
      try await store.metadata("a", as: Int.self)
    }
    await #expect(throws: (any Error).self) {
      try await store.write { try $0.metadata.set("a", to: Double.nan) }
    }
    #expect(try stored() == ["app.a": "text"])
  }

  @Test func `a write commits values with its objects, and an error discards both`() async throws {
    struct Stop: Error {}
    try await store.write { context in
      context.insert(Genre.self) { $0.name = "a" }
      try context.metadata.set("count", to: 1)
    }
    await #expect(throws: Stop.self) {
      try await store.write { context in
        context.insert(Genre.self) { $0.name = "b" }
        try context.metadata.set("count", to: 2)
        try context.metadata.set("more", to: 2)
        try context.save()
        #expect(try context.metadata.value("count", as: Int.self) == 2 && context.hasChanges)
        throw Stop()
      }
    }
    #expect(try stored() == ["app.count": 1])
    #expect(try await store.read { try $0.fetch(Genre.self).count() } == 1)
    // A write that changes only metadata, and then throws, keeps the former value, too.
    await #expect(throws: Stop.self) {
      try await store.write { context in
        try context.metadata.set("count", to: 3)
        try context.save()
        throw Stop()
      }
    }
    #expect(try stored() == ["app.count": 1])
  }

  @Test func `a context of its own sees its values, and saves them with its objects or not at all`() throws {
    let (context, other) = (store.makeContext(), store.makeContext())
    try context.metadata.set("b", to: 1)
    try context.metadata.set("a", to: 2)
    context.insert(Genre.self) { $0.name = "a" }
    #expect(context.hasChanges)
    #expect(try context.metadata.value("b", as: Int.self) == 1 && context.metadata.names() == ["a", "b"])
    #expect(try other.metadata.value("b", as: Int.self) == nil && other.metadata.names().isEmpty)
    // Two objects with one unique value: nothing is saved, and everything stays pending.
    let second = context.insert(Genre.self) { $0.name = "a" }
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try stored().isEmpty && context.metadata.value("a", as: Int.self) == 2 && context.hasChanges)
    second.name = "b"
    try context.save()
    #expect(try stored() == ["app.a": 2, "app.b": 1] && !context.hasChanges)
    #expect(try other.metadata.value("b", as: Int.self) == 1)

    try context.metadata.remove("a")
    try context.metadata.set("b", to: 9)
    #expect(try context.metadata.names() == ["b"] && context.metadata.value("a", as: Int.self) == nil)
    context.rollback()
    #expect(try !context.hasChanges && context.metadata.value("b", as: Int.self) == 1)
    #expect(try context.metadata.names() == ["a", "b"])
    // Values alone.
    try context.metadata.remove("a")
    try context.metadata.set("b", to: Int?.none)
    try context.metadata.remove("never set")
    try context.save()
    #expect(try stored().isEmpty && !context.hasChanges)
  }

  @Test func `a context that only reads is refused`() async throws {
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { try $0.metadata.set("a", to: 1) }
    }
    await #expect(throws: StoreError.readOnlyContext) { try await store.read { try $0.metadata.remove("a") } }
  }

  @Test func `a commit of values alone notifies no listener, and is no gap`() async throws {
    let changes = store.changes()
    try await store.write { try $0.metadata.set("a", to: 1) }
    try await store.write { _ = $0.insert(Genre.self) { $0.name = "a" } }
    store.close()
    var found: [StoreChange] = []
    for await change in changes { found.append(change) }
    guard case .committed(let set) = found.first, found.count == 1 else {
      Issue.record("\(found)")
      return
    }
    #expect(set.inserted.map(\.entity) == ["Genre"])
  }

  @Test func `names of the store's own facts are names like any other`() async throws {
    let own = ["format", "version", "modelJSON", "generation", "minReader", "standing", "app.x"]
    try await store.write { context in for name in own { try context.metadata.set(name, to: "x") } }
    store.close()
    let again = try await temporary.again()
    #expect(try await again.read { try $0.metadata.names() } == own.sorted())
    #expect(try await again.verify().isEmpty)
  }

  @Test func `values survive copies, steps, rollbacks and a change of the key`() async throws {
    let (folder, steps) = (temporary.folder, Self.steps)
    let url = folder.url.appendingPathComponent("notes.store")
    try await Store.create(at: url, key: testKey, migrations: steps(1))
    let store = try await Store.open(at: url, key: testKey)
    try await store.write { try $0.metadata.set("token", to: "abc") }
    let (copy, plain) = (folder.url.appendingPathComponent("c"), folder.url.appendingPathComponent("p"))
    try await store.backup(to: copy)
    try await store.exportPlaintext(to: plain)
    try await store.vacuum()
    try await store.rekey(to: childKeys.second)
    try await store.rekey(to: testKey)
    store.close()
    try await Store.encrypt(plaintext: plain, to: folder.url.appendingPathComponent("e"), key: testKey)
    #expect(try stored(copy.path) == ["app.token": "abc"] && stored(folder.path("e")) == ["app.token": "abc"])
    #expect(try await Store.migrate(at: url, key: testKey, migrations: steps(2)).steps == [2])
    _ = try await Store.downgrade(
      at: url, key: testKey, to: 1, migrations: steps(2), allowing: ["Note.more"])
    let again = try await Store.open(at: url, key: testKey)
    #expect(try await again.metadata("token", as: String.self) == "abc")
    #expect(try await again.verify().isEmpty)
  }

  @Sendable private static func steps(_ count: Int) throws -> MigrationSet {
    let texts = [
      "create entity Note {\n attribute text string\n}", "add attribute Note.more string optional",
    ]
    return try MigrationSet(
      texts.prefix(count).enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)\n")
      })
  }
}
