// Fetches by a long list of ids, which are passed to the engine. The results are compared with those of
// the statement on a separate connection.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ListedIDs {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    let context = store.makeContext()
    for number in 0..<600 { context.insert(Genre.self) { $0.name = "genre \(number)" } }
    try context.save()
  }

  /// Random ids: some occur twice, and some have no row.
  private func ids(_ count: Int, _ seed: UInt64) -> [ObjectID<Genre>] {
    var dice = Dice(seed)
    return (0..<count).map { _ in ObjectID(rowID: Int64(dice.next(900)) + 1) }
  }

  @Test(arguments: [101, 400, 5000], [1, 2, 3] as [UInt64])
  func `a fetch by a list of ids finds the rows of its statement, in the same order`(
    _ count: Int, _ seed: UInt64
  ) throws {
    let ids = ids(count, seed)
    let context = store.makeContext()
    let fetch = try context.fetch(Genre.self).where(#Predicate { ids.contains($0.id) })
    let sql = try fetch.sql
    #expect(sql.execution == .listed, "\(sql)")
    let found = try fetch.all()
    #expect(context.statistics.queries == 1 && context.statistics.rows == found.count)
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    #expect(
      try found.map(\.id.rowID) == connection.query(sql: sql.text, sql.bindings) { $0.int64(0) },
      "seed \(seed)")
    #expect(found.map(\.id.rowID) == Set(ids.map(\.rowID).filter { $0 <= 600 }).sorted())
    #expect(found.allSatisfy { $0.name == "genre \($0.id.rowID - 1)" })
    #expect(try fetch.count() == found.count && fetch.ids() == found.map(\.id))
    // Objects can be given instead of their ids.
    let same = try context.fetch(Genre.self).where("SELF IN %@", found).all()
    #expect(same == found)
  }

  @Test func `a list may have repeated ids, ids without a row, and the highest ids`() throws {
    let context = store.makeContext()
    func found(_ ids: [Int64]) throws -> [Int64] {
      let objects = ids.map { ObjectID<Genre>(rowID: $0) }
      return try context.fetch(Genre.self).where(#Predicate { objects.contains($0.id) }).ids().map(\.rowID)
        + context.fetch(Genre.self).where(#Predicate { objects.contains($0.id) }).all().map(\.id.rowID)
    }
    #expect(try found(Array(repeating: 7, count: 101)) == [7, 7])
    #expect(try found((1000...1200).map { $0 }) == [])
    #expect(try found((500...700).map { $0 } + [.max, .max - 1]) == Array(500...600) + Array(500...600))
  }

  @Test func `a fetch with more than a list of ids runs as its ordinary statement`() throws {
    let ids = ids(300, 4)
    let context = store.makeContext()
    func expect(_ fetch: Fetch<Genre>, _ holds: (Genre) -> Bool) throws {
      let sql = try fetch.sql
      #expect(sql.execution != .listed, "\(sql)")
      let all = try context.fetch(Genre.self).all().filter(holds)
      #expect(try Set(fetch.all()) == Set(all), "\(sql)")
    }
    let fetch = try context.fetch(Genre.self).where(#Predicate { ids.contains($0.id) })
    try expect(fetch.sorted(by: \.name)) { ids.contains($0.id) }
    try expect(fetch.where("name != 'genre 7'")) { ids.contains($0.id) && $0.name != "genre 7" }
    try expect(context.fetch(Genre.self).where(#Predicate { !ids.contains($0.id) })) { !ids.contains($0.id) }
    try expect(
      context.fetch(Genre.self).where(#Predicate { ids.contains($0.id) || $0.name == "genre 7" })
    ) { ids.contains($0.id) || $0.name == "genre 7" }
    #expect(try fetch.limit(5).all() == Array(fetch.all().prefix(5)))
    #expect(try fetch.limit(5).offset(3).all() == Array(fetch.all().dropFirst(3).prefix(5)))
  }

  @Test func `a fetch by a list of ids includes pending changes, in contexts and in writes`() async throws {
    let ids = ids(400, 5)
    let sorted = Set(ids.map(\.rowID).filter { $0 <= 600 }).sorted()
    let context = store.makeContext()
    let first = try #require(try context.existing(ObjectID<Genre>(rowID: sorted[0])))
    let second = try #require(try context.existing(ObjectID<Genre>(rowID: sorted[1])))
    first.name = "changed"
    context.delete(second)
    let found = try context.fetch(Genre.self).where(#Predicate { ids.contains($0.id) }).all()
    #expect(found.map(\.id.rowID).sorted() == sorted.filter { $0 != sorted[1] })
    let new = context.insert(Genre.self) { $0.name = "new" }
    let others = try context.fetch(Genre.self).where("SELF IN %@", found + [new]).all()
    #expect(Set(others) == Set(found + [new]) && others.count == found.count + 1)
    #expect(found.contains { $0 === first && $0.name == "changed" })
    let stored = try await store.write { context in
      context.delete(try #require(try context.existing(ObjectID<Genre>(rowID: sorted[2]))))
      return try context.fetch(Genre.self).where(#Predicate { ids.contains($0.id) }).all().map(\.id.rowID)
    }
    #expect(stored.sorted() == sorted.filter { $0 != sorted[2] })
  }

  @Test func `a fetch by a list of ids excludes other entities of the same table`() async throws {
    let temporary = try await TemporaryStore(company)
    let context = temporary.store.makeContext()
    for number in 0..<400 {
      if number % 2 == 0 {
        context.insert(Person.self) { $0.key = number }
      } else {
        context.insert(Employee.self) { $0.key = number }
      }
    }
    try context.save()
    let ids = (1...400).map { ObjectID<Employee>(rowID: $0) }
    let found = try context.fetch(Employee.self).where(#Predicate { ids.contains($0.id) }).all()
    #expect(found.count == 200 && found.allSatisfy { $0.key % 2 == 1 })
  }
}
