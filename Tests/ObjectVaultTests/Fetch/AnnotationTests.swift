// Objects with values that are computed of their members, compared with loops over the members.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Annotations {
  /// The member with the greatest, or least, value of a key; of equal ones the last, or first, by id.
  private static func first<Key: Comparable>(_ books: [Book], latest: Bool, by key: (Book) -> Key?) -> Book? {
    let sorted = ordered(books, by: key)
    return latest ? sorted.last : sorted.first
  }

  /// The books in the order of a key; equal ones as they were, which is by id.
  private static func ordered<Key: Comparable>(_ books: [Book], by key: (Book) -> Key?) -> [Book] {
    let sorted = books.enumerated().sorted { left, right in
      switch (key(left.element), key(right.element)) {
      case (nil, nil): left.offset < right.offset
      case (nil, _): true
      case (_, nil): false
      case (let a?, let b?): a == b ? left.offset < right.offset : a < b
      }
    }
    return sorted.map(\.element)
  }

  @Test func `without pending changes, a deleted member is still one of the members`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let author = context.insert(Author.self) { $0.name = "a" }
    let books = (1...3).map { year in
      context.insert(Book.self) { ($0.title, $0.year, $0.author) = ("t", year, author) }
    }
    try context.save()
    context.delete(books[2])
    let fetch = context.fetch(Author.self)
    let stored = try #require(
      try fetch.includingPending(false).annotated(with: .count(\.books), .latest(\.books, by: \.year)).first()
    )
    #expect(stored.1 == 3 && stored.2 === books[2])
    let present = try #require(
      try fetch.annotated(with: .count(\.books), .latest(\.books, by: \.year)).first())
    #expect(present.1 == 2 && present.2 === books[1])
  }

  @Test func `a condition on another class, and a value that cannot be read, are errors that say so`()
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let author = context.insert(Author.self) { $0.name = "a" }
    context.insert(Book.self) { ($0.title, $0.author) = ("t", author) }
    try context.save()
    let other = ObjectAnnotation.count(\Author.books).where(#Predicate<Loan> { $0.reader == "x" })
    let error = #expect(throws: StoreError.self) {
      _ = try context.fetch(Author.self).annotated(with: other).all()
    }
    #expect("\(error.map { "\($0)" } ?? "")".contains("on objects of Loan, but books has objects of Book"))
    try context.execute("UPDATE Book SET year = 'abc'")
    let unreadable = #expect(throws: StoreError.self) {
      _ = try context.fetch(Author.self).annotated(with: .maximum(\.books, \.year)).all()
    }
    #expect("\(unreadable.map { "\($0)" } ?? "")".contains("verify()"))
  }

  @Test(arguments: FirstsAndPages.State.allCases)
  func `annotations are what loops over the members compute`(_ state: FirstsAndPages.State) async throws {
    try await FirstsAndPages().inState(state) { context in
      // In the order of their ids, new ones last.
      let all = try context.fetch(Book.self).sorted(by: \.id).all()
      let authors = context.fetch(Author.self).sorted(by: \.name, .reverse)
      let expected = try authors.all()
      let found = try authors.annotated(
        with: .count(\.books), .count(\.books, where: "year > 1 AND rating != nil"),
        .exists(\.books, where: "title == %@", "x"), .sum(\.books, \.year),
        .sum(\.books, \.price), .average(\.books, \.rating), .minimum(\.books, \.year),
        .maximum(\.books, \.price)
      ).all()
      #expect(found.map(\.0) == expected)
      for (author, count, some, exists, years, prices, average, least, greatest) in found {
        let books = all.filter { $0.author === author }
        let name = author.name
        #expect(count == books.count, "\(name)")
        #expect(some == books.count { $0.year > 1 && $0.rating != nil }, "\(name)")
        #expect(exists == books.contains { $0.title == "x" }, "\(name)")
        #expect(years == books.map(\.year).reduce(0, +), "\(name)")
        #expect(prices == books.compactMap(\.price).reduce(0, +), "\(name)")
        let ratings = books.compactMap(\.rating)
        #expect(average == (ratings.isEmpty ? nil : ratings.reduce(0, +) / Double(ratings.count)), "\(name)")
        #expect(least == books.map(\.year).min() && greatest == books.compactMap(\.price).max(), "\(name)")
      }
      let members = try authors.annotated(
        with: .latest(\.books, by: \.rating), .earliest(\.books, by: \.rating),
        .latest(\.books, by: \.year, where: "title != %@", "x")
      ).all()
      #expect(members.map(\.0) == expected)
      let lists = try authors.annotated(
        with: .members(\.books, by: \.rating), .members(\.books, by: \.rating, order: .reverse, limit: 2),
        .members(\.books, by: \.year, limit: 3, where: "title != %@", "x"),
        .members(\.books, by: \.id, limit: 0)
      ).all()
      #expect(lists.count == members.count)
      for (author, whole, two, three, none) in lists {
        let books = all.filter { $0.author === author }
        #expect(whole == Self.ordered(books) { $0.rating }, "\(author.name)")
        #expect(two == Self.ordered(books) { $0.rating }.reversed().prefix(2).map { $0 }, "\(author.name)")
        let others = books.filter { $0.title != "x" }
        #expect(three == Self.ordered(others) { $0.year }.prefix(3).map { $0 }, "\(author.name)")
        #expect(none.isEmpty)
      }
      for (author, latest, earliest, other) in members {
        let books = all.filter { $0.author === author }
        #expect(latest === Self.first(books, latest: true) { $0.rating }, "\(author.name)")
        #expect(earliest === Self.first(books, latest: false) { $0.rating }, "\(author.name)")
        let named = books.filter { $0.title != "x" }
        #expect(other === Self.first(named, latest: true) { $0.year }, "\(author.name)")
      }
    }
  }

  @Test func `a predicate is a further condition on the members`() async throws {
    try await FirstsAndPages().inState(.pending) { context in
      let all = try context.fetch(Book.self).all()
      let late = ObjectAnnotation.count(\Author.books, where: "rating != nil").where(
        #Predicate<Book> { $0.year > 1 })
      let found = try context.fetch(Author.self).annotated(with: late).all()
      #expect(
        found.map(\.1)
          == found.map { author, _ in
            all.count { $0.author === author && $0.rating != nil && $0.year > 1 }
          })
    }
  }

  @Test(arguments: FirstsAndPages.State.allCases)
  func `objects are sorted by annotations`(_ state: FirstsAndPages.State) async throws {
    try await FirstsAndPages().inState(state) { context in
      let all = try context.fetch(Book.self).all()
      let authors = try context.fetch(Author.self).sorted(by: \.id).all()
      let count = { (author: Author) in all.count { $0.author === author } }
      let fetch = context.fetch(Author.self).sorted(byMembers: .count(\.books), .reverse).sorted(by: \.id)
      let expected = authors.enumerated().sorted {
        let (a, b) = (count($0.element), count($1.element))
        return a == b ? $0.offset < $1.offset : a > b
      }.map(\.element)
      #expect(try fetch.all() == expected)
      #expect(try fetch.limit(2).all() == Array(expected.prefix(2)))
      #expect(try fetch.values(\.name) == expected.map(\.name))
      var (pages, cursor): ([Author], PageCursor<Author>?) = ([], nil)
      repeat {
        let page = try fetch.page(size: 2, after: cursor)
        pages += page.objects
        cursor = page.next
      } while cursor != nil && pages.count <= expected.count
      #expect(pages == expected)
      // An average of no values is nil, which comes where the sort says.
      let averages = try context.fetch(Author.self).sorted(byMembers: .average(\.books, \.rating)).annotated(
        with: .average(\.books, \.rating)
      ).all().map(\.1)
      let values = averages.compactMap { $0 }
      #expect(Array(averages.drop { $0 == nil }) == values && values == values.sorted())
    }
  }

  @Test func `annotations of many objects take one query, and one for each kind of member`() async throws {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      for number in 0..<30 {
        let author = context.insert(Author.self) { $0.name = "\(number)" }
        for year in 0..<number {
          context.insert(Book.self) { ($0.title, $0.year, $0.author) = ("t", year, author) }
        }
      }
    }
    let context = temporary.store.makeContext()
    let found = try context.fetch(Author.self).sorted(by: \.id).limit(20).annotated(
      with: .count(\.books), .latest(\.books, by: \.year)
    ).all()
    #expect(found.map(\.1) == Array(0..<20) && found.map(\.2?.year) == [nil] + (0..<19).map { $0 })
    #expect(found.map(\.0.name).count == 20 && context.statistics.queries == 3)
    let seventh = try context.fetch(Author.self).where("name == '7'").annotated(with: .count(\.books)).first()
    #expect(seventh?.1 == 7)
    let none = try context.fetch(Author.self).where("name == 'x'").annotated(with: .count(\.books)).first()
    #expect(none == nil)
  }

  @Test func `ordered and many-to-many members are annotated`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let genres = ["a", "b"].map { name in context.insert(Genre.self) { $0.name = name } }
    for number in 0..<5 {
      context.insert(Book.self) {
        ($0.title, $0.year) = ("t", number)
        $0.genres = number == 0 ? [] : number == 4 ? Set(genres) : [genres[0]]
      }
    }
    for _ in 0..<2 {
      let found = try context.fetch(Genre.self).sorted(by: \.name).annotated(
        with: .count(\.books), .maximum(\.books, \.year), .earliest(\.books, by: \.year)
      ).all()
      #expect(found.map(\.1) == [4, 1] && found.map(\.2) == [4, 4] && found.map(\.3?.year) == [1, 4])
      try context.save()
    }
  }

  @Test func `a condition that is none, and a member of another store, are errors`() async throws {
    let temporary = try await TemporaryStore(library)
    let other = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let authors = context.fetch(Author.self)
    #expect(throws: StoreError.self) { try authors.annotated(with: .count(\.books, where: "yeer > 1")).all() }
    #expect(throws: StoreError.self) { try authors.annotated(with: .count(\.books, where: "year >")).all() }
    let foreign = other.store.makeContext()
    let stranger = foreign.insert(Author.self) { $0.name = "x" }
    try foreign.save()
    #expect(throws: StoreError.self) {
      try authors.annotated(with: .count(\.books, where: "author == %@", stranger.id)).all()
    }
    #expect(throws: StoreError.self) {
      try authors.sorted(byMembers: .count(\.books, where: "author == %@", stranger.id)).all()
    }
    // Only its own context knows an object that was not saved, and no row can refer to it.
    let new = context.insert(Author.self) { $0.name = "new" }
    #expect(throws: StoreError.self) {
      try authors.annotated(with: .count(\.books, where: "author == %@", new)).all()
    }
    #expect(throws: StoreError.self) {
      try authors.sorted(byMembers: .count(\.books, where: "author == %@", new)).all()
    }
  }
}
