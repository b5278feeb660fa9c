// Objects and ids as values in predicates, members of members, and objects whose deletion is pending.

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

  @Test func `an object or id of another entity or store in a predicate is an error`() async throws {
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
      ("genres.@count == %@", author), ("author == %@", stranger),
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

  // MARK: New objects

  /// Compares the results of all methods of a fetch with the books that a plain Swift filter keeps.
  private static func check(
    _ context: ObjectContext, where format: String, with argument: Any, _ isKept: (Book) -> Bool
  ) throws {
    let all = try context.fetch(Book.self).sorted(by: \.title).all()
    let expected = all.filter(isKept).map(\.title)
    let node = try PredicateNode(format: format, arguments: [argument])
    for fetch in [
      try context.fetch(Book.self).where(format, argument), context.fetch(Book.self).where(node),
    ] {
      #expect(try fetch.sorted(by: \.title).all().map(\.title) == expected, "\(format)")
      #expect(try fetch.ids().count == expected.count && fetch.count() == expected.count, "\(format)")
      #expect(try fetch.exists() == !expected.isEmpty && !fetch.sql.text.isEmpty, "\(format)")
    }
  }

  private static func checkNew(_ context: ObjectContext, _ pending: NewObject) throws {
    let ann = try context.fetch(Author.self).one()
    let new = context.insert(Author.self)
    if pending != .half { new.name = "new" }
    if pending == .besidesAnother { context.insert(Book.self) { $0.title = "pending" } }
    if pending == .withBook { context.insert(Book.self) { ($0.title, $0.author) = ("of the new one", new) } }
    try check(context, where: "author == %@", with: new) { $0.author === new }
    try check(context, where: "NOT author == %@", with: new) { $0.author !== new }
    try check(context, where: "author != %@", with: new) { $0.author !== new }
    try check(context, where: "author IN %@", with: [new, ann]) { $0.author === new || $0.author === ann }
    try check(context, where: "NOT author IN %@", with: [new]) { $0.author !== new }
    try check(context, where: "author == %@ OR author == nil", with: new) {
      $0.author == nil || $0.author === new
    }
    #expect(try context.fetch(Author.self).where("SELF == %@", new).all() == [new])
    if pending == .half { new.name = "new" }
  }

  enum NewObject: CaseIterable { case alone, half, besidesAnother, withBook }

  @Test func `a list of objects or ids that contains nil matches nil`() throws {
    let ann = context.insert(Author.self) { $0.name = "Ann" }
    let bob = context.insert(Author.self) { $0.name = "Bob" }
    for (title, author) in [("a", ann), ("b", bob), ("c", nil)] {
      context.insert(Book.self) { ($0.title, $0.author) = (title, author) }
    }
    try context.save()
    let lists: [(Any, [String])] = [
      ([ann, nil] as [Author?], ["a", "c"]), ([nil, bob.id] as [ObjectID<Author>?], ["b", "c"]),
      ([ann] as [Author?], ["a"]), ([nil] as [Author?], ["c"]),
      ([nil, ann, bob.id] as [Any?], ["a", "b", "c"]),
    ]
    for (list, expected) in lists { #expect(try titles("author IN %@", list) == Set(expected), "\(list)") }
  }

  @Test func `the errors for an id made from 0 and for the id of a new object differ`() throws {
    for title in ["a", "b"] { context.insert(Book.self) { $0.title = title } }
    try context.save()
    let none = ObjectID<Book>(rowID: 0)
    let wrong: [(String, Any)] = [("id > %@", none), ("id IN %@", [none]), ("SELF == %@", none)]
    for (format, argument) in wrong {
      let error = #expect(throws: StoreError.self, "\(format)") { try titles(format, argument) }
      let message = error.map { "\($0)" } ?? ""
      #expect(message.contains("Book id 0 is not the id of an object"), "\(message)")
    }
    #expect(try titles("id > %@", 0) == ["a", "b"])
    let new = context.insert(Book.self) { $0.title = "c" }
    let error = #expect(throws: StoreError.self) { try titles("id > %@", new.id) }
    #expect(error.map { "\($0)" }?.contains("is new") == true)
  }

  @Test(arguments: NewObject.allCases)
  func `a new object can be used in each fetch of its context, and in no other context`(_ pending: NewObject)
    async throws
  {
    context.insert(Book.self) { $0.title = "of nobody" }
    context.insert(Book.self) { $0.title = "of Ann" }.author = context.insert(Author.self) { $0.name = "Ann" }
    try context.save()
    try Self.checkNew(context, pending)
    let stranger = try context.fetch(Author.self).where("name == 'new'").one()
    let other = temporary.store.makeContext()
    for _ in 0..<2 {
      #expect(throws: StoreError.self) { try other.fetch(Book.self).where("author == %@", stranger).all() }
      #expect(throws: StoreError.self) {
        try other.fetch(Book.self).where("NOT author IN %@", [stranger]).count()
      }
      other.insert(Author.self) { $0.name = "of the other" }
    }
    let store = temporary.store
    try await store.write { try Self.checkNew($0, pending) }
    #expect(try await store.verify().isEmpty)
  }

  // MARK: Members

  @Test func `a path may have a many-to-many after another to-many`() throws {
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

  @Test func `all methods of a fetch exclude objects whose deletion is pending`() throws {
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
