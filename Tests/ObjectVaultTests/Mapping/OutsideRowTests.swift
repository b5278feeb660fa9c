// Rows that another program inserts have ids that the store never issued. The store continues above these
// ids, and verify reports them.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct OutsideRows {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    try await store.write { context in _ = context.insert(Genre.self) { $0.name = "first" } }
  }

  private func insert(_ name: String, id: Int64? = nil) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    try connection.execute("INSERT INTO Genre (id, name) VALUES (\(id), \(name))")
  }

  private func mark() throws -> Int64? {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    return try connection.value("SELECT last FROM vault_ids WHERE entity = 'Genre'")?.int64
  }

  @Test func `an insertion continues above ids of outside rows, which verify reports until then`()
    async throws
  {
    #expect(try await store.verify().isEmpty)
    try insert("second")
    try insert("third", id: 70)
    let findings = try await store.verify()
    #expect(findings.count == 1 && findings.first?.hasPrefix("Genre has a row with the id 70, but ") == true)
    let context = store.makeContext()
    let new = context.insert(Genre.self) { $0.name = "fourth" }
    try context.save()
    #expect(try new.id.rowID == 71 && mark() ?? 0 >= 71)
    #expect(try await store.verify().isEmpty)
    #expect(try context.fetch(Genre.self).count() == 4)
  }

  @Test func `a write with fetches and early ids also continues above ids of outside rows`() async throws {
    try insert("second", id: 70)
    let ids = try await store.write { context in
      let third = context.insert(Genre.self) { $0.name = "third" }
      let id = third.id
      let all = try context.fetch(Genre.self).count()
      #expect(all == 3)
      return [id, context.insert(Genre.self) { $0.name = "fourth" }.id]
    }
    #expect(ids.map(\.rowID) == [71, 72])
    #expect(try await store.verify().isEmpty)
  }

  @Test func `the id of a deleted row is not issued again, whatever rows remain`() async throws {
    try await store.write { context in
      for name in ["a", "b"] { context.insert(Genre.self) { $0.name = name } }
      try context.save()
      try context.fetch(Genre.self).where("name == 'b'").all().forEach(context.delete)
    }
    #expect(try await store.verify().isEmpty)
    let id = try await store.write { context in context.insert(Genre.self) { $0.name = "c" }.id }
    #expect(id.rowID == 4)
  }

  @Test func `a save reports that no ids are left after an outside row with a very high id`() async throws {
    try insert("far", id: .max - 1)
    await #expect(throws: StoreError.idsExhausted(entity: "Genre")) {
      try await store.write { context in _ = context.insert(Genre.self) { $0.name = "x" } }
    }
    let context = store.makeContext()
    context.insert(Genre.self) { $0.name = "y" }
    #expect(throws: StoreError.idsExhausted(entity: "Genre")) { try context.save() }
  }
}
