// Fetches in batches, compared with the objects of one fetch.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FetchBatches {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    for number in 0..<25 {
      context.insert(Book.self) { ($0.title, $0.year) = ("\(number * 7 % 25)", number % 4) }
    }
    try context.save()
  }

  private func fetches(_ context: ObjectContext) throws -> [Fetch<Book>] {
    let all = context.fetch(Book.self)
    return [
      all, all.sorted(by: \.id, .reverse), all.sorted(by: \.title), try all.where("year > 1"),
      try all.where("year > 1").sorted(by: \.year, .reverse), all.limit(7), all.offset(3).limit(12),
      all.offset(20),
      all.sorted(by: \.title).offset(3).limit(12), all.limit(0), try all.where("year == 9"),
    ]
  }

  private func all(_ stream: FetchStream<Book>) async throws -> [Book] {
    var found: [Book] = []
    for try await book in stream { found.append(book) }
    return found
  }

  @Test(arguments: [1, 4, 25, 500, 0]) func `batches have the objects of the fetch`(_ size: Int) async throws
  {
    for round in 0..<2 {
      for (index, fetch) in try fetches(context).enumerated() {
        let ordered = index == 0 || index == 3 ? fetch.sorted(by: \.id) : fetch
        let expected = try ordered.all()
        let streamed = try await all(fetch.stream(batch: size))
        #expect(streamed == expected, "fetch \(index), round \(round)")
        var found: [Book] = []
        try fetch.forEach(batch: size) { found.append($0) }
        #expect(found == expected, "fetch \(index), round \(round)")
        #expect(try Array(ordered.batches(of: size)) == expected, "fetch \(index), round \(round)")
      }
      // The second round has pending changes.
      let books = try context.fetch(Book.self).sorted(by: \.id).all()
      for book in books.prefix(4) { context.delete(book) }
      for book in books.suffix(4) { book.year = 3 - book.year }
      for number in 0..<3 { context.insert(Book.self) { ($0.title, $0.year) = ("new \(number)", 2) } }
    }
  }

  @Test func `objects of former batches are released`() throws {
    let fresh = temporary.store.makeContext()
    for fetch in [fresh.fetch(Book.self), fresh.fetch(Book.self).sorted(by: \.title)] {
      var most = 0
      try fetch.forEach(batch: 5) { _ in most = max(most, fresh.maps.all.reduce(0) { $0 + $1.all.count }) }
      #expect(most <= 10)
    }
    let list = try fresh.fetch(Book.self).batches(of: 5)
    for book in list { _ = book.title }
    #expect(fresh.maps.all.reduce(0) { $0 + $1.all.count } <= 10)
    #expect(list.count == 25 && list.last?.title != nil)
  }

  @Test func `a loop may change, insert and delete the objects that it reads`() async throws {
    let fresh = temporary.store.makeContext()
    var seen: [String] = []
    for try await book in fresh.fetch(Book.self).stream(batch: 3) {
      seen.append(book.title)
      if seen.count % 5 == 0 { fresh.delete(book) } else { book.year += 10 }
      if seen.count == 4 { fresh.insert(Book.self) { $0.title = "inserted" } }
    }
    #expect(seen.count == 25 && !seen.contains("inserted"))
    try fresh.save()
    #expect(try fresh.fetch(Book.self).where("year >= 10 AND year < 2000").count() == 20)
    #expect(try fresh.fetch(Book.self).count() == 21)
    // An object that is deleted before its batch is left out, and the others stay.
    seen = []
    for try await book in fresh.fetch(Book.self).sorted(by: \.title).stream(batch: 3) {
      seen.append(book.title)
      if seen.count == 1 {
        let last = try #require(try fresh.fetch(Book.self).sorted(by: \.title, .reverse).first())
        fresh.delete(last)
        try fresh.save()
      }
    }
    #expect(seen.count == 20 && seen == seen.sorted())
  }

  @MainActor @Test func `a stream is read on the actor of its context`() async throws {
    let main = temporary.store.makeContext()
    var count = 0
    for try await book in main.fetch(Book.self).stream(batch: 10) { count += book.title.isEmpty ? 0 : 1 }
    #expect(count == 25)
  }

  @Test func `a cancelled task gets no further batch`() async throws {
    let store = temporary.store
    let task = Task {
      let context = store.makeContext()
      var count = 0
      for try await _ in context.fetch(Book.self).stream(batch: 2) {
        count += 1
        if count == 6 { withUnsafeCurrentTask { $0?.cancel() } }
      }
      return count
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `a row that was deleted is a fault of the collection`() async throws {
    let list = try context.fetch(Book.self).sorted(by: \.id).batches(of: 10)
    let gone = try #require(try context.fetch(Book.self).sorted(by: \.id).first()).id
    try await temporary.store.write { context in
      if let book = try context.existing(gone) { context.delete(book) }
    }
    let fresh = temporary.store.makeContext()
    let again = try fresh.fetch(Book.self).sorted(by: \.id).batches(of: 10)
    #expect(again.count == 24 && list.count == 25)
    #expect(throws: StoreError.self) { try list[0].load() }
    #expect(list[1].title == again[0].title)
  }

  @Test func `errors of the fetch are those of the stream`() async throws {
    let wrong = context.fetch(Book.self).sorted(byPath: "nothing")
    do {
      _ = try await all(wrong.stream())
      Issue.record("the stream has no error")
    } catch { #expect(error is StoreError) }
    #expect(throws: StoreError.self) { try wrong.forEach { _ in } }
    #expect(throws: StoreError.self) { try wrong.batches(of: 3) }
  }

  // MARK: Sections

  @Test func `sections have the keys, counts and places of the sorted list`() throws {
    for round in 0..<2 {
      let fetch = context.fetch(Book.self).sorted(by: \.title)
      for (list, order) in [
        (fetch, SortOrder.forward),
        (context.fetch(Book.self).sorted(by: \.year, .reverse).sorted(by: \.title), .reverse),
      ] {
        let sections = try list.sections(by: \.year)
        let books = try context.fetch(Book.self).sorted(by: \.year, order).sorted(by: \.title).all()
        #expect(sections.reduce(0) { $0 + $1.count } == books.count, "round \(round)")
        for section in sections {
          let members = Array(books[section.offset..<section.offset + section.count])
          #expect(members.allSatisfy { $0.year == section.key })
          #expect(try section.fetch.all() == members)
        }
        #expect(sections.map(\.key) == sections.map(\.key).sorted { order == .forward ? $0 < $1 : $0 > $1 })
      }
      let byAuthor = try fetch.sections(by: \.author?.id)
      #expect(try byAuthor.first?.key == nil && byAuthor.first?.fetch.count() == byAuthor.first?.count)
      context.insert(Book.self) { ($0.title, $0.year) = ("new", 77) }.author = context.insert(Author.self) {
        $0.name = "n"
      }
    }
  }
}
