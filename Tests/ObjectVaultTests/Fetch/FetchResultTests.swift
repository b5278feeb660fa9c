// Results of fetches where rules meet: inheritance, one-to-ones, saves between two reads, ids of new
// objects.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FetchResults {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  // MARK: Order

  @Test func `sort descriptors of Foundation sort as Foundation does`() throws {
    for (number, title) in ["b", "a", "Z", "é", "a"].enumerated() {
      context.insert(Book.self) {
        ($0.title, $0.year, $0.rating) = (title, number % 2, number == 2 ? nil : Double(number))
      }
    }
    try context.save()
    let sortings: [[SortDescriptor<Book>]] = [
      [SortDescriptor(\.year, order: .reverse), SortDescriptor(\.title)], [SortDescriptor(\.rating)],
      [SortDescriptor(\.title, comparator: .lexical, order: .reverse), SortDescriptor(\.rating)],
      [SortDescriptor(\.rating, order: .reverse)],
    ]
    let books = try context.fetch(Book.self).sorted(by: \.id).all()
    for sorting in sortings {
      let found = try context.fetch(Book.self).sorted(using: sorting).all()
      #expect(found == books.sorted(using: sorting), "\(sorting)")
      #expect(Book.request.sorted(using: sorting[0]) == Book.request.sorted(using: [sorting[0]]))
    }
    // On Linux, Foundation has no comparator but this one.
    #if canImport(Darwin)
      let wrong = context.fetch(Book.self).sorted(
        using: SortDescriptor(\.title, comparator: .localizedStandard))
      let error = #expect(throws: StoreError.self) { try wrong.all() }
      #expect(error.map { "\($0)" }?.contains("write comparator: .lexical") == true)
    #endif
  }

  @Test func `a sort and a group may name a to-one or the id of its object`() throws {
    let authors = (0..<3).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
    for number in 0..<6 {
      context.insert(Book.self) {
        ($0.title, $0.author) = ("\(number)", number == 5 ? nil : authors[number % 3])
      }
    }
    for _ in 0..<2 {
      let fetch = context.fetch(Book.self).sorted(by: \.author, .reverse)
      let ids = authors.reversed().map { Optional($0.id) } + [nil]
      #expect(try fetch.grouped(by: \.author?.id, .count).map(\.key) == ids)
      #expect(try fetch.grouped(by: \.author, .count).map(\.values) == [1, 2, 2, 1])
      #expect(try fetch.distinct().values(\.author?.id) == ids)
      let sections = try fetch.sections(by: \.author?.id)
      #expect(sections.map(\.key) == ids)
      for section in sections { #expect(try section.fetch.all().count == section.count) }
      try context.save()
    }
  }

  @Test func `an unsorted limit returns the values of the lowest ids`() throws {
    let author = context.insert(Author.self) { $0.name = "A" }
    for number in 0..<10 {
      context.insert(Book.self) { ($0.title, $0.author) = ("\(number)", number < 5 ? author : nil) }
    }
    try context.save()
    #expect(try context.fetch(Book.self).limit(5).values(\.author?.name) == Array(repeating: "A", count: 5))
    #expect(try context.fetch(Book.self).limit(5).aggregates(.count(\Book.author?.name)) == 5)
  }

  // MARK: Aggregates

  @Test func `a condition on a sum counts no values as 0, as the result does`() throws {
    for (year, rating) in [(1, nil), (2, 3.0), (3, -1.0)] as [(Int, Double?)] {
      context.insert(Book.self) { ($0.title, $0.year, $0.rating) = ("t", year, rating) }
    }
    for _ in 0..<2 {
      let fetch = context.fetch(Book.self)
      #expect(try fetch.grouped(by: \.year, .sum(\.rating), having: .sum(\.rating) == 0).map(\.key) == [1])
      #expect(try fetch.grouped(by: \.year, .count, having: .sum(\.rating) < 1).map(\.key) == [1, 3])
      #expect(try fetch.grouped(by: \.year, .count, having: .sum(\.price) >= 0).map(\.key) == [1, 2, 3])
      try context.save()
    }
  }

  @Test func `an average of decimals exists where their sum has too many digits`() throws {
    for price in ["1e30", "1e-10"] {
      context.insert(Book.self) { ($0.title, $0.price) = ("t", Decimal(string: price)) }
    }
    for round in 0..<3 {
      let average = try #require(try context.fetch(Book.self).average(\.price), "round \(round)")
      let expected = try #require(Decimal(string: "5e29"))
      #expect(abs(average - expected) < 1)
      #expect(throws: StoreError.sumTooLarge(entity: "Book", property: "price")) {
        try context.fetch(Book.self).sum(\.price)
      }
      if round == 0 { try context.save() } else { context.insert(Book.self) { $0.title = "pending" } }
    }
  }

  @Test func `an aggregate that is named with another type is an error that names both`() throws {
    context.insert(Book.self) { ($0.title, $0.rating) = ("t", 1.5) }
    let error = #expect(throws: StoreError.self) {
      try context.fetch(Book.self).aggregates(.sum(path: "rating", as: Int.self))
    }
    #expect(error.map { "\($0)" }?.contains("Book.rating has values that cannot be read as Int") == true)
    #expect(throws: StoreError.self) { try context.fetch(Book.self).dictionaries() }
  }

  @Test func `a new object without a required value has the placeholder and reports nothing`() throws {
    context.insert(Book.self)
    #expect(try context.fetch(Book.self).values(\.title) == [""])
    #expect(context.unreadableValues.isEmpty)
    context.rollback()
  }

  // MARK: First of each

  @Test func `a one-to-one without a column is a key as well`() throws {
    let authors = (0..<3).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
    for author in authors.prefix(2) {
      author.passport = context.insert(Passport.self) { $0.number = "\(author.name)" }
    }
    for _ in 0..<2 {
      #expect(try context.fetch(Author.self).sorted(by: \.name).first(ofEach: \.passport) == authors)
      try context.save()
    }
  }

  // MARK: Saves between two reads

  @Test func `objects that are saved while they are streamed are all seen, and once`() async throws {
    for number in 0..<5 { context.insert(Book.self) { $0.title = "stored \(number)" } }
    try context.save()
    for fetch in [context.fetch(Book.self), context.fetch(Book.self).sorted(by: \.title)] {
      let former = try fetch.all().map(\.title)
      for number in 0..<7 { context.insert(Book.self) { $0.title = "new \(former.count) \(number)" } }
      var seen: [String] = []
      for try await book in fetch.stream(batch: 2) {
        seen.append(book.title)
        try context.save()
      }
      #expect(seen.count == former.count + 7 && Set(seen).count == seen.count)
    }
  }

  @Test func `a stream ends though its loop inserts and saves`() async throws {
    for number in 0..<5 { context.insert(Book.self) { $0.title = "\(number)" } }
    try context.save()
    var count = 0
    for try await book in context.fetch(Book.self).stream(batch: 2) {
      count += 1
      context.insert(Book.self) { $0.title = "copy of \(book.title)" }
      try context.save()
      guard count < 100 else { break }
    }
    #expect(count == 5)
  }

  @Test func `a loop that deletes objects changes neither the limit nor the conditions of its stream`() throws
  {
    for number in 0..<10 { context.insert(Book.self) { ($0.title, $0.year) = ("\(number)", number) } }
    try context.save()
    let all = context.fetch(Book.self)
    for (fetch, expected) in [
      (all.limit(2), [0]), (all.limit(6).offset(1), [1, 2, 5, 6]),
      (try all.where("year < 7"), [0, 2, 5, 6]), (all, [0, 2, 5, 6, 7, 8, 9]),
    ] {
      var seen: [Int] = []
      try fetch.forEach(batch: 1) { book in
        seen.append(book.year)
        guard seen.count == 1 else { return }
        for gone in try context.fetch(Book.self).where("year IN {1, 3, 4} AND year != %@", book.year).all() {
          context.delete(gone)
        }
      }
      #expect(seen == expected)
      context.rollback()
    }
  }

  @Test func `the iterator of a stream may be asked again after its end`() async throws {
    context.insert(Book.self) { $0.title = "one" }
    try context.save()
    var iterator = context.fetch(Book.self).stream().makeAsyncIterator()
    #expect(try await iterator.next(isolation: nil)?.title == "one")
    for _ in 0..<3 {
      let next = try await iterator.next(isolation: nil)
      #expect(next == nil)
    }
  }

  @Test func `a collection finds its objects after they were saved`() throws {
    for number in 0..<5 { context.insert(Book.self) { $0.title = "\(number)" } }
    let list = try context.fetch(Book.self).sorted(by: \.title).batches(of: 2)
    try context.save()
    #expect(list.map(\.title) == (0..<5).map { "\($0)" })
    #expect(list.allSatisfy { !$0.id.isTemporary })
  }

  @Test func `a cursor at a new object leads on after a save`() throws {
    for number in 0..<6 { context.insert(Book.self) { ($0.title, $0.year) = ("same", number) } }
    for fetch in [context.fetch(Book.self), context.fetch(Book.self).sorted(by: \.title)] {
      let first = try fetch.page(size: 2)
      #expect(try fetch.page(size: 9, after: first.next).objects.map(\.year) == [2, 3, 4, 5])
      try context.save()
      #expect(try fetch.page(size: 9, after: first.next).objects.map(\.year) == [2, 3, 4, 5])
    }
  }

  @Test func `nil and new objects are compared in memory as in the file`() throws {
    for number in 0..<4 { context.insert(Book.self) { ($0.title, $0.year) = ("\(number)", number) } }
    try context.save()
    let books = context.fetch(Book.self)
    for isPending in [false, true] {
      if isPending { try books.all().forEach { $0.rating = 1 } }
      #expect(
        try books.where("year ==[c] NULL").count() == 0 && books.where("year !=[cd] %@", nil).count() == 4)
      #expect(try books.where("author ==[c] NULL").count() == 4)
    }
    let new = context.insert(Book.self) { ($0.title, $0.year) = ("new", 10) }
    let last = context.insert(Book.self) { ($0.title, $0.year) = ("last", 11) }
    #expect(try Set(books.where("id < %@", new).all().map(\.year)) == [0, 1, 2, 3])
    #expect(try books.where("id > %@", new).all() == [last] && books.where("id >= %@", new).count() == 2)
  }

  @Test func `a cursor is of the order that its page has`() throws {
    for title in ["a", "b", "c", "d"] { context.insert(Book.self) { $0.title = title } }
    try context.save()
    let books = context.fetch(Book.self).sorted(by: \.title)
    try books.all()[1].title = "z"
    for isIncluding in [true, false] {
      let (fetch, names) = (books.includingPending(isIncluding), isIncluding ? "acdz" : "abcd")
      let first = try fetch.page(size: 2)
      let second = try fetch.page(size: 2, after: first.next)
      #expect(
        (first.objects + second.objects).map(\.title)
          == names.map { isIncluding || $0 != "b" ? "\($0)" : "z" })
    }
    // A decoded cursor may have any number.
    let json = try JSONEncoder().encode(#require(try books.page(size: 1).next))
    let text = String(decoding: json, as: UTF8.self)
    let other = try #require(text.replacing(#/"id":\d+/#, with: "\"id\":\(Int64.min)").data(using: .utf8))
    let cursor = try JSONDecoder().decode(PageCursor<Book>.self, from: other)
    #expect(try books.page(size: 9, after: cursor).objects.count <= 4)
  }

  @Test func `ids of new objects in results belong to their context`() throws {
    context.insert(Book.self) { $0.title = "new" }.author = context.insert(Author.self) { $0.name = "new" }
    let id = try #require(try context.fetch(Book.self).values(\.id).first)
    let author = try #require(try context.fetch(Book.self).grouped(by: \.author, .count).first?.key)
    #expect(try context.existing(id)?.title == "new" && context.existing(author)?.name == "new")
    let other = temporary.store.makeContext()
    other.insert(Book.self) { $0.title = "of the other" }
    #expect((try? other.existing(id)) == .some(nil) || (try? other.existing(id)) == nil)
  }

  // MARK: Inheritance

  @Test func `results of a hierarchy include subentities unless they are excluded`() async throws {
    let made = try await TemporaryStore(firm)
    let context = made.store.makeContext()
    for number in 0..<6 {
      let name = "p\(number % 3)"
      if number % 2 == 0 {
        context.insert(FirmPerson.self) { $0.name = name }
      } else {
        context.insert(FirmEmployee.self) { ($0.name, $0.salary) = (name, number) }
      }
    }
    for _ in 0..<2 {
      let people = context.fetch(FirmPerson.self).sorted(by: \.name)
      #expect(try people.values(\.name) == ["p0", "p0", "p1", "p1", "p2", "p2"])
      #expect(try people.includingSubentities(false).values(\.name) == ["p0", "p1", "p2"])
      #expect(try people.counts(by: \.name) == ["p0": 2, "p1": 2, "p2": 2])
      #expect(try people.includingSubentities(false).counts(by: \.name) == ["p0": 1, "p1": 1, "p2": 1])
      #expect(try context.fetch(FirmEmployee.self).sum(\.salary) == 9)
      #expect(try people.first(ofEach: \.name).map(\.name) == ["p0", "p1", "p2"])
      #expect(try context.fetch(FirmEmployee.self).first(ofEach: \.name).count == 3)
      var (found, cursor): ([FirmPerson], PageCursor<FirmPerson>?) = ([], nil)
      repeat {
        let page = try people.page(size: 2, after: cursor)
        (found, cursor) = (found + page.objects, page.next)
      } while cursor != nil && found.count < 20
      #expect(try found == people.all())
      var count = 0
      try context.fetch(FirmEmployee.self).forEach(batch: 2) { count += $0.salary }
      #expect(count == 9)
      #expect(try Array(context.fetch(FirmPerson.self).batches(of: 4)).count == 6)
      try context.save()
    }
  }
}

class FirmPerson: ManagedObject {
  @Attribute(.indexed) var name: String
}

final class FirmEmployee: FirmPerson {
  @Attribute var salary: Int = 0
}

private let firm = Schema {
  Entity(FirmPerson.self)
  Entity(FirmEmployee.self)
}
