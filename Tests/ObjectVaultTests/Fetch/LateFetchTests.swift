// Fetches in two statements, which read the ids first. Results and order are compared with those of one
// statement on a separate connection, and with a plain filter.

import CipherSQLite
import Foundation
import ObjectVault
import Synchronization
import TestSupport
import Testing

private final class Flag: Sendable { let value = Atomic(false) }

private final class Writer: ManagedObject {
  @Attribute(.indexed) var name: String
  @ToMany(inverse: \Work.writer) var works: Set<Work>
}

private final class Work: ManagedObject {
  /// Is not in the order of the ids, so that its index refers to rows all over the table.
  @Attribute(.indexed) var key: Int
  @Attribute var note: String
  @ToOne var writer: Writer?
}

private let model = Schema {
  Entity(Writer.self)
  Entity(Work.self)
}

private typealias WorkFetch = @Sendable (ObjectContext) throws -> Fetch<Work>

@Suite(.tags(.slow)) struct LateFetches {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }
  private static let count = 4000

  init() async throws {
    temporary = try await TemporaryStore(model)
    let context = store.makeContext()
    let writers = (0..<200).map { number in context.insert(Writer.self) { $0.name = "name \(number % 2)" } }
    for number in 0..<Self.count {
      context.insert(Work.self) {
        ($0.key, $0.note) = (number * 1009 % Self.count, "note \(number)")
        $0.writer = writers[number % writers.count]
      }
    }
    try context.save()
  }

  private static func byName(_ context: ObjectContext) throws -> Fetch<Work> {
    let name = "name 1"
    return try context.fetch(Work.self).where(#Predicate { $0.writer?.name == name })
  }

  private static func byKey(_ range: Range<Int>) -> WorkFetch {
    let (low, high) = (range.lowerBound, range.upperBound)
    return { try $0.fetch(Work.self).where(#Predicate { $0.key >= low && $0.key < high }) }
  }

  private static let fetches: [(name: String, fetch: WorkFetch)] = [
    ("join", byName),
    ("range", byKey(1000..<3000)),
    ("format", { try $0.fetch(Work.self).where("key BETWEEN {500, 3500}") }),
    ("two conditions", { try byKey(0..<3000)($0).where("key != 7") }),
    ("limit", { try byKey(100..<3900)($0).limit(3000) }),
    ("limit and offset", { try byKey(100..<3900)($0).limit(3000).offset(300) }),
    ("sorted by the index", { try byKey(100..<3900)($0).sorted(by: \.key) }),
    (
      "sorted by it downward, with a limit",
      { try byKey(100..<3900)($0).sorted(by: \.key, .reverse).limit(2000) }
    ),
    ("all in order", { $0.fetch(Work.self).sorted(by: \.key) }),
    ("all downward, but for the first", { $0.fetch(Work.self).sorted(by: \.key, .reverse).offset(10) }),
    ("without what is pending", { try byKey(0..<3000)($0).includingPending(false) }),
  ]

  private func line(_ work: Work) -> String {
    "\(work.id.rowID) \(work.key) \(work.note) \(work.writer?.id.rowID ?? 0)"
  }

  @Test(arguments: fetches.map(\.name))
  func `a fetch in two statements finds the same objects in the same order as in one`(_ name: String) throws {
    let fetch = try #require(Self.fetches.first { $0.name == name }).fetch
    let first = store.makeContext()
    let one = try fetch(first).all()
    #expect(first.statistics.queries == 1)
    let second = store.makeContext()
    let sql = try fetch(second).sql
    guard case .idsFirst(let text) = sql.execution else {
      Issue.record("\(sql)")
      return
    }
    #expect(
      sql.description.hasSuffix(
        "-- run in two statements: first the ids from an index alone, then the rows by their ids"))
    let two = try fetch(second).all()
    #expect(second.statistics.queries == 2 && second.statistics.rows == two.count)
    #expect(two.map(line) == one.map(line) && Set(two.map(\.id.rowID)).count == two.count && two.count >= 500)
    // A shell can run both texts, too.
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let ids = two.map(\.id.rowID)
    #expect(try connection.query(sql: sql.text, sql.bindings) { $0.int64(0) } == ids)
    #expect(try connection.query(sql: text, sql.bindings) { $0.int64(0) } == ids)
    // A context that has the objects finds the same ones.
    #expect(try zip(fetch(second).all(), two).allSatisfy { $0 === $1 })
  }

  @Test func `a fetch in two statements finds the objects that a plain filter keeps`() throws {
    for _ in 0..<2 {
      let context = store.makeContext()
      let all = try context.fetch(Work.self).all()
      #expect(try Set(Self.byName(context).all()) == Set(all.filter { $0.writer?.name == "name 1" }))
      #expect(
        try Set(Self.byKey(1000..<3000)(context).all()) == Set(all.filter { (1000..<3000).contains($0.key) }))
    }
  }

  @Test func `few rows, rows in order, and rows that no index finds are read by one statement`() throws {
    func queries(_ fetch: WorkFetch) throws -> [Int] {
      try (0..<3).map { _ in
        let context = store.makeContext()
        _ = try fetch(context).all()
        return context.statistics.queries
      }
    }
    #expect(try queries(Self.byKey(0..<400)) == [1, 1, 1])
    #expect(try queries(Self.byKey(0..<3000)) == [1, 2, 2])
    // Another value of the same shape: after the ids are read, it turns out that there are few rows.
    #expect(try queries(Self.byKey(0..<10)) == [2, 1, 1])
    #expect(try queries(Self.byKey(0..<0)) == [1, 1, 1])
    #expect(try queries(Self.byKey(0..<3000)) == [1, 2, 2])
    #expect(try queries(Self.byKey(0..<0)) == [1, 1, 1])
    #expect(try queries { try $0.fetch(Work.self).where("id > 10") } == [1, 1, 1])
    #expect(try queries { try $0.fetch(Work.self).where("note BEGINSWITH 'note'") } == [1, 1, 1])
    // The index does not have the note.
    #expect(try queries { try Self.byKey(0..<3500)($0).where("note != ''") } == [1, 1, 1])
    #expect(try queries { try Self.byKey(0..<3500)($0).sorted(by: \.note) } == [1, 1, 1])
    #expect(try queries { $0.fetch(Work.self).sorted(by: \.note) } == [1, 1, 1])
    #expect(try queries { $0.fetch(Work.self).sorted(by: \.key).limit(400) } == [1, 1, 1])
  }

  @Test func `a fetch in two statements includes pending changes, in contexts and in writes`() async throws {
    for _ in 0..<3 {
      let context = store.makeContext()
      let all = try context.fetch(Work.self).all()
      all[10].key = 100_000
      context.delete(all[20])
      let new = context.insert(Work.self) { ($0.key, $0.note) = (1500, "new") }
      let expected = (all + [new]).filter { $0.id.rowID != all[20].id.rowID && (0..<3000).contains($0.key) }
      let found = try Self.byKey(0..<3000)(context).all()
      #expect(Set(found) == Set(expected) && found.count == expected.count)
    }
    for round in 0..<3 {
      let (count, isChanged) = try await store.write { context in
        let work = try context.fetch(Work.self).where("key == 5").one()
        work.note = "round \(round)"
        context.insert(Work.self) { ($0.key, $0.note) = (6, "new") }
        let found = try Self.byKey(0..<3000)(context).all()
        return (found.count, found.contains { $0.note == "round \(round)" })
      }
      #expect(count == 3001 + round && isChanged)
    }
  }

  @Test func `both statements of a fetch see one snapshot while another store commits`() async throws {
    let fetch = Self.byKey(1000..<3000)
    _ = try fetch(store.makeContext()).all()
    let other = try await temporary.again()
    let isDone = Flag()
    let hasCommitted = DispatchSemaphore(value: 0)
    // Both run on threads that start at once. The threads of tasks may be busy with other tests as long
    // as this test runs.
    let writing = ThreadWork {
      // An error also wakes the reader.
      defer { hasCommitted.signal() }
      let context = other.makeContext()
      let works = try context.fetch(Work.self).where("key IN {500, 2000}").all()
      var round = 0
      while !isDone.value.load(ordering: .acquiring) {
        round += 1
        // One object leaves the range, and another one enters it.
        for work in works { work.key = 2500 - work.key }
        try context.save()
        if round == 1 { hasCommitted.signal() }
      }
      return round
    }
    let store = store
    let reading = ThreadWork {
      defer { isDone.value.store(true, ordering: .releasing) }
      hasCommitted.wait()
      for _ in 0..<200 {
        let context = store.makeContext()
        let found = try fetch(context).all()
        #expect(found.count == 2000 && found.allSatisfy { (1000..<3000).contains($0.key) })
        #expect(context.statistics.queries == 2)
      }
    }
    try await reading.value
    #expect(try await writing.value > 0)
    other.close()
  }

  @Test func `a cancelled read ends during fetches in two statements`() async throws {
    _ = try Self.byName(store.makeContext()).all()
    let begun = DispatchSemaphore(value: 0)
    let reading = Task { () async throws -> Int in
      defer { begun.signal() }
      return try await store.read { context throws -> Int in
        while true {
          _ = try Self.byName(context).all()
          begun.signal()
        }
      }
    }
    cancel(reading, when: begun)
    await #expect(throws: CancellationError.self) { try await reading.value }
  }

  @Test(arguments: [1000..<3000, 1900..<2100])
  func `an index entry whose row is gone is an error, in two statements as in one`(_ keys: Range<Int>) throws
  {
    // A fetch of few rows uses two statements only after a fetch of many rows.
    let fetch = Self.byKey(keys)
    _ = try Self.byKey(1000..<3000)(store.makeContext()).all()
    let connection = try Connection.open(store.url.path, key: testKey)
    // Deletes a row while the schema lacks the index, and then restores the index.
    try connection.execute("PRAGMA writable_schema = ON")
    try connection.execute(
      "CREATE TABLE kept AS SELECT * FROM sqlite_master WHERE type = 'index' AND sql LIKE '%\"key\"%'")
    try connection.execute("DELETE FROM sqlite_master WHERE type = 'index' AND sql LIKE '%\"key\"%'")
    connection.close()
    let other = try Connection.open(store.url.path, key: testKey)
    try other.execute("DELETE FROM Work WHERE key = 2000")
    try other.execute("PRAGMA writable_schema = ON")
    try other.execute("INSERT INTO sqlite_master SELECT * FROM kept")
    other.close()
    #expect(throws: SQLError.self) { try fetch(store.makeContext()).all() }
  }
}

