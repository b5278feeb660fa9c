// Inserting an object for each of many rows.

import Foundation
import ObjectVault
import Synchronization
import TestSupport
import Testing

@Suite struct BulkInsertTests {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(bulkSchema) }

  @Test func `a context inserts an object for each row, pending until the save`() throws {
    let context = store.makeContext()
    context.undoManager = ContextUndoManager()
    let made = try context.insert(contentsOf: 1...5, into: BulkPerson.self) { $0.remoteID = $1 }
    #expect(made.map(\.remoteID) == [1, 2, 3, 4, 5])
    #expect(context.insertedObjects.count == 5)
    try context.undo()
    #expect(context.insertedObjects.isEmpty)
    try context.redo()
    try context.save()
    #expect(try store.bulkPeople().count == 5)
  }

  @Test func `an error in a context leaves the objects of earlier rows`() throws {
    struct Refusal: Error {}
    let context = store.makeContext()
    #expect(throws: Refusal.self) {
      try context.insert(contentsOf: 1...5, into: BulkPerson.self) { person, number in
        person.remoteID = number
        if number == 3 { throw Refusal() }
      }
    }
    #expect(context.insertedObjects.count == 2)
    #expect(throws: StoreError.unknownEntity(name: "Author")) {
      try context.insert(contentsOf: [1], into: Author.self) { _, _ in }
    }
  }

  @Test func `a store writes 60,000 rows in one transaction, and few objects are in memory`() async throws {
    let most = Mutex(0)
    let count = try await store.insert(
      contentsOf: (0..<60_000).lazy.map { ($0, "p\($0)") }, into: BulkPerson.self
    ) {
      person, row in
      (person.remoteID, person.name) = row
      if row.0 % 5_000 == 4_999, let context = person.managedObjectContext {
        let town = try context.findOrInsert(
          BulkTown.self, where: (\.country, \.name), is: ("IT", "\(row.0 % 2)"))
        person.town = town
        town.people.insert(person)
        most.withLock { $0 = max($0, context.registeredObjects.count) }
      }
    }
    #expect(count == 60_000)
    #expect(most.withLock(\.self) < 1_100)
    let people = try store.bulkPeople()
    #expect(people.count == 60_000 && people.allSatisfy { $1 == "p\($0 ?? -1)" })
    let context = store.makeContext()
    #expect(try context.fetch(BulkTown.self).one().people.count == 12)
  }

  @Test func `large values are saved in smaller blocks`() async throws {
    let most = Mutex(0)
    let text = String(repeating: "x", count: 400_000)
    try await store.insert(contentsOf: 0..<200, into: BulkPerson.self) { person, number in
      (person.remoteID, person.note) = (number, text)
      most.withLock { $0 = max($0, person.managedObjectContext?.insertedObjects.count ?? 0) }
    }
    #expect(most.withLock(\.self) <= 64)
    #expect(try store.bulkPeople().count == 200)
  }

  @Test(arguments: [1, 63, 64, 65, 563, 564, 565, 1_500, 2_000])
  func `a unique violation or a broken rule in any row writes nothing`(_ place: Int) async throws {
    try await store.write { _ = $0.insert(BulkPerson.self) { $0.remoteID = -1 } }
    for isRule in [false, true] {
      await #expect(throws: StoreError.self) {
        try await store.insert(contentsOf: 0...2_000, into: BulkPerson.self) { person, number in
          person.remoteID = !isRule && number == place ? number - 1 : number
          if isRule, number == place { person.name = String(repeating: "n", count: 41) }
        }
      }
    }
    #expect(try store.bulkPeople() == [-1: ""])
    #expect(try await store.insert(contentsOf: [4], into: BulkPerson.self) { $0.remoteID = $1 } == 1)
  }

  @Test(arguments: [0, 1, 64, 700, 1_999])
  func `a cancellation at any row writes nothing`(_ place: Int) async throws {
    let moment = BulkMoment()
    let task = Task { [store] in
      try await store.insert(contentsOf: 0..<2_000, into: BulkPerson.self) { person, number in
        person.remoteID = number
        if number == place { moment.hold() }
      }
    }
    await moment.reached()
    task.cancel()
    moment.release()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.bulkPeople().isEmpty)
    #expect(try await store.insert(contentsOf: [4], into: BulkPerson.self) { $0.remoteID = $1 } == 1)
  }

  @Test func `an error of the closure is thrown, and nothing is written`() async throws {
    struct Refusal: Error {}
    await #expect(throws: Refusal.self) {
      try await store.insert(contentsOf: 0..<1_000, into: BulkPerson.self) { person, number in
        person.remoteID = number
        if number == 800 { throw Refusal() }
      }
    }
    #expect(try store.bulkPeople().isEmpty)
  }

  @Test func `no rows are no error`() async throws {
    #expect(try await store.insert(contentsOf: [Int](), into: BulkPerson.self) { $0.remoteID = $1 } == 0)
    let empty = AsyncStream<Int> { $0.finish() }
    #expect(try await store.insert(contentsOf: empty, into: BulkPerson.self) { $0.remoteID = $1 } == 0)
  }

  @Test func `a write of a store that waits for its turn can be cancelled`() async throws {
    let task = Task { [store] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.insert(contentsOf: [1], into: BulkPerson.self) { $0.remoteID = $1 }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.bulkPeople().isEmpty)
  }

  @Test func `rows need not be Sendable`() async throws {
    let rows: [[String: Any]] = [["id": 1, "name": "Ann"], ["id": 2]]
    let count = try await store.insert(contentsOf: rows, into: BulkPerson.self) { person, row in
      person.remoteID = row["id"] as? Int
      person.name = row["name"] as? String ?? "?"
    }
    #expect(count == 2)
    #expect(try store.bulkPeople() == [1: "Ann", 2: "?"])
  }

  @Test func `observers get the rows as one change set`() async throws {
    var changes = store.changes().makeAsyncIterator()
    try await store.insert(contentsOf: 0..<1_200, into: BulkPerson.self) { $0.remoteID = $1 }
    guard case .committed(let set)? = await changes.next() else {
      Issue.record("no change set")
      return
    }
    #expect(set.inserted.count == 1_200)
  }

  @Test func `a store without classes inserts by names`() async throws {
    let dynamic = try await Store.open(at: store.url, key: testKey)
    defer { dynamic.close() }
    let count = try await dynamic.insert(contentsOf: 0..<1_200, entity: "BulkPerson") { person, number in
      try person.set("remoteID", to: number)
    }
    #expect(count == 1_200)
    let stream = AsyncStream<Int> { more in
      for number in 2_000..<2_300 { more.yield(number) }
      more.finish()
    }
    #expect(
      try await dynamic.insert(contentsOf: stream, entity: "BulkPerson") { $0["remoteID"] = $1 } == 300)
    let context = dynamic.makeContext()
    try context.insert(contentsOf: ["a"], entity: "BulkTag") { $0["name"] = $1 }
    try context.save()
    await #expect(throws: StoreError.noEntity(name: "BulkTags", similar: ["BulkTag"])) {
      try await dynamic.insert(contentsOf: ["a"], entity: "BulkTags") { $0["name"] = $1 }
    }
    #expect(try store.bulkPeople().count == 1_500)
  }
}
