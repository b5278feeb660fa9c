// Live values: which commits cause a read, when elements are left out, and how a sequence ends.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct LiveValueSequences {
  private let temporary: TemporaryStore
  private let store: Store

  init() async throws {
    temporary = try await TemporaryStore(LiveModel.schema)
    store = temporary.store
  }

  private func addRoom(_ title: String, size: Int = 1) async throws {
    try await store.write { context in
      _ = context.insert(LiveRoom.self) { ($0.title, $0.size) = (title, size) }
    }
  }

  @Test func `the first element comes at once, and then one for each commit that can matter`() async throws {
    var titles = store.observe { try $0.fetch(LiveRoom.self).sorted(by: \.title).values(\.title) }
      .makeAsyncIterator()
    #expect(try await titles.next() == [])
    try await addRoom("b")
    #expect(try await titles.next() == ["b"])
    try await addRoom("a")
    #expect(try await titles.next() == ["a", "b"])
    try await store.write { try $0.fetch(LiveRoom.self).where("title == 'b'").one().title = "c" }
    #expect(try await titles.next() == ["a", "c"])
    try await store.write { try $0.execute("DELETE FROM LiveRoom WHERE title = 'a'") }
    #expect(try await titles.next() == ["c"])
  }

  @Test func `a commit that changes other columns or tables causes no read`() async throws {
    let reads = Locked(0)
    let counted = store.observe { context in
      reads.withLock { $0 += 1 }
      return try context.fetch(LiveRoom.self).sorted(by: \.title).values(\.title)
    }
    var titles = counted.makeAsyncIterator()
    try await addRoom("a")
    #expect(try await titles.next() == ["a"])
    try await store.write { try $0.fetch(LiveRoom.self).one().size = 9 }
    try await store.write { context in _ = context.insert(LiveTag.self) { $0.word = "t" } }
    try await store.write { context in
      let (room, tag) = (try context.fetch(LiveRoom.self).one(), try context.fetch(LiveTag.self).one())
      room.tags = [tag]
    }
    try await addRoom("b")
    #expect(try await titles.next() == ["a", "b"])
    #expect(reads.withLock { $0 } == 2)
  }

  @Test func `counts, relationships and SQL are followed`() async throws {
    var counts = store.observe { try $0.fetch(LiveRoom.self).count() }.makeAsyncIterator()
    var guests = store.observe { context in
      try context.fetch(LiveRoom.self).all().map { $0.guests.map(\.name).joined() }
    }.makeAsyncIterator()
    var words = store.observe { context in
      try context.fetch(LiveRoom.self).prefetch(\.tags).all().map { $0.tags.map(\.word).sorted() }
    }.makeAsyncIterator()
    var sums = store.observe { context in
      try context.rows(as: Int.self, "SELECT (SELECT count(*) FROM LiveGuest), sum(size) FROM LiveRoom")
    }.makeAsyncIterator()
    #expect(try await counts.next() == 0)
    #expect(try await guests.next() == [])
    #expect(try await words.next() == [])
    #expect(try await sums.next() == [0])
    try await addRoom("a")
    #expect(try await counts.next() == 1)
    #expect(try await guests.next() == [""])
    #expect(try await words.next() == [[]])
    try await store.write { context in
      let room = try context.fetch(LiveRoom.self).one()
      context.insert(LiveGuest.self) { ($0.name, $0.room) = ("x", room) }
      context.insert(LiveGuest.self) { ($0.name, $0.room) = ("y", room) }
    }
    #expect(try await guests.next() == ["xy"])
    #expect(try await sums.next() == [2])
    try await store.write { try $0.fetch(LiveRoom.self).one().guests.reverse() }
    #expect(try await guests.next() == ["yx"])
    try await store.write { context in
      let tag = context.insert(LiveTag.self) { $0.word = "t" }
      tag.rooms = [try context.fetch(LiveRoom.self).one()]
    }
    #expect(try await words.next() == [["t"]])
    try await store.write { try $0.delete($0.fetch(LiveTag.self).one()) }
    #expect(try await words.next() == [[]])
  }

  @Test func `a slow consumer gets the newest state once`() async throws {
    var sizes = store.observe { try $0.fetch(LiveRoom.self).sorted(by: \.id).values(\.size) }
      .makeAsyncIterator()
    #expect(try await sizes.next() == [])
    for size in 0..<50 { try await addRoom("a", size: size) }
    #expect(try await sizes.next() == Array(0..<50))
    try await addRoom("a", size: 50)
    #expect(try await sizes.next() == Array(0...50))
  }

  @Test func `more changes than a consumer keeps are one read`() async throws {
    var count = store.observe { try $0.fetch(LiveRoom.self).count() }.makeAsyncIterator()
    #expect(try await count.next() == 0)
    try await store.write { context in
      for number in 0..<12_000 { context.insert(LiveRoom.self) { $0.title = "\(number)" } }
    }
    #expect(try await count.next() == 12_000)
  }

  @Test func `an equal element is left out`() async throws {
    var large = store.observe { try $0.fetch(LiveRoom.self).where("size > 5").count() }.makeAsyncIterator()
    #expect(try await large.next() == 0)
    try await addRoom("small")
    try await addRoom("large", size: 6)
    #expect(try await large.next() == 1)
  }

  @Test func `commits during an interval are one element`() async throws {
    var sizes = store.observe(interval: .milliseconds(300)) {
      try $0.fetch(LiveRoom.self).sorted(by: \.id).values(\.size)
    }.makeAsyncIterator()
    #expect(try await sizes.next() == [])
    let store = store
    // The first commit wakes the consumer, which waits for the rest of the interval.
    let writer = Task {
      for size in 0..<3 {
        try await store.write { context in
          _ = context.insert(LiveRoom.self) { ($0.title, $0.size) = ("a", size) }
        }
      }
    }
    try await writer.value
    #expect(try await sizes.next() == [0, 1, 2])
  }

  @Test func `a commit of another process is an element`() async throws {
    var count = store.observe { try $0.fetch(LiveRoom.self).count() }.makeAsyncIterator()
    #expect(try await count.next() == 0)
    let other = try await temporary.again()
    try await other.write { context in _ = context.insert(LiveRoom.self) { $0.title = "other" } }
    #expect(try await count.next() == 1)
    other.close()
  }

  @Test func `an error is thrown to the consumer, and the next call reads again`() async throws {
    struct Wanted: Error {}
    let fails = Locked(true)
    var count = store.observe { context in
      if fails.withLock({ $0 }) { throw Wanted() }
      return try context.fetch(LiveRoom.self).count()
    }.makeAsyncIterator()
    await #expect(throws: Wanted.self) { try await count.next() }
    fails.withLock { $0 = false }
    #expect(try await count.next() == 0)
    var unknown = store.observe { try $0.fetch(LiveRoom.self).where("nmae == 'x'").count() }
      .makeAsyncIterator()
    await #expect(throws: StoreError.self) { try await unknown.next() }
  }

  @Test func `a consumer gets the error when another store has changed the key`() async throws {
    var count = store.observe { try $0.fetch(LiveRoom.self).count() }.makeAsyncIterator()
    #expect(try await count.next() == 0)
    let other = try await temporary.again()
    try await other.rekey(to: .named("another"))
    await #expect(throws: SQLError.self) { while try await count.next() != nil {} }
    other.close()
  }

  @Test func `a consumer that waits for an interval ends with the store`() async throws {
    var count = store.observe(interval: .seconds(Int64.max)) { try $0.fetch(LiveRoom.self).count() }
      .makeAsyncIterator()
    #expect(try await count.next() == 0)
    try await addRoom("a")
    let store = store
    Task.detached { store.close() }
    #expect(try await count.next() == nil)
  }

  @Test func `a sequence ends with its store and does not keep it open`() async throws {
    weak var released: Store?
    let values: LiveValues<Int>
    let results: LiveResults<LiveRoom, String>
    do {
      let own = try await TemporaryStore(LiveModel.schema)
      released = own.store
      values = own.store.observe { try $0.fetch(LiveRoom.self).count() }
      results = own.store.observe(ObjectRequest<LiveRoom>(), values: \.title)
      var (one, two) = (values.makeAsyncIterator(), results.makeAsyncIterator())
      #expect(try await one.next() == 0)
      #expect(try await two.next()?.values == [])
      own.store.close()
      #expect(try await one.next() == nil)
      #expect(try await two.next() == nil)
    }
    // A thread of the pool may still be at the end of its work.
    while released != nil { await Task.yield() }
    for try await _ in values { Issue.record("an element without a store") }
    for try await _ in results { Issue.record("an element without a store") }
  }

  @Test func `cancelling a task ends its loop`() async throws {
    let store = store
    let first = AsyncStream<Void>.makeStream()
    let task = Task {
      var count = 0
      for try await _ in store.observe({ try $0.fetch(LiveRoom.self).count() }) {
        count += 1
        first.continuation.yield()
      }
      return count
    }
    for await _ in first.stream { break }
    task.cancel()
    #expect(try await task.value == 1)
  }

  @Test func `values that are no longer Equatable count as updated when their row was written`() async throws
  {
    try await addRoom("a")
    try await addRoom("b")
    var results = store.observe(ObjectRequest<LiveRoom>().sorted(by: \.id)) { ($0.title, $0.size) }
      .makeAsyncIterator()
    #expect(try await results.next()?.difference.insertions == [0, 1])
    try await store.write { try $0.fetch(LiveRoom.self).where("title == 'b'").one().size = 4 }
    let result = try #require(try await results.next())
    #expect(result.difference.updates == [1] && result.difference.moves.isEmpty)
    #expect(result.values.map(\.1) == [1, 4])
  }
}