@Suite struct RowIDOrders {
  @Test func `a RowIDOrder puts elements that were read in id order back into the given order`() throws {
    var generator = SeededGenerator(seed: 7)
    for count in [1, 2, 64, 65, 500, 3000] {
      let ids = (0..<count).map { Int64($0 * 3 - 70) }.shuffled(using: &generator)
      let order = try #require(RowIDOrder(ids))
      #expect(order.rising == ids.sorted())
      var elements = order.rising.map { "\($0)" }
      let isBack = order.restoreGivenOrder(&elements)
      #expect(isBack)
      #expect(elements == ids.map { "\($0)" })
    }
    let again = try #require(RowIDOrder([5, 3, 5, 4]))
    #expect(again.rising == [3, 4, 5])
    var three = ["3", "4", "5"]
    let isBack = again.restoreGivenOrder(&three)
    #expect(!isBack && three == ["3", "4", "5"])
  }

  @Test func `ids that are far apart, in order or on few pages are not reordered`() {
    #expect(
      RowIDOrder([]) == nil && RowIDOrder([Int64.min, Int64.max]) == nil && RowIDOrder([0, 100_000]) == nil)
    let passes = (0..<10).flatMap { start in stride(from: Int64(start), to: 100_000, by: 1000) }
    #expect(!RowIDOrder.isScattered(passes))
    let many = (0..<100).flatMap { start in stride(from: Int64(start), to: 100_000, by: 100) }
    #expect(RowIDOrder.isScattered(many) && !RowIDOrder.isScattered(many.sorted()))
    #expect(!RowIDOrder.isScattered([]) && !RowIDOrder.isScattered([1, 2, Int64.max]))
    #expect(!RowIDOrder.isScattered((0..<1000).map { Int64($0 * 7 % 60) }))
  }
}
