// Objects and ids as values of predicates, members behind members, and objects whose deletion is pending.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PredicateObjects {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  private func titles(_ format: String, _ arguments: Any?...) throws -> Set<String> {
    let node = try PredicateNode(format: format, arguments: arguments)
    return Set(try context.fetch(Book.self).where(node).all().map(\.title))
  }

  @Test func `an object or id of another entity or store is an error and finds nothing`() async throws {
    let author = context.insert(Author.self) { $0.name = "A" }
    let club = context.insert(Club.self) { $0.name = "C" }
    context.insert(Book.self) {
      $0.title = "b"
      $0.author = author
      $0.year = 1
    }
    author.club = club
    try context.save()
    #expect(try titles("author == %@", author) == ["b"])
    #expect(try titles("author == %@ AND author.id IN %@", author.id, [author.id]) == ["b"])
    #expect(try titles("author.id >= %@ AND author.id < 99", author.id) == ["b"])
    let other = try await TemporaryStore(library)
    let elsewhere = other.store.makeContext()
    let stranger = elsewhere.insert(Author.self) { $0.name = "A" }
    try elsewhere.save()
    let new = context.insert(Author.self) { $0.name = "new" }
    let wrong: [(String, Any)] = [
      ("author == %@", club), ("author == %@", club.id), ("author != %@", club.id),
      ("author IN %@", [club.id]),
      ("author.id == %@", club.id), ("genres CONTAINS %@", author), ("ANY genres == %@", author.id),
      ("year == %@", author.id), ("year IN %@", [author]), ("year + %@ > 1", author.id),
      ("genres.@count == %@", author), ("author == %@", stranger), ("author == %@", new),
      ("author == %@", new.id), ("SELF == %@", author), ("%@ == author", club.id),
    ]
    for (format, argument) in wrong {
      #expect(throws: StoreError.self, "\(format)") { try titles(format, argument) }
    }
    for format in ["author == author.club", "author.club == author", "author == year", "author > author"] {
      #expect(throws: StoreError.self, "\(format)") { try titles(format) }
    }
    let unsaved = new.id
    #expect(throws: StoreError.self) {
      try context.fetch(Book.self).where(#Predicate { $0.author?.id == unsaved }).ids()
    }
    #expect(throws: StoreError.self) { try PredicateNode(format: "author == %@", Author()) }
    context.rollback()
  }

  // MARK: Members

  @Test func `a many-to-many step may stand behind another to-many`() throws {
    let genres = ["x", "y"].map { name in context.insert(Genre.self) { $0.name = name } }
    let author = context.insert(Author.self) { $0.name = "A" }
    for title in ["a", "b", "c"] {
      context.insert(Book.self) {
        $0.title = title
        $0.author = title == "c" ? nil : author
        $0.genres = title == "a" ? [genres[0]] : title == "b" ? [genres[1]] : []
      }
    }
    try context.save()
    #expect(try titles("ANY author.books.genres.name == 'x'") == ["a", "b"])
    #expect(try titles("ANY genres.books.genres.name == 'x'") == ["a"])
    #expect(try titles("NONE author.books.genres.name == 'x'") == ["c"])
    #expect(try titles("ALL author.books.genres.books.title IN {'a', 'b'}") == ["a", "b", "c"])
    #expect(try titles("ANY author.books.genres == %@", genres[1]) == ["a", "b"])
    #expect(try titles("author.books.genres CONTAINS %@", genres[1].id) == ["a", "b"])
  }

  // MARK: Pending deletions

  @Test func `what is deleted and not yet saved is gone for every verb`() throws {
    for (year, title) in ["1", "2", "3", "4"].enumerated() {
      context.insert(Book.self) { ($0.title, $0.year) = (title, year) }
    }
    try context.save()
    let fetch = context.fetch(Book.self).sorted(by: \.year)
    let all = try fetch.all()
    for book in all.prefix(2) { context.delete(book) }
    #expect(try fetch.first()?.title == "3")
    #expect(try fetch.limit(2).all().map(\.title) == ["3", "4"])
    #expect(try fetch.offset(1).all().map(\.title) == ["4"])
    #expect(try fetch.count() == 2)
    #expect(try fetch.ids().count == 2)
    #expect(try fetch.where("year < 2").exists() == false)
    #expect(try fetch.where("year < 3").one().title == "3")
    #expect(try context.fetch(Author.self).count() == 0)
    context.rollback()
    #expect(try fetch.limit(0).first() == nil)
    #expect(try fetch.limit(0).exists() == false)
    #expect(try fetch.count() == 4)
  }
}
