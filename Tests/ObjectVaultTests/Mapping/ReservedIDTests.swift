// A store reserves more ids than a save needs. No id is issued twice, whatever else writes to the file.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ReservedIDSets {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  private func mark() throws -> Int64? {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    return try connection.value("SELECT last FROM vault_ids WHERE entity = 'Genre'")?.int64
  }

  private func insert(_ store: Store, _ name: String) async throws -> Int64 {
    try await store.write { context in context.insert(Genre.self) { $0.name = name }.id.rowID }
  }

  @Test func `ids of one store are consecutive, and its high-water mark rises less and less often`()
    async throws
  {
    var ids: [Int64] = []
    var marks: Set<Int64> = []
    for number in 0..<400 {
      ids.append(try await insert(store, "\(number)"))
      let mark = try #require(try mark())
      #expect(mark >= ids[number] && mark <= ids[number] + ReservedIDs.limit)
      marks.insert(mark)
    }
    #expect(ids == (1...400).map(Int64.init))
    #expect(marks.count < 16)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a store that saves once leaves no gap of ids, one that saves often leaves a short one`()
    async throws
  {
    #expect(try await insert(store, "first") == 1)
    let second = try await Store.open(at: store.url, key: testKey, schema: library, migrations: .automatic)
    #expect(try await insert(second, "second") == 2)
    for number in 0..<5 { _ = try await insert(second, "\(number)") }
    second.close()
    let third = try await Store.open(at: store.url, key: testKey, schema: library, migrations: .automatic)
    let id = try await insert(third, "third")
    #expect(id > 7 && id <= 12)
    third.close()
  }

  @Test func `the id of a deleted row is not issued again, whichever store continues`() async throws {
    for number in 0..<20 { _ = try await insert(store, "\(number)") }
    let other = try await Store.open(at: store.url, key: testKey, schema: library, migrations: .automatic)
    try await other.write { context in
      for genre in try context.fetch(Genre.self).all() { context.delete(genre) }
    }
    let id = try await insert(store, "after")
    #expect(id == 21)
    let foreign = try await insert(other, "foreign")
    #expect(foreign > 21)
    #expect(try await insert(store, "own") > foreign)
    other.close()
  }

  @Test func `ids stay unique and ascending after a reservation is rolled back`() async throws {
    struct Stop: Error {}
    for number in 0..<4 { _ = try await insert(store, "\(number)") }
    // The high-water mark is 4 or higher. A write that fails after its save raises it without effect.
    for count in [1, 70, 200] {
      await #expect(throws: Stop.self) {
        try await store.write { context in
          for number in 0..<count { context.insert(Genre.self) { $0.name = "in vain \(number)" } }
          try context.save()
          throw Stop()
        }
      }
      let context = store.makeContext()
      for number in 0..<count { context.insert(Genre.self) { $0.name = "\(count) \(number)" } }
      context.insert(Genre.self) { $0.name = "0" }
      #expect(throws: StoreError.self) { try context.save() }
    }
    let other = try await Store.open(at: store.url, key: testKey, schema: library, migrations: .automatic)
    var last = try await insert(store, "own")
    for number in 0..<200 {
      let next = try await insert(number % 7 < 4 ? other : store, "turn \(number)")
      #expect(next > last)
      last = next
    }
    other.close()
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a change set that inserts a reserved id ends the reservation of another store`() async throws {
    for number in 0..<40 { _ = try await insert(store, "\(number)") }
    let reserved = try #require(try mark())
    #expect(reserved > 42)
    let row = ChangeSet.Row(entity: "Genre", rowID: 42, values: ["name": .text("from outside")])
    let other = try await Store.open(at: store.url, key: testKey, schema: library, migrations: .automatic)
    try await other.apply(ChangeSet(inserted: [row]))
    try await other.write { context in
      context.delete(try context.fetch(Genre.self).where("name == 'from outside'").one())
    }
    other.close()
    #expect(try await insert(store, "next") == reserved + 2)
    // In the store that owns the reservation, such a row only uses up a part of it.
    let context = store.makeContext()
    for number in 0..<9 {
      context.insert(Genre.self) { $0.name = "again \(number)" }
      try context.save()
    }
    let before = try #require(try mark())
    let last = try #require(try context.fetch(Genre.self).sorted(by: \.id, .reverse).first()).id.rowID
    #expect(last + 2 < before)
    try await store.apply(ChangeSet(inserted: [.init(entity: "Genre", rowID: last + 2, values: row.values)]))
    try await store.write { context in
      context.delete(try context.fetch(Genre.self).where("name == 'from outside'").one())
    }
    #expect(try mark() == before)
    #expect(try await insert(store, "behind it") == last + 3)
  }

  private func execute(_ statements: String...) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    for sql in statements { try connection.execute(sql: sql) }
  }

  @Test func `a reservation near the highest id can be ended by another store`() async throws {
    for number in 0..<9 { _ = try await insert(store, "\(number)") }
    try execute("UPDATE vault_ids SET last = \(RowIDs.highest - 5) WHERE entity = 'Genre'")
    let last = try await insert(store, "first")
    let reserved = try #require(try mark())
    #expect(reserved == RowIDs.highest - 1)
    let row = ChangeSet.Row(entity: "Genre", rowID: last + 1, values: ["name": .text("from outside")])
    let other = try await Store.open(at: store.url, key: testKey, schema: library, migrations: .automatic)
    try await other.apply(ChangeSet(inserted: [row]))
    try await other.apply(ChangeSet(deleted: [row]))
    other.close()
    await #expect(throws: StoreError.idsExhausted(entity: "Genre")) { try await insert(store, "next") }
  }

  @Test func `ids that jump towards the highest one do not overflow the counter`() async throws {
    for distance in [1000, 900, 800] as [Int64] {
      try execute("INSERT INTO Genre (id, name) VALUES (\(RowIDs.highest - distance), 'outside')")
      #expect(try await insert(store, "\(distance)") == RowIDs.highest - distance + 1)
      try execute("DELETE FROM Genre", "UPDATE vault_ids SET last = 1 WHERE entity = 'Genre'")
    }
  }
}

@Suite(.tags(.random)) struct SharedIDs {
  @Test func `several stores on one file assign each id once, in ascending order`() async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 2902)
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    var random = SeededGenerator(seed: seed)
    var stores = [store]
    for _ in 0..<2 {
      stores.append(
        try await Store.open(at: store.url, key: testKey, schema: library, migrations: .automatic))
    }
    let contexts = stores.map { $0.makeContext() }
    var last: Int64 = 0
    var name = 0
    func note(_ ids: [Int64]) {
      for id in ids {
        #expect(id > last, "seed \(seed)")
        last = max(last, id)
      }
    }
    for _ in 0..<(isTorture ? 20_000 : 600) {
      let place = Int.random(in: 0..<stores.count, using: &random)
      let count = Int.random(in: 1...(Bool.random(using: &random) ? 3 : 90), using: &random)
      name += 1
      let label = "\(name)"
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1, 2:
        for number in 0..<count { contexts[place].insert(Genre.self) { $0.name = "\(label) \(number)" } }
        let new = contexts[place].insert(Genre.self) { $0.name = label }
        try contexts[place].save()
        note([new.id.rowID])
      case 3, 4:
        // Ids before the save, a save in between, and one more object after it.
        note(
          try await stores[place].write { context in
            let first = context.insert(Genre.self) { $0.name = label }.id.rowID
            try context.save()
            let gone = context.insert(Genre.self) { $0.name = "\(label) gone" }
            let second = gone.id.rowID
            if count % 2 == 0 { context.delete(gone) }
            return [first, second, context.insert(Genre.self) { $0.name = "\(label) 2" }.id.rowID]
          })
      case 5:
        struct Stop: Error {}
        _ = try? await stores[place].write { context in
          for number in 0..<count { context.insert(Genre.self) { $0.name = "\(label) \(number)" } }
          try context.save()
          context.insert(Genre.self) { $0.name = "\(label) last" }
          if count % 3 == 0 { try context.save() }
          throw Stop()
        }
      case 6:
        try await stores[place].write { context in
          for genre in try context.fetch(Genre.self).sorted(by: \.id, .reverse).limit(count).all() {
            context.delete(genre)
          }
        }
      default:
        let id = last + Int64.random(in: 1...70, using: &random)
        try await stores[place].apply(
          ChangeSet(inserted: [.init(entity: "Genre", rowID: id, values: ["name": .text(label)])]))
        last = id
      }
    }
    for store in stores.dropFirst() { store.close() }
    #expect(try await store.verify().isEmpty)
  }
}
