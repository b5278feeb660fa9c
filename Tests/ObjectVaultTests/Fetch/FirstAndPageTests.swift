// The first object of each group, and pages, compared with the sorted objects of the same fetch.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FirstsAndPages {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  private static func fill(
    _ context: ObjectContext, count: Int, names: String = "a", _ random: inout SeededGenerator
  ) throws {
    let authors = (0..<4).map { number in
      context.insert(Author.self) { author in
        (author.name, author.age) = ("\(names)\(number)", number / 2)
        author.nick = number == 1 ? nil : "n\(number % 2)"
      }
    }
    for number in 0..<count {
      context.insert(Book.self) { book in
        book.title = ["x", "X", "y", "é", "É", "e\u{301}", "-"].randomElement(using: &random) ?? ""
        book.year = Int.random(in: 0...3, using: &random)
        book.rating = Bool.random(using: &random) ? nil : Double(number % 3)
        book.price = Bool.random(using: &random) ? nil : Decimal(number % 5) / 4
        book.author = Bool.random(using: &random) ? nil : authors.randomElement(using: &random)
      }
    }
  }

  private static func disturb(_ context: ObjectContext, _ random: inout SeededGenerator) throws {
    let books = try context.fetch(Book.self).sorted(by: \.id).all()
    let authors = try context.fetch(Author.self).sorted(by: \.id).all()
    for book in books where Int.random(in: 0..<5, using: &random) == 0 {
      (book.year, book.author) = (
        Int.random(in: 0...3, using: &random), authors.randomElement(using: &random)
      )
    }
    for book in books where Int.random(in: 0..<8, using: &random) == 0 { context.delete(book) }
    context.delete(authors[3])
    authors[0].nick = "n1"
    try fill(context, count: 5, names: "b", &random)
  }

  private struct Undone: Error {}

  enum State: CaseIterable, Sendable { case empty, clean, pending, writing }

  func inState(_ state: State, _ body: @escaping @Sendable (ObjectContext) throws -> Void)
    async throws
  {
    var random = SeededGenerator(seed: ValueFetches.seed)
    if state != .empty {
      try Self.fill(context, count: 60, &random)
      try context.save()
    }
    switch state {
    case .empty, .clean: try body(context)
    case .pending:
      try Self.disturb(context, &random)
      try body(context)
    case .writing:
      // Rolled back: the changes need not satisfy the rules of the model.
      await #expect(throws: Undone.self) {
        try await temporary.store.write { context in
          var random = SeededGenerator(seed: ValueFetches.seed)
          try Self.disturb(context, &random)
          try body(context)
          throw Undone()
        }
      }
    }
  }

  @Sendable private static func fetches(_ context: ObjectContext) throws -> [Fetch<Book>] {
    let all = context.fetch(Book.self)
    return [
      all, all.sorted(by: \.year, .reverse), all.sorted(by: \.rating).sorted(by: \.title, .reverse),
      all.sorted(by: \.rating, .reverse).sorted(by: \.year),
      all.sorted(by: \.author?.name).sorted(by: \.price),
      all.sorted(by: \.author, .reverse), all.sorted(by: \.author).sorted(by: \.id, .reverse),
      all.sorted(by: \.id, .reverse), try all.where("year > 1").sorted(by: \.price, .reverse),
      try all.where("author.nick == 'n1' OR rating == nil").sorted(by: \.author?.nick, .reverse),
      all.sorted(by: \.title).sorted(by: \.author?.age, .reverse).sorted(by: \.rating),
      all.sorted(by: \.rating, nils: .last), all.sorted(by: \.rating, .reverse, nils: .first),
      all.sorted(by: \.title, comparing: .caseInsensitive).sorted(by: \.price, nils: .last),
      all.sorted(by: \.title, .reverse, comparing: [.caseInsensitive, .diacriticInsensitive]),
      all.sorted(by: \.author?.nick, comparing: .caseInsensitive, nils: .last).sorted(by: \.id, .reverse),
    ]
  }

  // MARK: First of each

  /// The first of the sorted objects with each key.
  private static func firsts<Key: Hashable>(_ books: [Book], of key: (Book) -> Key) -> [Book] {
    var seen: Set<Key> = []
    return books.filter { seen.insert(key($0)).inserted }
  }

  @Test(arguments: State.allCases)
  func `the first object of each group is the first of the sorted objects with its key`(_ state: State)
    async throws
  {
    try await inState(state) { context in
      for (index, fetch) in try Self.fetches(context).enumerated() {
        let books = try (index == 0 ? fetch.sorted(by: \.id) : fetch).all()
        #expect(try fetch.first(ofEach: \.author) == Self.firsts(books) { $0.author }, "fetch \(index)")
        #expect(try fetch.first(ofEach: \.author?.id) == Self.firsts(books) { $0.author }, "fetch \(index)")
        #expect(
          try fetch.first(ofEach: \.title) == Self.firsts(books) { Array($0.title.utf8) }, "fetch \(index)")
        #expect(try fetch.first(ofEach: \.year) == Self.firsts(books) { $0.year }, "fetch \(index)")
        #expect(try fetch.first(ofEach: \.rating) == Self.firsts(books) { $0.rating }, "fetch \(index)")
        #expect(
          try fetch.first(ofEach: \.author?.nick) == Self.firsts(books) { $0.author?.nick }, "fetch \(index)")
        #expect(try fetch.first(ofEachPath: "author") == Self.firsts(books) { $0.author }, "fetch \(index)")
        let window = try fetch.offset(1).limit(2).first(ofEach: \.author)
        #expect(window == Array(Self.firsts(books) { $0.author }.dropFirst().prefix(2)), "fetch \(index)")
      }
    }
  }

  @Test func `the first objects of large groups are found by the index of the property`() async throws {
    let store = temporary.store
    try await store.write { context in
      let authors = (0..<20).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
      for number in 0..<4_000 {
        context.insert(Book.self) {
          ($0.title, $0.year, $0.author) = ("\(number)", number, authors[number % 20])
        }
      }
    }
    let context = store.makeContext()
    let newest = try context.fetch(Book.self).sorted(by: \.year, .reverse).prefetch(\.author).first(
      ofEach: \.author)
    #expect(newest.map(\.year) == Array((3_980..<4_000).reversed()))
    // Neither the rows of all books were read, nor each row of an author.
    #expect(context.statistics.rows < 200 && context.statistics.queries < 8)
    let read = context.statistics.queries
    #expect(newest.map(\.author?.name).count == 20 && context.statistics.queries == read)
  }

  // MARK: Pages

  @Test(arguments: State.allCases, [1, 3, 100])
  func `pages one after another are the sorted objects`(_ state: State, _ size: Int) async throws {
    try await inState(state) { context in
      for (index, fetch) in try Self.fetches(context).enumerated() {
        let expected = try (index == 0 ? fetch.sorted(by: \.id) : fetch).all()
        var (found, cursor): ([Book], PageCursor<Book>?) = ([], nil)
        repeat {
          let page = try fetch.page(size: size, after: cursor)
          #expect(page.objects.count == size || page.next == nil, "fetch \(index)")
          found += page.objects
          // A cursor survives coding.
          cursor = try page.next.map {
            try JSONDecoder().decode(PageCursor<Book>.self, from: JSONEncoder().encode($0))
          }
        } while cursor != nil && found.count <= expected.count
        #expect(found == expected, "fetch \(index)")
      }
    }
  }

  @Test func `objects that are inserted or deleted before a cursor move no object to another page`() throws {
    for number in 0..<20 { context.insert(Book.self) { ($0.title, $0.year) = ("b\(number + 10)", 1) } }
    try context.save()
    let fetch = context.fetch(Book.self).sorted(by: \.title)
    let first = try fetch.page(size: 5)
    context.insert(Book.self) { $0.title = "a" }
    context.delete(first.objects[1])
    try context.save()
    let second = try fetch.page(size: 5, after: first.next)
    #expect(second.objects.map(\.title) == (15..<20).map { "b\($0)" })
    // The object of the cursor may be deleted, too.
    let last = try #require(first.objects.last)
    context.delete(last)
    try context.save()
    #expect(try fetch.page(size: 5, after: first.next).objects == second.objects)
  }

  @Test func `a cursor of another sort is an error`() throws {
    for number in 0..<5 { context.insert(Book.self) { $0.title = "\(number)" } }
    try context.save()
    let cursor = try context.fetch(Book.self).sorted(by: \.title).page(size: 2).next
    #expect(cursor != nil)
    for fetch in [
      context.fetch(Book.self), context.fetch(Book.self).sorted(by: \.title, .reverse),
      context.fetch(Book.self).sorted(by: \.title).sorted(by: \.year),
    ] {
      let error = #expect(throws: StoreError.self) { try fetch.page(size: 2, after: cursor) }
      #expect(error.map { "\($0)" }?.contains("the cursor is of a fetch with another sort") == true)
    }
    #expect(try context.fetch(Book.self).page(size: 0).objects.count == 1)
    #expect(try context.fetch(Book.self).page(size: -1).objects.count == 1)
    #expect(try context.fetch(Book.self).page(size: .max).objects.count == 5)
  }

  @Test func `pages may be sorted by each type of attribute`() throws {
    for number in 0..<6 {
      context.insert(Sample.self) {
        EvaluatedForms.fill($0, number)
        ($0.flag, $0.int, $0.int8, $0.double) = (
          number % 2 == 0, number % 3, Int8(number % 4), Double(number % 3) / 3
        )
        ($0.decimal, $0.string, $0.date) = (
          Decimal(number % 3) / 7, "\(number % 3)", Date(timeIntervalSince1970: Double(number % 3) / 3)
        )
        ($0.uuid, $0.url, $0.mood, $0.float) = (
          UUID(), URL(filePath: "/\(number % 3)"), Mood.allCases[number % 3], 0.1
        )
        ($0.maybeDate, $0.maybeMood, $0.maybeDecimal) = (
          number < 3 ? nil : .now, number < 2 ? nil : .calm, nil
        )
      }
    }
    try context.save()
    let paths: [PartialKeyPath<Sample>] = [
      \.flag, \.int, \.int8, \.double, \.decimal, \.string, \.date, \.uuid, \.url, \.mood, \.float,
      \.maybeDate,
      \.maybeMood, \.maybeDecimal, \.shelf, \.maybeInt,
    ]
    for path in paths {
      for order in [SortOrder.forward, .reverse] {
        let fetch = context.fetch(Sample.self).sorted(by: path, order)
        var (found, cursor): ([Sample], PageCursor<Sample>?) = ([], nil)
        repeat {
          let page = try fetch.page(size: 2, after: cursor)
          (found, cursor) = (found + page.objects, page.next)
        } while cursor != nil && found.count < 20
        #expect(try found == fetch.all(), "\(path) \(order)")
      }
    }
  }
}
