// Fetches of some properties of objects: what is read at once, what is read later, and what saves do.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PartialFetches {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    let context = store.makeContext()
    let author = context.insert(Author.self) { $0.name = "Ann" }
    for number in 0..<10 {
      context.insert(Book.self) {
        ($0.title, $0.year, $0.author) = ("book \(number)", 2000 + number, author)
        $0.rating = number % 2 == 0 ? nil : Double(number)
        $0.price = Decimal(number) / 4
      }
    }
    try context.save()
  }

  private func fetch(_ context: ObjectContext) -> Fetch<Book> { context.fetch(Book.self).sorted(by: \.id) }

  private static func line(_ book: Book) -> String {
    "\(book.title) \(book.year) \(book.rating ?? -1) \(book.price ?? -1) \(book.author?.name ?? "-")"
  }

  @Test func `only the named properties are selected`() throws {
    let context = store.makeContext()
    let fetch = context.fetch(Book.self).only(\.title, \.year)
    #expect(
      try fetch.sql.text == "SELECT t0.\"id\", t0.\"_version\", t0.\"title\", t0.\"year\" FROM \"Book\" t0")
    #expect(
      try context.fetch(Book.self).only(\.id).sql.text == "SELECT t0.\"id\", t0.\"_version\" FROM \"Book\" t0"
    )
    // The column of a prefetched to-one is needed for its objects.
    #expect(try fetch.prefetch(\.author).sql.text.contains("t0.\"author_id\""))
    #expect(try !fetch.prefetch(\.genres).sql.text.contains("author_id"))
  }

  @Test func `the named properties are there, and another one reads the row`() throws {
    let whole = store.makeContext()
    let expected = try whole.fetch(Book.self).sorted(by: \.id).all()
    let context = store.makeContext()
    let books = try context.fetch(Book.self).sorted(by: \.id).only(\.title).all()
    #expect(books.map(\.title) == expected.map(\.title) && context.statistics.queries == 1)
    #expect(books.allSatisfy { !$0.isFault && !$0.hasChanges })
    #expect(books[3].rating == 3 && context.statistics.queries == 2)
    #expect(books[3].year == 2003 && books[3].title == "book 3" && context.statistics.queries == 2)
    // nil and a property that was not read are different.
    #expect(books[2].rating == nil && context.statistics.queries == 3)
    #expect(books.map(Self.line) == expected.map(Self.line))
    #expect(context.faultErrors.isEmpty && context.unreadableValues.isEmpty)
  }

  @Test func `two fetches of different properties leave both in the objects`() throws {
    let context = store.makeContext()
    let first = try context.fetch(Book.self).only(\.title).all()
    let second = try context.fetch(Book.self).only(\.year, \.rating).all()
    #expect(zip(first, second).allSatisfy { $0 === $1 })
    #expect(first.map(\.title) == (0..<10).map { "book \($0)" } && first.map(\.year) == Array(2000..<2010))
    let ratings: [Double?] = (0..<10).map { $0 % 2 == 0 ? nil : Double($0) }
    #expect(first.map(\.rating) == ratings)
    #expect(context.statistics.queries == 2)
    _ = try context.fetch(Book.self).all()
    #expect(first[0].price == 0 && context.statistics.queries == 3)
  }

  @Test func `an object that is in memory keeps its values`() throws {
    let context = store.makeContext()
    let whole = try context.fetch(Book.self).all()
    _ = try context.fetch(Book.self).only(\.title).all()
    let prices: [Decimal?] = (0..<10).map { Decimal($0) / 4 }
    #expect(whole.map(\.price) == prices && context.statistics.queries == 2)
  }

  @Test func `each kind of fetch reads only the named properties`() async throws {
    let context = store.makeContext()
    let sorted = context.fetch(Book.self).sorted(by: \.year, .reverse).only(\.title)
    let titles = (0..<10).reversed().map { "book \($0)" }
    #expect(try sorted.all().map(\.title) == titles)
    #expect(try sorted.limit(3).offset(1).all().map(\.title) == Array(titles[1..<4]))
    #expect(try sorted.page(size: 4).objects.map(\.title) == Array(titles[..<4]))
    #expect(try sorted.first(ofEach: \.author).map(\.title) == ["book 9"])
    #expect(try sorted.where("year > 2004").all().map(\.title) == Array(titles[..<5]))
    #expect(try sorted.where("SELF IN {1, 2, 3}").all().map(\.title) == ["book 2", "book 1", "book 0"])
    #expect(try Array(sorted.batches(of: 3)).map(\.title) == titles)
    var found: [String] = []
    for try await book in sorted.stream(batch: 3) { found.append(book.title) }
    #expect(found == titles)
    let queries = context.statistics.queries
    let book = try #require(try sorted.first())
    #expect(context.statistics.queries == queries + 1)
    #expect(book.year == 2009 && context.statistics.queries == queries + 1)
    #expect(book.rating == 9 && context.statistics.queries == queries + 2)
    #expect(try context.fetch(Book.self).only(names: "title").sorted(by: \.id).first()?.title == "book 0")
  }

  @Test func `a change of one property saves it and leaves the others as they are`() throws {
    let context = store.makeContext()
    let books = try context.fetch(Book.self).sorted(by: \.id).only(\.title).all()
    let queries = context.statistics.queries
    // The whole row is read before the first property is written.
    books[1].title = "new"
    books[1].year = 2001
    #expect(context.statistics.queries == queries + 1)
    books[2].year = 1
    #expect(context.statistics.queries == queries + 2 && books[2].title == "book 2")
    books[3].title = "also new"
    #expect(books[3].year == 2003 && books[3].title == "also new")
    try context.save()
    #expect(Self.line(books[1]) == "new 2001 1.0 0.25 Ann" && Self.line(books[2]) == "book 2 1 -1.0 0.5 Ann")
    #expect(Self.line(books[3]) == "also new 2003 3.0 0.75 Ann")
    let fresh = store.makeContext()
    let other = try fetch(fresh).all()
    #expect(other.map(Self.line) == books.map(Self.line))
  }

  @Test func `rollback undoes the change of an object that was partly read`() throws {
    let context = store.makeContext()
    let book = try #require(try context.fetch(Book.self).sorted(by: \.id).only(\.title).first())
    book.title = "new"
    #expect(book.year == 2000)
    context.rollback()
    #expect(Self.line(book) == "book 0 2000 -1.0 0 Ann" && !book.hasChanges)
  }

  @Test func `a row that another context has changed is read anew, and a conflict is found`() throws {
    let context = store.makeContext()
    let books = try context.fetch(Book.self).sorted(by: \.id).only(\.title).all()
    books[1].title = "mine"
    let other = store.makeContext()
    for book in try other.fetch(Book.self).all() { (book.title, book.year) = ("theirs", 7) }
    try other.save()
    // Without changes the object gets the whole new row.
    #expect(books[0].year == 7 && books[0].title == "theirs")
    // With changes it keeps what it has, and the save refuses to overwrite what was not seen.
    #expect(books[1].year == 2001 && books[1].title == "mine")
    #expect(throws: StoreError.self) { try context.save() }
    #expect(books[1].hasChanges)
    context.rollback()
    #expect(books[1].title == "theirs")
  }

  @Test func `a row that was deleted meanwhile is an error that is noted`() throws {
    let context = store.makeContext()
    let books = try context.fetch(Book.self).sorted(by: \.id).only(\.title).all()
    let other = store.makeContext()
    for book in try other.fetch(Book.self).all() { other.delete(book) }
    try other.save()
    #expect(books[0].year == 0 && books[0].title == "book 0" && books[0].state == .invalid)
    #expect(context.faultErrors.count == 1)
  }

  @Test func `a write to an object whose row was deleted meanwhile is refused`() throws {
    let context = store.makeContext()
    let books = try context.fetch(Book.self).sorted(by: \.id).only(\.title).all()
    let other = store.makeContext()
    for book in try other.fetch(Book.self).all() { other.delete(book) }
    try other.save()
    books[0].year = 5
    books[1].title = "x"
    #expect(!books[0].hasChanges && !books[1].hasChanges && !context.hasChanges)
    #expect(context.faultErrors.count == 2)
    #expect(throws: StoreError.self) { try books[2].load() }
  }

  @Test(arguments: [false, true])
  func `a save conflicts if another context changed the row after a property was read`(_ readsRest: Bool)
    throws
  {
    let context = store.makeContext()
    let book = try #require(try context.fetch(Book.self).sorted(by: \.id).only(\.year).first())
    let seen = book.year
    let other = store.makeContext()
    try #require(try other.fetch(Book.self).sorted(by: \.id).first()).year = 3000
    try other.save()
    if readsRest { #expect(book.title == "book 0") }
    book.year = seen + 1
    #expect(throws: StoreError.self) { try context.save() }
    context.rollback()
    // The next fetch makes the object current.
    #expect(try context.fetch(Book.self).sorted(by: \.id).only(\.year).first() === book && book.year == 3000)
    book.year = 3001
    try context.save()
    #expect(try store.makeContext().fetch(Book.self).maximum(\.year) == 3001)
  }

  @Test func `load reads what was left out`() throws {
    let context = store.makeContext()
    let book = try #require(try context.fetch(Book.self).sorted(by: \.id).only(\.title).first())
    try book.load()
    let queries = context.statistics.queries
    #expect(book.year == 2000 && context.statistics.queries == queries)
  }

  @Test func `a sort by a property that was left out costs no query for each object`() throws {
    let context = store.makeContext()
    let whole = try context.fetch(Book.self).sorted(by: \.id).all()
    whole[0].year = 1
    let other = store.makeContext()
    let book = try #require(try other.fetch(Book.self).sorted(by: \.id).first())
    book.year = 3000
    let found = try other.fetch(Book.self).sorted(by: \.year).only(\.title).all()
    #expect(found.map(\.title) == (1..<10).map { "book \($0)" } + ["book 0"])
    #expect(other.statistics.queries < 5 && found.map(\.year) == Array(2001..<2010) + [3000])
  }

  /// A type whose values have a form for NULL, and that reads cells by itself.
  private struct Flags: AttributeValue, Equatable {
    var bits: Int
    static var attributeType: AttributeType { .int }
    static var placeholder: Flags { Flags(bits: -1) }
    func stored() throws -> SQLValue { .integer(Int64(bits)) }
    init(bits: Int) { self.bits = bits }
    init?(stored value: SQLValue) { bits = value.int64.map { Int($0) } ?? 0 }
    static func read(_ cell: RowCell) -> Flags? { Flags(stored: cell.value) }
  }

  private final class Flagged: ManagedObject {
    @Attribute var name: String
    @Attribute var flags: Flags = Flags(bits: 6)
  }

  @Test func `a type that takes NULL as a value is not read from a property that was left out`() async throws
  {
    let temporary = try await TemporaryStore(Schema { Entity(Flagged.self) })
    let context = temporary.store.makeContext()
    context.insert(Flagged.self) { $0.name = "a" }
    try context.save()
    let other = temporary.store.makeContext()
    let found = try #require(try other.fetch(Flagged.self).only(\.name).first())
    #expect(found.flags == Flags(bits: 6))
  }

  @Test func `conditions, sorts and values of pending changes see properties that were not fetched`() throws {
    let context = store.makeContext()
    let books = try context.fetch(Book.self).sorted(by: \.id).only(\.title).all()
    for book in books { book.title += "!" }
    #expect(try context.fetch(Book.self).where("year > 2006").sorted(by: \.year).all() == Array(books[7...]))
    #expect(try context.fetch(Book.self).sorted(by: \.year, .reverse).values(\.title).first == "book 9!")
    #expect(try context.fetch(Book.self).sum(\.year) == (2000..<2010).reduce(0, +))
    #expect(try context.fetch(Book.self).where("author.name == 'Ann'").count() == 10)
    context.delete(books[0])
    #expect(try context.fetch(Book.self).count() == 9)
    try context.save()
    #expect(try store.makeContext().fetch(Book.self).sorted(by: \.id).all().map(\.year) == Array(2001..<2010))
  }

  @Test func `a write tells listeners the old and new values of an object that was partly read`() async throws
  {
    let changes = store.changes()
    try await store.write { context in
      let book = try #require(try context.fetch(Book.self).sorted(by: \.id).only(\.title).first())
      book.title = "new"
      book.year = 1
    }
    var iterator = changes.makeAsyncIterator()
    var set: ChangeSet?
    if case .committed(let changes)? = await iterator.next() { set = changes }
    let updated = try #require(set?.updated.first)
    #expect(updated.old["title"]?.string == "book 0" && updated.old["year"]?.int64 == 2000)
  }

  @Test func `objects of subentities are of their class, and read their own properties later`() async throws {
    let temporary = try await TemporaryStore(company)
    let context = temporary.store.makeContext()
    context.insert(Person.self) { $0.name = "p" }
    context.insert(Employee.self) { ($0.name, $0.salary, $0.number) = ("e", 5, 1) }
    context.insert(Manager.self) { ($0.name, $0.salary, $0.level, $0.number) = ("m", 6, 2, 2) }
    try context.save()
    for isWhole in [false, true] {
      let other = temporary.store.makeContext()
      if isWhole { _ = try other.fetch(Manager.self).all() }
      let people = try other.fetch(Person.self).sorted(by: \.name).only(\.name).all()
      #expect(people.map(\.name) == ["e", "m", "p"] && other.statistics.queries == (isWhole ? 2 : 1))
      let (employee, manager) = (people[0] as? Employee, people[1] as? Manager)
      #expect(employee?.salary == 5 && employee?.number == 1)
      #expect(manager?.level == 2 && manager?.salary == 6)
      #expect(
        try other.fetch(Employee.self).only(\.salary).sorted(by: \.salary).all().map(\.salary) == [5, 6])
      #expect(
        try other.fetch(Person.self).includingSubentities(false).only(\.name).all().map(\.name) == ["p"])
    }
  }

  @Test func `one-to-ones notice their partners`() throws {
    let context = store.makeContext()
    let author = try context.fetch(Author.self).one()
    #expect(author.passport == nil)
    let other = store.makeContext()
    let owner = try other.fetch(Author.self).one()
    other.insert(Passport.self) { ($0.number, $0.owner) = ("1", owner) }
    try other.save()
    let passports = try context.fetch(Passport.self).only(\.number).all()
    #expect(author.passport === passports[0] && passports[0].owner === author)
  }

  @Test func `an entity without a class is fetched by names`() async throws {
    let opened = try await Store.open(at: store.url, key: testKey)
    defer { opened.close() }
    let context = opened.makeContext()
    let books = try context.fetch(entity: "Book").sorted(byPath: "id").only(names: "title").all()
    #expect(try books.map { try $0.value("title").string } == (0..<10).map { "book \($0)" })
    #expect(context.statistics.queries == 1)
    #expect(try books[3].value("year").int64 == 2003 && context.statistics.queries == 2)
  }

  @Test func `a name that is no property, and a path, are errors`() throws {
    let context = store.makeContext()
    let unknown = #expect(throws: StoreError.self) { try context.fetch(Book.self).only(names: "titel").all() }
    #expect(unknown.map { "\($0)" }?.contains("did you mean \"title\"?") == true, "\(unknown as Any)")
    let path = #expect(throws: StoreError.self) { try context.fetch(Book.self).only(\.author?.name).all() }
    #expect(path.map { "\($0)" }?.contains("prefetch") == true, "\(path as Any)")
  }

  @Test func `a request keeps the properties`() throws {
    let request = Book.request.only(\.title).sorted(by: \.id)
    let coded = try JSONDecoder().decode(ObjectRequest<Book>.self, from: JSONEncoder().encode(request))
    #expect(coded == request && request != Book.request.sorted(by: \.id))
    let context = store.makeContext()
    #expect(try context.fetch(coded).all().map(\.title) == (0..<10).map { "book \($0)" })
    #expect(context.statistics.queries == 1)
  }
}
