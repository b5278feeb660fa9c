// The results of a fetch's methods, and their errors if there is no single result.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Fetches {
  let temporary: TemporaryStore

  init() async throws { temporary = try await TemporaryStore(library) }

  @Test func `one throws different errors for no result and for several results`() throws {
    let context = temporary.store.makeContext()
    #expect(throws: StoreError.noResult(entity: "Author")) { try context.fetch(Author.self).one() }
    for name in ["A", "B"] { context.insert(Author.self) { $0.name = name } }
    try context.save()
    #expect(throws: StoreError.severalResults(entity: "Author")) { try context.fetch(Author.self).one() }
    #expect(throws: StoreError.noResult(entity: "Author")) {
      try context.fetch(Author.self).where("name == 'C'").one()
    }
    #expect(try context.fetch(Author.self).where("name == 'B'").one().name == "B")
    #expect("\(StoreError.noResult(entity: "Author"))".contains("No Author"))
  }

  @Test(arguments: [SortOrder.forward, .reverse])
  func `paging by the last key returns each object once, in the order of the sort`(_ order: SortOrder) throws
  {
    let context = temporary.store.makeContext()
    // Pages of seven end between objects with the same title.
    for number in 0..<100 { context.insert(Book.self) { $0.title = "title \(number * 7 % 11)" } }
    try context.save()
    let (beyond, id) = order == .forward ? (">", "id >") : ("<", "id <")
    let fetch = context.fetch(Book.self).sorted(by: \.title, order).limit(7)
    var (found, page): ([Book], [Book]) = ([], try fetch.all())
    while let last = page.last {
      found += page
      page = try fetch.where(
        "title \(beyond)= %@ AND (title \(beyond) %@ OR \(id) %@)", last.title, last.title, last.id
      ).all()
      // Changing an earlier page moves no object of the later pages.
      if found.count == 14 {
        context.delete(found[3])
        context.insert(Book.self) { $0.title = found[0].title }
        try context.save()
      }
    }
    let rising = (0..<100).map { "title \($0 * 7 % 11)" }.sorted()
    let titles = order == .forward ? rising : Array(rising.reversed())
    #expect(found.count == 100)
    #expect(Set(found.map(ObjectIdentifier.init)).count == 100)
    #expect(found.dropFirst(14).map(\.title) == Array(titles.dropFirst(14)))
  }

  @Test func `a predicate with a new object finds the objects that refer to it`() async throws {
    try await temporary.store.write { context in
      let author = context.insert(Author.self) { $0.name = "A" }
      let genre = context.insert(Genre.self) { $0.name = "G" }
      context.insert(Book.self) {
        $0.title = "b"
        $0.author = author
        $0.genres = [genre]
      }
      context.insert(Book.self) { $0.title = "c" }
      let books = context.fetch(Book.self)
      let fetches = [
        try books.where("author == %@", author), try books.where("author IN %@", [author]),
        try books.where("genres CONTAINS %@ AND title == %@", genre, "b"),
        try books.where("title == 'b'").where("author == %@ OR author == nil", author),
        try books.where("author IN %@", Set([author])),
      ]
      for fetch in fetches {
        #expect(try fetch.count() == 1)
        #expect(try fetch.ids().count == 1)
        #expect(try fetch.exists())
        #expect(try fetch.one().title == "b")
      }
    }
    // No object refers to this new one.
    let context = temporary.store.makeContext()
    let author = context.insert(Author.self) { $0.name = "B" }
    let fetch = try context.fetch(Book.self).where("author == %@", author)
    #expect(try fetch.all().isEmpty)
    try context.save()
    #expect(try fetch.all().isEmpty)
  }
}
