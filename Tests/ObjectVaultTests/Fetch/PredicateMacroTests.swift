// #Predicate: the results of SQL are compared with Foundation's own evaluation of the predicate on the
// same objects.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PredicateMacro {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    let genres = ["crime", "poem", "novel"].map { name in context.insert(Genre.self) { $0.name = name } }
    for number in 0..<60 {
      let author: Author? =
        number % 4 == 0
        ? nil
        : context.insert(Author.self) {
          $0.name = "Author \(number)"
          $0.nick = number % 3 == 0 ? nil : "N\(number)x"
          $0.age = number
        }
      let book = context.insert(Book.self) {
        $0.title =
          ["The Watch", "Rain", "Watching", "北京", "x"][number % 5] + (number % 2 == 0 ? "" : "\(number)")
        $0.year = 1970 + number
        $0.rating = number % 7 == 0 ? nil : Double(number) / 2
        $0.author = author
      }
      for (index, genre) in genres.enumerated() where number % (index + 2) == 0 { book.genres.insert(genre) }
    }
    try context.save()
  }

  func check(_ predicate: Predicate<Book>, _ location: SourceLocation = #_sourceLocation) throws {
    let all = try context.fetch(Book.self).all()
    let expected = Set(try all.filter { try predicate.evaluate($0) }.map(\.id))
    let fetch = try context.fetch(Book.self).where(predicate)
    let found = try fetch.ids()
    let sql = try fetch.sql.text
    #expect(Set(found) == expected, "\(sql)", sourceLocation: location)
    #expect(
      found.count == expected.count && !expected.isEmpty && expected.count < all.count,
      sourceLocation: location)
  }

  @Test func `comparisons and logic in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { $0.year == 1975 })
    try check(#Predicate { $0.year != 1975 })
    try check(#Predicate { $0.year > 1980 && $0.year <= 2000 || $0.title == "x" })
    try check(#Predicate { !($0.year >= 1990) })
    let wanted = "Rain"
    try check(#Predicate { $0.title == wanted })
  }

  @Test func `nil and optional chaining in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { $0.rating == nil })
    try check(#Predicate { $0.rating != nil })
    try check(#Predicate { $0.author == nil })
    try check(#Predicate { $0.author != nil })
    try check(#Predicate { $0.author?.name == "Author 5" })
    try check(#Predicate { $0.author?.name != "Author 5" })
    try check(#Predicate { $0.author?.nick == nil })
    try check(#Predicate { ($0.author?.age ?? 100) > 40 })
    try check(#Predicate { ($0.rating ?? 0) >= 10 })
    try check(#Predicate { $0.author?.nick?.contains("1") == true })
    try check(#Predicate { $0.author?.nick?.contains("1") != true })
    try check(#Predicate { $0.author?.nick?.contains("1") == false })
    try check(#Predicate { $0.author?.nick?.contains("1") ?? true })
  }

  @Test func `string lengths and magnitudes in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { $0.title.count > 4 })
    try check(#Predicate { $0.author?.nick?.count == 3 })
    try check(#Predicate { ($0.author?.nick?.count ?? 0) < 3 })
    try check(#Predicate { (($0.rating ?? 0) - 8).magnitude < 3 })
  }

  @Test func `flatMap in a #Predicate gives nil for nil, whatever its closure returns`() throws {
    try check(#Predicate { $0.author.flatMap { $0.nick ?? "none" } == "none" })
    try check(#Predicate { $0.author.flatMap { $0.nick ?? "none" } != "none" })
    try check(#Predicate { $0.author.flatMap { $0.nick ?? "none" } == nil })
    try check(#Predicate { "none" == $0.author.flatMap { $0.nick ?? "none" } })
    try check(#Predicate { $0.author.flatMap { $0.nick ?? $0.name } == $0.author?.name })
    try check(#Predicate { $0.rating.flatMap { _ in 5 } == 5 })
    try check(#Predicate { $0.rating.flatMap { $0 * 2 } == nil })
    try check(#Predicate { $0.author.flatMap { $0.age } == 5 || $0.author.flatMap { $0.books.count } == nil })
    #expect(throws: StoreError.self) {
      try context.fetch(Book.self).where(#Predicate { ($0.author.flatMap { $0.nick ?? "a" } ?? "b") == "b" })
    }
  }

  @Test func `string searches in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { $0.title.contains("Watch") })
    try check(#Predicate { $0.title.starts(with: "The") })
    try check(#Predicate { !$0.title.contains("1") })
    try check(#Predicate { $0.title.contains("北") })
  }

  @Test func `arithmetic, ranges and lists in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { $0.year - 1970 > 20 })
    try check(#Predicate { $0.year * 2 < 3960 })
    try check(#Predicate { $0.year / 100 == 19 })
    try check(#Predicate { $0.year % 7 == 3 })
    try check(#Predicate { (1980...1990).contains($0.year) })
    try check(#Predicate { (1980..<1990).contains($0.year) })
    let years = [1971, 1972, 1999]
    try check(#Predicate { years.contains($0.year) })
    let titles: Set<String> = ["x", "Rain"]
    try check(#Predicate { titles.contains($0.title) })
  }

  @Test func `conditions on members in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { $0.genres.contains { $0.name == "poem" } })
    try check(#Predicate { !$0.genres.contains { $0.name == "poem" } })
    try check(#Predicate { $0.genres.allSatisfy { $0.name == "crime" } })
    try check(#Predicate { $0.genres.count > 1 })
    try check(#Predicate { $0.genres.isEmpty })
    try check(
      #Predicate { book in book.genres.contains { genre in genre.name == "crime" && book.year > 1990 } })
  }

  @Test func `choices in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { ($0.year > 1990 ? $0.year : 3) == 3 })
    try check(#Predicate { ($0.rating == nil ? "none" : $0.title) == "none" })
    try check(#Predicate { $0.year > 1990 ? $0.title == "x" : $0.title == "Rain" })
    try check(#Predicate { ($0.author == nil ? 1 : 2) * 10 == 20 })
    let (low, high) = (1980, 2000)
    try check(#Predicate { $0.year > ($0.genres.isEmpty ? low : high) })
  }

  @Test func `filtered members in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { $0.genres.filter { $0.name != "poem" }.count > 1 })
    try check(#Predicate { $0.genres.filter { $0.name.contains("e") }.count == 1 })
    try check(#Predicate { $0.genres.filter { $0.name == "poem" }.isEmpty })
    try check(#Predicate { $0.genres.filter { $0.name != "poem" }.contains { $0.name == "novel" } })
    try check(#Predicate { $0.genres.filter { $0.name != "poem" }.allSatisfy { $0.name == "crime" } })
    try check(#Predicate { $0.genres.filter { $0.name != "poem" }.filter { $0.name != "crime" }.count == 1 })
    try check(
      #Predicate { book in
        book.genres.filter { genre in genre.books.filter { $0.year > book.year }.count > 10 }.count > 1
      })
  }

  @Test func `the least and the greatest captured value in a #Predicate give Foundation's results`() throws {
    let (years, titles) = ([1985, 1975, 1999], ["Rain", "x"])
    try check(#Predicate { $0.year > years.min() ?? 0 && $0.year < years.max() ?? 0 })
    try check(#Predicate { $0.title == titles.max() ?? "" })
  }

  @Test func `regular expressions in a #Predicate give Foundation's results`() throws {
    try check(#Predicate { $0.title.contains(/W.t/) })
    try check(#Predicate { $0.title.contains(/^Rain\d*$/) })
    try check(#Predicate { !$0.title.contains(/[0-9]/) })
    try check(#Predicate { $0.author?.nick?.contains(/(?i)n1/) == true })
  }

  @Test func `a to-one is compared with an object, an id and nil`() throws {
    let author = try #require(try context.fetch(Author.self).where("name == 'Author 5'").first())
    let books = context.fetch(Book.self)
    #expect(try books.where(\.author, equals: author).all().map(\.author) == [author])
    #expect(try books.where(\.author, equals: author.id).count() == 1)
    #expect(try books.where(\.author, equals: nil).count() == 15)
    let request = try Book.request.where(\.author, equals: author)
    #expect(try context.fetch(request).one().author === author)
    let new = context.insert(Author.self) { $0.name = "New" }
    #expect(try books.where(\.author, equals: new).count() == 0)
    try #require(try books.where("year == 1970").first()).author = new
    #expect(try books.where(\.author, equals: new).one().year == 1970)
    #expect(throws: StoreError.self) { try Book.request.where(\.author, equals: new) }
    #expect(throws: StoreError.self) { try books.where(\.author, equals: Author()) }
  }

  @Test func `a #Predicate compares objects by their ids`() throws {
    let author = try #require(try context.fetch(Author.self).first()).id
    let books = try context.fetch(Book.self).where(#Predicate { $0.author?.id == author }).all()
    #expect(books.map(\.author?.id) == [author])
  }

  @Test func `a computed property in a #Predicate is an error that gives the reason`() throws {
    #expect {
      _ = try context.fetch(Book.self).where(#Predicate { $0.shout == "X" })
    } throws: { error in
      guard case StoreError.predicate(let error) = error else { return false }
      return error.reason.contains("not declared with a wrapper") || error.reason.contains("no counterpart")
    }
  }
}

extension Book { fileprivate var shout: String { "X" } }
