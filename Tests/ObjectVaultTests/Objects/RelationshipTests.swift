// Relationships: both ends in memory and in the file, delete rules, and prefetching.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Relationships {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  func author(_ name: String) -> Author {
    context.insert(Author.self) {
      $0.name = name; $0.nick = name
    }
  }
  func book(_ title: String) -> Book { context.insert(Book.self) { $0.title = title } }

  @Test func `both ends of a one-to-many agree at once and after saving`() throws {
    let (ann, bob) = (author("Ann"), author("Bob"))
    let (one, two) = (book("One"), book("Two"))
    one.author = ann
    bob.books = [two]
    #expect(ann.books == [one] && two.author === bob)
    ann.books.insert(two)
    #expect(two.author === ann && bob.books.isEmpty && ann.books == [one, two])
    one.author = nil
    #expect(ann.books == [two])
    try context.save()
    #expect(ann.books == [two] && one.author == nil)
    let other = store.makeContext()
    let again = try other.fetch(Author.self).where("name = 'Ann'").one()
    #expect(again.books.map(\.title) == ["Two"])
    #expect(try other.fetch(Book.self).where("title = 'One'").one().author == nil)
  }

  @Test func `both ends of a many-to-many agree, and links are written once`() throws {
    let (one, two) = (book("One"), book("Two"))
    let genre = context.insert(Genre.self) { $0.name = "crime" }
    one.genres = [genre]
    genre.books.insert(two)
    genre.books.insert(one)
    #expect(two.genres == [genre] && genre.books == [one, two])
    try context.save()
    one.genres = []
    #expect(genre.books == [two])
    one.genres = [genre]
    one.genres = []
    try context.save()
    let other = store.makeContext()
    let crime = try other.fetch(Genre.self).one()
    #expect(crime.books.map(\.title) == ["Two"])
  }

  @Test func `both ends of a one-to-one agree, and a former partner loses its reference`() throws {
    let (ann, bob) = (author("Ann"), author("Bob"))
    let passport = context.insert(Passport.self) { $0.number = "7" }
    ann.passport = passport
    #expect(passport.owner === ann)
    passport.owner = bob
    #expect(ann.passport == nil && bob.passport === passport)
    try context.save()
    let other = store.makeContext()
    #expect(try other.fetch(Passport.self).one().owner?.name == "Bob")
    #expect(try other.fetch(Author.self).where("name = 'Ann'").one().passport == nil)
  }

  @Test func `new objects that refer to each other in a circle are saved in one save`() throws {
    let ann = author("Ann")
    let passport = context.insert(Passport.self) { $0.number = "1" }
    ann.passport = passport
    ann.books = [book("One")]
    try context.save()
    #expect(ann.passport === passport && passport.owner === ann && ann.books.first?.author === ann)
    #expect(!ann.id.isTemporary)
  }

  @Test func `an object of another context is refused, and the next save throws`() throws {
    let other = store.makeContext()
    let stranger = other.insert(Author.self) { $0.name = "Stranger" }
    let mine = book("Mine")
    mine.author = stranger
    #expect(mine.author == nil)
    #expect(throws: StoreError.foreignObject(entity: "Book", property: "author")) { try context.save() }
    try context.save()
  }

  @Test func `deleting an object of another context or of none notes an error, as setters do`() throws {
    let other = store.makeContext()
    let (stranger, new) = (
      other.insert(Author.self) { $0.name = "S" }, other.insert(Author.self) { $0.name = "N" }
    )
    try other.save()
    let mine = book("Mine")
    try context.save()
    func told(_ object: ManagedObject) throws -> StoreError? {
      context.delete(object)
      defer { _ = try? context.save() }
      return try #require(context.faultErrors.last) as? StoreError
    }
    #expect(try told(stranger) == .foreignDeletion(entity: "Author", rowID: stranger.id.rowID))
    #expect(try "\(told(new) ?? .readOnlyContext)".contains("belongs to another context"))
    #expect(try told(Author()) == .noContext(entity: "Author", property: "delete"))
    var left: Author?
    do { left = store.makeContext().insert(Author.self) { $0.name = "L" } }
    #expect(try told(try #require(left)) == .noContext(entity: "Author", property: "delete"))
    context.delete(mine)
    try context.save()
    #expect(try told(mine) == .objectGone(entity: "Book", rowID: 1))
    #expect(try other.fetch(Author.self).count() == 2)
  }

  @Test func `a cascade deletes objects in memory and rows that were never fetched`() throws {
    let ann = author("Ann")
    ann.books = [book("One"), book("Two")]
    try context.save()
    let other = store.makeContext()
    let loaded = try other.fetch(Book.self).where("title = 'One'").one()
    let again = try other.fetch(Author.self).one()
    other.delete(again)
    try other.save()
    #expect(loaded.state == .invalid)
    #expect(try other.fetch(Book.self).count() == 0)
    #expect(try other.fetch(Author.self).count() == 0)
  }

  @Test func `nullify clears references in memory and in rows that were never fetched`() throws {
    let club = context.insert(Club.self) { $0.name = "C" }
    for name in ["Ann", "Bob", "Cid"] { author(name).club = club }
    try context.save()
    let other = store.makeContext()
    let ann = try other.fetch(Author.self).where("name = 'Ann'").one()
    other.delete(try other.fetch(Club.self).one())
    try other.save()
    #expect(ann.club == nil && !ann.hasChanges)
    #expect(try other.fetch(Author.self).where("club == nil").count() == 3)
    ann.age = 31
    try other.save()
  }

  @Test func `a deny rule refuses a deletion with the count and leaves everything pending`() throws {
    let one = book("One")
    context.insert(Loan.self) {
      $0.reader = "R"
      $0.book = one
    }
    try context.save()
    context.delete(one)
    #expect(throws: StoreError.deleteDenied(entity: "Book", rowID: 1, property: "loans", count: 1)) {
      try context.save()
    }
    #expect(one.isDeleted && context.hasChanges)
    context.delete(try context.fetch(Loan.self).one())
    try context.save()
    #expect(try context.fetch(Book.self).count() == 0)
  }

  @Test func `a missing required to-one is reported by name`() throws {
    context.insert(Loan.self) { $0.reader = "R" }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map { "\($0.entity).\($0.property) \($0.reason)" } == ["Loan.book is required"]
    }
  }

  @Test func `a deleted object leaves the member sets that it was in`() throws {
    let ann = author("Ann")
    let (one, two) = (book("One"), book("Two"))
    let genre = context.insert(Genre.self) { $0.name = "crime" }
    ann.books = [one, two]
    genre.books = [one, two]
    try context.save()
    context.delete(one)
    #expect(ann.books == [two])
    try context.save()
    #expect(genre.books == [two])
  }

  @Test func `prefetching takes one query for each relationship, whatever the number of objects`() throws {
    for number in 0..<120 {
      let author = author("A\(number)")
      author.books = [book("B\(number)"), book("C\(number)")]
    }
    try context.save()
    let other = store.makeContext()
    let authors = try other.fetch(Author.self).prefetch(\.books).all()
    #expect(other.statistics.queries == 2)
    #expect(authors.reduce(0) { $0 + $1.books.count } == 240)
    #expect(other.statistics.queries == 2 && other.statistics.faultsFired == 0)
    let third = store.makeContext()
    let books = try third.fetch(Book.self).prefetch(\.author).all()
    #expect(books.allSatisfy { $0.author?.name.hasPrefix("A") == true })
    #expect(third.statistics.queries == 2)
  }
}
