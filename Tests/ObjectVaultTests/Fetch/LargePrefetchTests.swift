// Prefetches of more objects than a statement can have parameters, and rows whose size changes
// repeatedly.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct LargePrefetches {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  /// 1,500 authors with a book each, in two of thirty genres. Every tenth book has no author, and every
  /// seventh has no genre.
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

  @Test func `prefetching uses one query for each relationship and gives the stored values`() throws {
    try fill()
    let context = store.makeContext()
    let authors = try context.fetch(Author.self).sorted(by: \.name).prefetch(\.books).all()
    #expect(context.statistics.queries == 2)
    let books = try context.fetch(Book.self).sorted(by: \.title).prefetch(\.genres).prefetch(\.author).all()
    // The authors are in memory already.
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

  @Test func `texts that grow and shrink repeatedly keep the last value, pending and saved`() throws {
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

/// Rows that are fetched by their ids: in ranges if the ids are consecutive, one by one otherwise.
@Suite struct RowsByID {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  /// Inserts 140 authors with a passport each, every second with a club, and deletes those that `isKept`
  /// rejects. The others get two or three books.
  private func fill(_ isKept: (Int) -> Bool) throws {
    let context = store.makeContext()
    let clubs = (0..<5).map { number in context.insert(Club.self) { $0.name = "club \(number)" } }
    var authors: [Author] = []
    for number in 0..<140 {
      let author = context.insert(Author.self) {
        $0.name = "author \(number)"
        $0.age = number
        if number % 2 == 0 { $0.club = clubs[number % 5] }
      }
      authors.append(author)
      context.insert(Passport.self) {
        $0.number = "passport \(number)"
        $0.owner = author
      }
    }
    try context.save()
    for (number, author) in authors.enumerated() where !isKept(number) { context.delete(author) }
    try context.save()
    for number in 0..<400 {
      let author = authors[number * 3 % 140]
      guard !author.isDeleted, author.state == .loaded else { continue }
      context.insert(Book.self) {
        $0.title = "book \(number)"
        $0.author = author
      }
    }
    try context.save()
  }

  @Test(arguments: [1, 2, 3, 7, 50])
  func `targets are prefetched whatever gaps their ids have`(_ divisor: Int) throws {
    try fill { divisor == 1 || $0 % divisor != 0 }
    let (context, plain) = (store.makeContext(), store.makeContext())
    let books = try context.fetch(Book.self).sorted(by: \.title).prefetch(\.author).all()
    let expected = try plain.fetch(Book.self).sorted(by: \.title).all()
    #expect(books.count >= 200 && context.statistics.queries == 2)
    #expect(books.map { $0.author?.name } == expected.map { $0.author?.name })
    #expect(books.map { $0.author?.age } == expected.map { $0.author?.age })
    #expect(context.statistics.faultsFired == 0 && plain.statistics.faultsFired > 0)
  }

  @Test func `an object retains the prefetched targets of its to-ones until it is refreshed`() throws {
    try fill { _ in true }
    let context = store.makeContext()
    let authors = try context.fetch(Author.self).sorted(by: \.age).prefetch(\.club).prefetch(\.passport).all()
    #expect(context.statistics.queries == 3)
    for (number, author) in authors.enumerated() {
      #expect(author.club?.name == (number % 2 == 0 ? "club \(number % 5)" : nil))
      #expect(author.passport?.number == "passport \(number)")
      author.nick = "nick \(number)"
      #expect(author.passport?.number == "passport \(number)" && author.nick == "nick \(number)")
    }
    #expect(context.statistics.queries == 3)
    try context.save()
    weak let passport = authors[3].passport
    #expect(passport != nil)
    context.refresh(authors[3])
    #expect(passport == nil)
    #expect(authors[3].passport?.number == "passport 3" && authors[3].nick == "nick 3")
    authors[4].club = authors[6].club
    #expect(authors[4].club === authors[6].club && authors[4].passport?.number == "passport 4")
  }
}
