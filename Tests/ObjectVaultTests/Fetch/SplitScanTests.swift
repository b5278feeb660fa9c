// Fetches of a whole large table that two connections read at once. They find the same rows, from one
// snapshot.

import CipherSQLite
import Foundation
import ObjectVault
import Synchronization
import TestSupport
import Testing

private final class Flag: Sendable { let value = Atomic(false) }

private let isShared = usableProcessors() > 1

@Suite(.tags(.slow)) struct SplitScans {
  let temporary: TemporaryStore
  var store: Store { temporary.store }
  private static let count = 30_000
  private var count: Int { Self.count }

  /// A closed store with the rows. The tests copy it, because inserting the rows takes longer than all
  /// that they do.
  private static let filled = Task {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    for number in 0..<count {
      context.insert(Book.self) {
        ($0.title, $0.year) = ("title \(number)", 0)
        $0.rating = number % 3 == 0 ? nil : Double(number)
      }
    }
    try context.save()
    temporary.store.close()
    return temporary
  }

  init() async throws { temporary = try await TemporaryStore(copying: Self.filled.value) }

  /// Fetches repeatedly until a second connection has read a part, which requires a free core.
  /// - Returns: Whether a second connection has read a part.
  private func isEverShared(_ store: Store, _ fetch: (ObjectContext) throws -> [Book]) throws -> Bool {
    for _ in 0..<200 {
      let context = store.makeContext()
      #expect(try fetch(context).count == count && context.statistics.rows == count)
      #expect(context.statistics.queries == 1)
      if context.statistics.rowsReadAhead > 0 { return true }
    }
    return false
  }

  @Test func `a shared fetch finds the rows of one connection, in the same order`() throws {
    var found: [Book] = []
    let isEverShared = try isEverShared(store) { context in
      found = try context.fetch(Book.self).all()
      return found
    }
    #expect(isEverShared == isShared)
    let other = store.makeContext()
    let sorted = try other.fetch(Book.self).sorted(by: \.id).all()
    #expect(other.statistics.rowsReadAhead == 0)
    let line = { (book: Book) in "\(book.id.rowID) \(book.title) \(book.year) \(book.rating ?? -1)" }
    #expect(found.map(line) == sorted.map(line))
  }

  // The changes are in the part of the second connection, the rows above three tenths of the ids. Each is
  // tested alone: a batch that ends because of one would hide a missing check of the other.
  @Test(arguments: [
    // Neighbouring ids differ by more than 32 bits.
    "UPDATE Book SET id = id * 5000000000 WHERE id > 20000",
    // Versions differ by 31 bits, by 32 bits, and by more than fits into 64 bits.
    "UPDATE Book SET _version = 1 + id % 3 * 2147483648 WHERE id > 20000",
    "UPDATE Book SET _version = 1 + id % 3 * 4294967296 WHERE id > 20000",
    """
    UPDATE Book SET _version = CASE id % 4
      WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775807 ELSE id END WHERE id > 20000
    """,
  ])
  func `a shared fetch reads ids and versions correctly that are far apart`(_ change: String) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute(sql: change)
    var expected: [String] = []
    try connection.withStatement(sql: "SELECT id, _version, title FROM Book ORDER BY id") { statement in
      while try statement.step() {
        expected.append("\(statement.int64(0)) \(statement.int64(1)) \(statement.text(2) ?? "")")
      }
    }
    var found: [Book] = []
    let isEverShared = try isEverShared(store) { context in
      found = try context.fetch(Book.self).all()
      return found
    }
    #expect(isEverShared == isShared)
    #expect(found.map { "\($0.id.rowID) \($0.rowVersion) \($0.title)" } == expected)
  }

  @Test func `the first fetch of a store that was just opened is shared`() async throws {
    store.close()
    var ahead = 0
    for _ in 0..<100 where ahead == 0 {
      let opened = try await Store.open(
        at: store.url, key: testKey, schema: store.schema, migrations: .creatingSchema)
      defer { opened.close() }
      let context = opened.makeContext()
      #expect(try context.fetch(Book.self).all().count == count)
      ahead = context.statistics.rowsReadAhead
    }
    #expect((ahead > 0) == isShared)
  }

  @Test func `fetches in read transactions and fetches with prefetching are shared`() async throws {
    var ahead = 0
    for _ in 0..<200 where ahead == 0 {
      ahead = try await store.read { context in
        let books = try context.fetch(Book.self).all()
        #expect(books.map(\.id.rowID) == Array(1...Int64(30_000)))
        return context.statistics.rowsReadAhead
      }
    }
    #expect((ahead > 0) == isShared)
    #expect(try isEverShared(store) { try $0.fetch(Book.self).prefetch(\.author).all() } == isShared)
    // Uncommitted rows are visible to one connection only.
    let written = try await store.write { context in
      context.insert(Book.self) { $0.title = "new" }
      return (count: try context.fetch(Book.self).all().count, ahead: context.statistics.rowsReadAhead)
    }
    #expect(written.count == 30_001 && written.ahead == 0)
  }

  @Test func `a cancelled shared read ends, and the store can be closed then`() async throws {
    for round in 1...8 {
      let opened = try await temporary.again()
      let isThere = DispatchSemaphore(value: 0)
      let reading = Task { () async throws -> Int in
        // An error also wakes the thread that waits.
        defer { isThere.signal() }
        return try await opened.read { context throws -> Int in
          var fetches = 0
          while true {
            _ = try context.fetch(Book.self).all()
            fetches += 1
            if fetches == round { isThere.signal() }
          }
        }
      }
      // During one of the next fetches.
      cancel(reading, when: isThere)
      await #expect(throws: CancellationError.self) { try await reading.value }
      opened.close()
    }
    store.close()
    #expect(!FileManager.default.fileExists(atPath: store.url.path + "-wal"))
  }

  @Test func `a shared fetch releases both connections, so that the key can be changed at once`() async throws
  {
    for byte in 1...5 {
      _ = try store.makeContext().fetch(Book.self).all()
      try await store.rekey(to: .raw([UInt8](repeating: UInt8(byte), count: 32)))
    }
    #expect(try store.makeContext().fetch(Book.self).all().count == count)
  }

  @Test func `a shared fetch sees one snapshot while another store commits`() async throws {
    let other = try await temporary.again()
    let (first, last) = (Int64(1), Int64(count))
    let isDone = Flag()
    let hasCommitted = DispatchSemaphore(value: 0)
    // Both run on threads that start at once. The threads of tasks may be busy with other tests as long
    // as this test runs.
    let writing = ThreadWork {
      // An error also wakes the reader.
      defer { hasCommitted.signal() }
      var round = 0
      let context = other.makeContext()
      let both = try context.fetch(Book.self).where("id IN {\(first), \(last)}").all()
      while !isDone.value.load(ordering: .acquiring) {
        round += 1
        for book in both { book.year = round }
        try context.save()
        if round == 1 { hasCommitted.signal() }
      }
      return round
    }
    let store = store
    let reading = ThreadWork {
      defer { isDone.value.store(true, ordering: .releasing) }
      hasCommitted.wait()
      var ahead = 0
      for round in 0..<2000 where round < 40 || (isShared && ahead == 0) {
        let context = store.makeContext()
        let books = try context.fetch(Book.self).all()
        #expect(try #require(books.first).year == #require(books.last).year)
        ahead += context.statistics.rowsReadAhead
      }
      return ahead
    }
    let ahead = try await reading.value
    #expect(try await writing.value > 0)
    #expect((ahead > 0) == isShared)
  }

  @Test func `a shared fetch does not mix rows of the opened file with those of its replacement`()
    async throws
  {
    store.close()
    let path = store.url.path
    let copy = path + ".copy"
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    try Connection.open(copy, key: testKey).execute(sql: "UPDATE Book SET year = 9")
    for round in 1...20 {
      try? FileManager.default.removeItem(atPath: path)
      try FileManager.default.copyItem(atPath: copy, toPath: path)
      try Connection.open(path, key: testKey).execute(sql: "UPDATE Book SET year = 0")
      let opened = try await Store.open(
        at: store.url, key: testKey, schema: store.schema, migrations: .creatingSchema)
      // One connection has the opened file. Connections that are opened later get the replacement.
      #expect(try opened.makeContext().fetch(Book.self).limit(1).first()?.year == 0)
      for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
      let next = path + ".next"
      try FileManager.default.copyItem(atPath: copy, toPath: next)
      #expect(rename(next, path) == 0)
      let years = Set(try opened.makeContext().fetch(Book.self).all().map(\.year))
      #expect(years.count == 1, "round \(round): \(years)")
      opened.close()
      for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
  }

  @Test func `a shared fetch reuses objects in memory and keeps their unsaved values`() throws {
    let context = store.makeContext()
    // Without the first and the last row: a context that has both objects reads alone.
    let before = try context.fetch(Book.self).where("id > 1 AND id < \(count)").all()
    for index in [0, count - 3] { before[index].title = "mine" }
    let other = store.makeContext()
    for id in [2, 3, count - 2, count - 1] {
      let book = try #require(try other.fetch(Book.self).where("id == \(id)").first())
      book.title = "theirs"
    }
    try other.save()
    let again = try context.fetch(Book.self).includingPending(false).all()
    #expect(again.count == count && zip(before, again.dropFirst()).allSatisfy { $0 === $1 })
    #expect([1, 2, count - 3, count - 2].map { again[$0].title } == ["mine", "theirs", "theirs", "mine"])
    let queries = context.statistics
    #expect(try context.fetch(Book.self).includingPending(false).all() == again)
    #expect(context.statistics.rowsReadAhead == queries.rowsReadAhead)
  }

  @Test func `a store with one reader reads a whole table on one connection`() async throws {
    var configuration = Store.Configuration()
    configuration.readers = 1
    let alone = try await Store.open(
      at: store.url, key: testKey, schema: store.schema, migrations: .creatingSchema,
      configuration: configuration)
    defer { alone.close() }
    let context = alone.makeContext()
    #expect(try context.fetch(Book.self).all().map(\.id.rowID) == Array(1...Int64(count)))
    #expect(context.statistics.rowsReadAhead == 0)
  }

  @Test func `a few rows with ids far apart are read by one connection from the second fetch on`() throws {
    let context = store.makeContext()
    for (index, book) in try context.fetch(Book.self).all().enumerated() where index % 10_000 != 0 {
      context.delete(book)
    }
    try context.save()
    for _ in 0..<2 { #expect(try store.makeContext().fetch(Book.self).all().count == 3) }
    let last = store.makeContext()
    #expect(try last.fetch(Book.self).all().count == 3 && last.statistics.rowsReadAhead == 0)
  }

  // MARK: Values

  /// Fetches values until a second connection has read a part of them.
  /// - Returns: The last values, and whether a second connection has read a part.
  private func shared<Value>(
    _ fetch: (ObjectContext) throws -> [Value], rounds: Int = 200
  ) throws -> (values: [Value], isEver: Bool) {
    var values: [Value] = []
    for _ in 0..<rounds {
      let context = store.makeContext()
      values = try fetch(context)
      #expect(values.count == count)
      if context.statistics.rowsReadAhead > 0 { return (values, true) }
    }
    return (values, false)
  }

  @Test func `values of a whole table are read by two connections, in the order of the ids`() throws {
    let expected = try Connection.open(store.url.path, key: testKey)
      .rows("SELECT year, rating FROM Book ORDER BY id")
    let found = try shared { try $0.fetch(Book.self).values(\.year, \.rating) }
    #expect(found.isEver == isShared)
    #expect(found.values.map(\.0) == expected.map { Int($0[0].int64 ?? -1) })
    #expect(found.values.map(\.1) == expected.map(\.[1].double))
    let named = try shared { try $0.fetch(Book.self).dictionaries("year", "rating") }
    #expect(
      named.isEver == isShared && named.values.map { $0["rating"]?.double } == expected.map(\.[1].double))
    let ids = try shared { try $0.fetch(Book.self).values(\.id, \.rating) }
    #expect(ids.isEver == isShared && ids.values.map(\.0.rowID) == Array(1...Int64(count)))
  }

  @Test func `properties of a whole table join those that objects have already`() throws {
    for _ in 0..<200 {
      let context = store.makeContext()
      let some = try context.fetch(Book.self).where("id > 100 AND id <= 600 OR id > 29000 AND id <= 29900")
        .only(\.title)
        .all()
      let all = try context.fetch(Book.self).only(\.year, \.rating).all()
      let queries = context.statistics.queries
      let ratings = all.map { book -> Double? in
        let number = book.id.rowID - 1
        return number % 3 == 0 ? nil : Double(number)
      }
      #expect(all.count == count && all.map(\.rating) == ratings)
      #expect(some.map(\.title) == some.map { "title \($0.id.rowID - 1)" })
      #expect(context.statistics.queries == queries)
      if context.statistics.rowsReadAhead > 0 || !isShared { return }
    }
    Issue.record("no second connection has read a part")
  }

  @Test func `values that cannot be read are noted, whichever connection reads them`() throws {
    try Connection.open(store.url.path, key: testKey)
      .execute(sql: "UPDATE Book SET rating = 'five' WHERE id IN (7, 29993)")
    var ids: [Int64] = []
    let found = try shared { context in
      let values = try context.fetch(Book.self).values(\.year, \.rating)
      ids = context.unreadableValues.compactMap {
        if case .unreadableValue(_, _, let id, _) = $0 { id } else { nil }
      }
      #expect(ids.sorted() == [7, 29_993])
      return values
    }
    #expect(found.isEver == isShared)
    #expect(found.values[6] == (0, nil) && found.values[29_992] == (0, nil))
  }

  @Test func `one connection reads values of an index, of other types, in an order and with a limit`() throws
  {
    // The index of titles contains them.
    #expect(try !shared({ try $0.fetch(Book.self).values(\.title) }, rounds: 20).isEver)
    // Code of an app may read the values of types that are not among the common ones.
    #expect(try !shared({ try $0.fetch(Book.self).values(\.price) }, rounds: 20).isEver)
    #expect(try !shared({ try $0.fetch(Book.self).sorted(by: \.id).values(\.year) }, rounds: 20).isEver)
    #expect(try !shared({ try $0.fetch(Book.self).limit(count).values(\.year) }, rounds: 20).isEver)
  }

  @Test func `a damaged page in the part of the second connection is an error, and nothing hangs`()
    async throws
  {
    store.close()
    let file = try FileHandle(forUpdating: store.url)
    let size = try file.seekToEnd()
    // The leaf pages of the table are roughly in the order of its ids, and those of the index on titles
    // are after and between them.
    for page in stride(from: size / 2 / 4096, to: size / 4096, by: 1) {
      try file.seek(toOffset: page * 4096 + 100)
      try file.write(contentsOf: Data(repeating: 7, count: 200))
    }
    try file.close()
    let damaged = try await Store.open(
      at: store.url, key: testKey, schema: store.schema, migrations: .creatingSchema)
    defer { damaged.close() }
    let context = damaged.makeContext()
    #expect(throws: SQLError.self) { try context.fetch(Book.self).all() }
    #expect(try context.fetch(Book.self).limit(10).all().count == 10)
  }
}
