// Prefetches of more objects than any list of parameters takes, and rows that change size again and again.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct LargePrefetches {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  /// 1,500 authors with a book each, in two of thirty genres; every tenth has no author, every seventh no genre.
  private func fill() throws {
    let context = store.makeContext()
    let genres = (0..<30).map { number in context.insert(Genre.self) { $0.name = "genre \(number)" } }
    for number in 0..<1500 {
      let author = context.insert(Author.self) { $0.name = "author \(number)" }
      context.insert(Book.self) {
        $0.title = "book \(number)"
        if number % 10 != 0 { $0.author = author }
        if number % 7 != 0 { $0.genres = [genres[number % 30], genres[(number + 11) % 30]] }
      }
    }
    try context.save()
  }

  @Test func `each relationship is one query, and every object has what it has`() throws {
    try fill()
    let context = store.makeContext()
    let authors = try context.fetch(Author.self).sorted(by: \.name).prefetch(\.books).all()
    #expect(context.statistics.queries == 2)
    let books = try context.fetch(Book.self).sorted(by: \.title).prefetch(\.genres).prefetch(\.author).all()
    // The authors are in memory.
    #expect(context.statistics.queries == 4)
    let other = store.makeContext()
    let plain = try other.fetch(Author.self).sorted(by: \.name).all()
    let plainBooks = try other.fetch(Book.self).sorted(by: \.title).all()
    #expect(authors.map { $0.books.map(\.title) } == plain.map { $0.books.map(\.title) })
    #expect(books.map { Set($0.genres.map(\.name)) } == plainBooks.map { Set($0.genres.map(\.name)) })
    #expect(books.map { $0.author?.name } == plainBooks.map { $0.author?.name })
    #expect(context.statistics.queries == 4 && context.statistics.faultsFired == 0)

    let targets = store.makeContext()
    #expect(
      try targets.fetch(Book.self).prefetch(\.author).all().compactMap { $0.author?.name }.count == 1350)
    #expect(targets.statistics.queries == 2 && targets.statistics.faultsFired == 0)
  }

  @Test func `texts that grow and shrink in turns are what was last written, pending and saved`() throws {
    var random = SeededGenerator(seed: 21)
    let context = store.makeContext()
    var authors: [Author] = []
    var expected: [String?] = []
    for round in 0..<40 {
      for _ in 0..<30 {
        if authors.count < 60 {
          authors.append(context.insert(Author.self) { $0.name = "author \(expected.count)" })
          expected.append(nil)
        }
        let index = Int.random(in: authors.indices, using: &random)
        let length = [0, 3, 16, 200, 7000][Int.random(in: 0..<5, using: &random)]
        expected[index] = length == 0 ? nil : String(repeating: "ö", count: length) + "\(round)"
        authors[index].nick = expected[index]
        authors[index].age = index
      }
      #expect(authors.map(\.nick) == expected)
      if round % 3 == 0 { try context.save() }
      if round % 4 == 1 {
        for author in authors { context.refresh(author) }
        if round % 3 != 0 { expected = authors.map(\.nick) }
      }
    }
    try context.save()
    let other = store.makeContext()
    #expect(try authors.map { try other.existing($0.id)?.nick } == expected)
    #expect(authors.enumerated().allSatisfy { $1.age == $0 || $1.age == 30 })
    #expect(authors.enumerated().allSatisfy { $1.name == "author \($0)" })
  }
}