@Suite struct LiveRelatedRows {
  @Test func `values and conditions that use other objects of the table are read again`() async throws {
    let temporary = try await TemporaryStore(LiveModel.schema)
    let store = temporary.store
    try await store.write { context in
      let land = context.insert(LiveArea.self) { $0.title = "land" }
      for title in ["a", "b"] { context.insert(LiveCity.self) { ($0.title, $0.parent) = (title, land) } }
    }
    let all = ObjectRequest<LiveArea>().sorted(by: \.id)
    var names = store.observe(all) { ($0.title, $0.parent?.title) }.makeAsyncIterator()
    var inLand = store.observe(try all.where("parent.title == 'land'"), values: \.title).makeAsyncIterator()
    var cities = store.observe(ObjectRequest<LiveCity>().sorted(by: \.title), values: \.title)
      .makeAsyncIterator()
    var large = store.observe(try all.where("parts.@count > 1"), values: \.title).makeAsyncIterator()
    var siblings = store.observe(all) { area in
      try area.managedObjectContext?.fetch(LiveArea.self).where("title BEGINSWITH 'l'").count() ?? 0
    }.makeAsyncIterator()
    #expect(try await names.next()?.values.count == 3)
    #expect(try await inLand.next()?.values == ["a", "b"])
    #expect(try await cities.next()?.values == ["a", "b"])
    #expect(try await large.next()?.values == ["land"])
    #expect(try await siblings.next()?.values == [1, 1, 1])
    try await store.write { try $0.fetch(LiveArea.self).where("title == 'land'").one().title = "sea" }
    let result = try #require(try await names.next())
    #expect(result.values.map(\.1) == [nil, "sea", "sea"] && result.difference.updates == [0, 1, 2])
    #expect(try await inLand.next()?.values == [])
    #expect(try await large.next()?.values == ["sea"])
    #expect(try await siblings.next()?.values == [0, 0, 0])
    // A row of the parent entity does not become one of the children.
    try await store.write { context in
      context.insert(LiveArea.self) { $0.title = "aa" }
      context.insert(LiveCity.self) { $0.title = "ab" }
    }
    #expect(try await cities.next()?.values == ["a", "ab", "b"])
  }
}

@Suite struct LiveDifferences {
  @Test func `a difference leads from one list to the other, with the fewest moves`() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<500 {
      let old = Array(0..<Int64.random(in: 0...9, using: &random)).shuffled(using: &random)
      let new = Array(0..<Int64.random(in: 0...9, using: &random)).shuffled(using: &random)
      let difference = LiveDifference.forTests(from: old, to: new)
      #expect(LiveModel.apply(difference, to: old, for: new) == new)
      #expect(difference.updates.isEmpty)
    }
    let rotated = LiveDifference.forTests(from: [1, 2, 3, 4], to: [4, 1, 2, 3])
    #expect(rotated.moves.map(\.from) == [3] && rotated.moves.map(\.to) == [0])
  }
}
