// The limit on queries: what is counted, and what the error names.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct QueryLimits {
  private static func filled() async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      for number in 0..<8 {
        let author = context.insert(Author.self) { ($0.name, $0.age) = ("a\(number)", number) }
        context.insert(Book.self) { ($0.title, $0.author) = ("t\(number)", author) }
      }
    }
    return temporary
  }

  private static func failure(_ limit: Int, _ context: ObjectContext, _ body: () throws -> Void) throws
    -> QueryLimitExceeded
  {
    try #require(throws: QueryLimitExceeded.self) { try context.withQueryLimit(limit, body) }
  }

  private static func lines(_ error: QueryLimitExceeded) -> [String] {
    error.relationships.map { "\($0.entity).\($0.name) \($0.queries)" }
  }

  @Test func `a to-one that is read once for each object is named, with the prefetch to add`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    let error = try Self.failure(2, context) {
      for book in try context.fetch(Book.self).all() { _ = book.author?.name }
    }
    #expect(error.queries == 9 && error.faultsFired == 8 && error.rows == 16)
    #expect(Self.lines(error) == ["Book.author 8"])
    #expect(
      "\(error)".hasSuffix(
        "Book.author was read by 8 queries, one for each object: add .prefetch(\\.author) to the fetch of Book."
      ))
    let fresh = temporary.store.makeContext()
    let names = try fresh.withQueryLimit(2) {
      try fresh.fetch(Book.self).prefetch(\.author).all().compactMap { $0.author?.name }
    }
    #expect(names.count == 8)
  }

  @Test func `a to-many that is read once for each object is named`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    let error = try Self.failure(0, context) {
      for author in try context.fetch(Author.self).all() { for book in author.books { _ = book.genres } }
    }
    #expect(Self.lines(error) == ["Author.books 8", "Book.genres 8"])
  }

  @Test func `each limit counts the queries of its own closure`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    let outer = try Self.failure(3, context) {
      let books = try context.withQueryLimit(1) { try context.fetch(Book.self).all() }
      let inner = try Self.failure(3, context) { for book in books.prefix(5) { _ = book.author?.name } }
      #expect(inner.queries == 5 && inner.relationships.map(\.queries) == [5])
      _ = books[6].author?.name
    }
    #expect(outer.queries == 7 && Self.lines(outer) == ["Book.author 6"])
    _ = try context.withQueryLimit(0) {}
  }

  @Test func `fetches, counts, SQL and single rows are counted, and the error of the closure comes first`()
    async throws
  {
    struct Stop: Error {}
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    let error = try Self.failure(1, context) {
      _ = try context.fetch(Book.self).count()
      _ = try context.rows("SELECT 1 FROM Book")
      _ = try context.existing(ObjectID<Book>(rowID: 3))
    }
    #expect(error.queries == 3 && error.faultsFired == 0 && error.relationships.isEmpty)
    #expect("\(error)".contains("with IN"))
    #expect(throws: Stop.self) {
      try context.withQueryLimit(0) {
        _ = try context.fetch(Book.self).count()
        throw Stop()
      }
    }
    let saved = temporary.store.makeContext()
    try saved.withQueryLimit(0) {
      saved.insert(Club.self) { $0.name = "x" }
      try saved.save()
    }
  }

  @Test func `a to-one to an entity with subentities is named`() async throws {
    let temporary = try await TemporaryStore(company)
    try await temporary.store.write { context in
      for number in 0..<4 {
        let mentor = context.insert(Employee.self) { $0.name = "m\(number)" }
        context.insert(Person.self) { ($0.name, $0.mentor) = ("p\(number)", mentor) }
      }
    }
    let context = temporary.store.makeContext()
    let error = try Self.failure(1, context) {
      let people = try context.fetch(Person.self).where("name BEGINSWITH 'p'").all()
      #expect(people.compactMap { $0.mentor?.name }.count == 4)
    }
    #expect(Self.lines(error) == ["Person.mentor 4"])
  }

  @Test func `rows whose relationship is unknown are counted without one`()
    async throws
  {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    let authors = try context.fetch(Book.self).all().compactMap(\.author)
    let error = try Self.failure(2, context) { for author in authors { _ = author.age } }
    #expect(error.faultsFired == 8 && error.relationships.isEmpty)
    #expect("\(error)".contains("8 of them fetched one object or one set each"))
  }
}
