// Fetches whose statement passes its rows to a function. The rows have the requested order and the stored
// values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct CollectedRows {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  /// Inserts books by ten authors. There are few different years and ratings, so that sorts have ties.
  private func fill(_ count: Int) throws {
    let context = store.makeContext()
    let authors = (0..<10).map { number in context.insert(Author.self) { $0.name = "author \(number)" } }
    var random = SeededGenerator(seed: 7)
    for number in 0..<count {
      context.insert(Book.self) {
        $0.title = "title \(Int.random(in: 0..<count, using: &random))"
        $0.year = Int.random(in: 1990..<2010, using: &random)
        $0.rating = number % 3 == 0 ? nil : Double(Int.random(in: 0..<5, using: &random))
        $0.author = number % 7 == 0 ? nil : authors[Int.random(in: 0..<10, using: &random)]
      }
    }
    try context.save()
  }

  private typealias Precedes = (Book, Book) -> Bool

  @Test func `5,000 rows have the order of each sort, and limited fetches are parts of it`() throws {
    try fill(5000)
    let context = store.makeContext()
    let all = try context.fetch(Book.self).all()
    #expect(all.count == 5000 && all.map(\.id.rowID) == all.map(\.id.rowID).sorted())
    let fetch = context.fetch(Book.self)
    let sorts: [(name: String, fetch: Fetch<Book>, precedes: Precedes)] = [
      ("id", fetch.sorted(by: \.id, .reverse), { $0.id.rowID > $1.id.rowID }),
      ("title", fetch.sorted(by: \.title), { ($0.title, $0.id.rowID) < ($1.title, $1.id.rowID) }),
      (
        "year and rating", fetch.sorted(by: \.year, .reverse).sorted(by: \.rating),
        { ($1.year, $0.rating ?? -1, $0.id.rowID) < ($0.year, $1.rating ?? -1, $1.id.rowID) }
      ),
      (
        "author", fetch.sorted(by: \.author?.name),
        { ($0.author?.name ?? "", $0.id.rowID) < ($1.author?.name ?? "", $1.id.rowID) }
      ),
    ]
    for sort in sorts {
      let expected = all.sorted(by: sort.precedes)
      #expect(try sort.fetch.all() == expected, "\(sort.name)")
      let fresh = try sort.fetch.where("year > 1995").all()
      #expect(fresh == expected.filter { $0.year > 1995 }, "\(sort.name)")
      #expect(try sort.fetch.limit(40).offset(3000).all() == Array(expected[3000..<3040]), "\(sort.name)")
    }
    #expect(try fetch.where("ANY genres.name == 'x' OR year == 2000").all() == all.filter { $0.year == 2000 })
  }

  @Test(arguments: [0, 1])
  func `a limited fetch has the first rows by id, whatever the engine's statistics`(_ known: Int) throws {
    // The statistics are of a nearly empty table, and an index has all columns. The engine would prefer
    // sorting to scanning.
    if known > 0 { try fill(known) }
    try store.withWritingConnection { connection in
      let columns = try connection.rows(sql: "PRAGMA table_info(Book)").compactMap { $0[1].string }
      let names = columns.filter { $0 != "id" }.map { "\"\($0)\"" }.joined(separator: ", ")
      try connection.executeScript("CREATE INDEX all_of_it ON Book(\(names)); ANALYZE")
    }
    let context = store.makeContext()
    for number in 0..<300 {
      context.insert(Book.self) {
        $0.title = "title \(1000 - number)"
        $0.year = 1990 + number % 20
      }
    }
    try context.save()
    let fetch = store.makeContext().fetch(Book.self)
    let all = try fetch.all().sorted { $0.id.rowID < $1.id.rowID }
    for (fetch, all) in [
      (fetch.sorted(by: \.id), all), (fetch.sorted(by: \.id, .reverse), Array(all.reversed())),
    ] {
      for count in [0, 1, 2, all.count - 1, all.count, all.count + 1, Int.max] {
        #expect(try fetch.limit(count).all() == Array(all.prefix(count)))
        #expect(try fetch.limit(count).offset(7).all() == Array(all.dropFirst(7).prefix(count)))
        #expect(
          try fetch.where("year > 2000").limit(count).all()
            == Array(all.filter { $0.year > 2000 }.prefix(count)))
      }
      let limited = fetch.limit(20)
      guard case .handedOver(let text) = try limited.sql.execution else {
        Issue.record("the statement does not hand its rows over")
        continue
      }
      #expect(text.contains("vault_place"))
      // The printed text is for a shell.
      #expect(try !limited.sql.text.contains("vault_"))
    }
  }

  @Test func `pages of an unsorted fetch do not overlap, whatever indexes exist`() throws {
    try fill(300)
    try store.withWritingConnection { connection in
      // With a column that no fetch reads, the index is smaller than the table.
      let columns = try connection.rows(sql: "PRAGMA table_info(Book)").compactMap { $0[1].string }
      let names = columns.filter { $0 != "id" }.reversed().map { "\"\($0)\"" }.joined(separator: ", ")
      try connection.executeScript(
        """
        ALTER TABLE Book ADD COLUMN note TEXT;
        UPDATE Book SET note = hex(zeroblob(1000));
        CREATE INDEX all_of_it ON Book(\(names));
        ANALYZE;
        """)
    }
    let fetch = store.makeContext().fetch(Book.self)
    let pages = try stride(from: 0, to: 300, by: 50).map { try fetch.limit(50).offset($0).all() }
    #expect(pages.joined().map(\.id.rowID) == pages.joined().map(\.id.rowID).sorted())
    #expect(Set(pages.joined().map(\.id)).count == 300)
  }

  @Test func `a limited fetch has the first rows by id, even if the table is stored in another order`() throws
  {
    try fill(300)
    let all = try store.makeContext().fetch(Book.self).sorted(by: \.id).all().map(\.id.rowID)
    try store.withWritingConnection { connection in
      // The rows are stored in another order, and no rowid equals the id.
      try connection.executeScript(
        """
        CREATE TABLE other AS SELECT * FROM Book ORDER BY id % 7, id DESC;
        PRAGMA foreign_keys = OFF;
        DROP TABLE Book;
        ALTER TABLE other RENAME TO Book;
        """)
    }
    for count in [1, 2, 20, 299, 300, 301] {
      let context = store.makeContext()
      let fetch = context.fetch(Book.self)
      #expect(try fetch.limit(count).all().map(\.id.rowID) == Array(all.prefix(count)))
      #expect(
        try fetch.sorted(by: \.id, .reverse).limit(count).all().map(\.id.rowID)
          == Array(all.reversed().prefix(count)))
    }
  }

  @Test func `a sorted fetch in an empty context reads all rows in one query, in order`() throws {
    try fill(1000)
    let other = store.makeContext()
    let expected = try other.fetch(Book.self).all()
      .sorted { ($0.title, $0.id.rowID) < ($1.title, $1.id.rowID) }.map { "\($0.id.rowID) \($0.title)" }
    let context = store.makeContext()
    let sorted = try context.fetch(Book.self).sorted(by: \.title).all()
    #expect(sorted.map { "\($0.id.rowID) \($0.title)" } == expected)
    #expect(context.statistics.queries == 1 && context.statistics.rows == 1000)
  }

  @Test func `a fetch reuses objects in memory and keeps their unsaved values`() throws {
    try fill(100)
    let context = store.makeContext()
    let before = try context.fetch(Book.self).where("year >= 0").all()
    let fault = try #require(before.compactMap(\.author).first)
    #expect(fault.isFault)
    #expect(try context.fetch(Author.self).all().contains { $0 === fault } && fault.state == .loaded)
    before[0].year = 7
    let other = store.makeContext()
    for book in try other.fetch(Book.self).sorted(by: \.id).limit(2).all() { book.title = "by another" }
    try other.save()
    let again = try context.fetch(Book.self).sorted(by: \.id).includingPending(false).all()
    #expect(zip(before, again).allSatisfy { $0 === $1 })
    #expect(again[0].year == 7 && again[0].title != "by another" && again[1].title == "by another")
  }

  @Test func `prefetched members and targets equal those that are read one by one`() throws {
    try fill(2000)
    let context = store.makeContext()
    let authors = try context.fetch(Author.self).prefetch(\.books).all()
    let other = store.makeContext()
    let expected = try other.fetch(Author.self).all().map { Set($0.books.map(\.id.rowID)) }
    let queries = context.statistics.queries
    #expect(authors.map { Set($0.books.map(\.id.rowID)) } == expected)
    #expect(expected.map(\.count).reduce(0, +) > 1000)
    let targets = store.makeContext()
    let books = try targets.fetch(Book.self).prefetch(\.author).all()
    #expect(Set(books.compactMap { $0.author?.name }).count == 10)
    #expect(context.statistics.queries == queries && targets.statistics.faultsFired == 0)
  }

  @Test func `a path is prefetched through members that were in memory before`() async throws {
    try fill(2000)
    let dynamic = try await Store.open(at: store.url, key: testKey)
    defer { dynamic.close() }
    let context = dynamic.makeContext()
    let all = try context.fetch(entity: "Author").all()
    // The members of one author are in memory, those of the others are not.
    let known = try #require(all.first { !$0[toMany: "books"].isEmpty })
    _ = try context.fetch(entity: "Author").prefetch(path: "books.genres").all()
    let (fired, queries) = (context.statistics.faultsFired, context.statistics.queries)
    for book in known[toMany: "books"] { _ = book[toMany: "genres"] }
    for book in all.flatMap({ $0[toMany: "books"] }) { _ = book[toMany: "genres"] }
    #expect(context.statistics.faultsFired == fired && context.statistics.queries == queries)
  }

  @Test func `a fetch prints a statement that a shell can run`() throws {
    let context = store.makeContext()
    try fill(200)
    let connection = try Connection.open(store.url.path, key: testKey)
    let fetches = [
      context.fetch(Book.self), context.fetch(Book.self).sorted(by: \.title),
      try context.fetch(Book.self).where("title BEGINSWITH 'book 1' AND year > %d AND title != '?'", 1900),
      try context.fetch(Book.self).where("author.name IN %@ OR rating > 0.5", ["author 1", "it's"]).limit(7),
    ]
    for fetch in fetches {
      let printed = "\(try fetch.sql)"
      #expect(!printed.contains("vault_"))
      // As it is printed, with values and comments.
      #expect(try connection.rows(sql: printed).map { $0[0].int64 } == fetch.all().map(\.id.rowID))
    }
  }

  @Test func `a printed statement names the functions that a shell does not have`() throws {
    let context = store.makeContext()
    let plain = "\(try context.fetch(Book.self).where("title BEGINSWITH 'vault_fold'").sql)"
    let folded = "\(try context.fetch(Book.self).where("title ==[c] 'vault_like' AND title LIKE 'a*'").sql)"
    #expect(!plain.contains("not in the sqlcipher shell"))
    #expect(folded.hasSuffix("\n-- not in the sqlcipher shell: vault_fold, vault_like"))
  }

  // Safe to share: set by the read, and checked after the read has ended.
  private final class Ending: @unchecked Sendable {
    var wasReached = false
  }

  @Test func `a cancelled read ends inside of a long fetch`() async throws {
    try fill(4000)
    let (store, ending, started) = (store, Ending(), DispatchSemaphore(value: 0))
    // Each row searches the texts of all books of its author, again and again. Without the cancellation
    // this takes many seconds.
    let slow = (0..<50).map { "NOT (ANY author.books.title CONTAINS 'none \($0)')" }.joined(
      separator: " AND ")
    let task = Task {
      try await store.read { context in
        let fetch = try context.fetch(Book.self).where(slow)
        started.signal()
        _ = try fetch.all()
        ending.wasReached = true
      }
    }
    cancel(task, when: started)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!ending.wasReached)
    #expect(try await store.read { try $0.fetch(Book.self).count() } == 4000)
  }
}
