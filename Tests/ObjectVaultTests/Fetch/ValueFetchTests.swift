// Values, aggregates and groups, compared with loops over the objects of the same fetch: in clean
// contexts, with pending changes, and inside writes.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ValueFetches {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  // MARK: Data

  /// The state in which a context is queried.
  enum State: CaseIterable, Sendable { case empty, clean, pending, writing }

  static let texts = ["-", "a", "b", "é", "e\u{301}", "x\0y", "Z", "北京"]

  private static func insertBook(
    _ context: ObjectContext, _ authors: [Author], _ random: inout SeededGenerator
  ) {
    context.insert(Book.self) { book in
      change(book, authors, &random)
    }
  }

  private static func change(_ book: Book, _ authors: [Author], _ random: inout SeededGenerator) {
    book.title = texts.randomElement(using: &random) ?? ""
    book.year = [-1, 0, 1, 5, 1 << 40].randomElement(using: &random) ?? 0
    // Halves, whose sums are exact in any order.
    book.rating = Bool.random(using: &random) ? nil : Double(Int.random(in: -4...4, using: &random)) / 2
    book.price =
      Bool.random(using: &random)
      ? nil : Decimal(string: ["0", "10", "9.5", "-0.01"].randomElement(using: &random) ?? "0")
    book.author = Bool.random(using: &random) ? nil : authors.randomElement(using: &random)
  }

  private static func fill(_ context: ObjectContext, _ random: inout SeededGenerator) throws {
    let clubs = ["one", "two"].map { name in context.insert(Club.self) { $0.name = name } }
    let authors = (0..<5).map { number in
      context.insert(Author.self) { author in
        author.name = "author \(number)"
        author.nick = texts.randomElement(using: &random)
        author.age = number * 7 % 4
        author.club = Bool.random(using: &random) ? nil : clubs.randomElement(using: &random)
      }
    }
    for _ in 0..<40 { insertBook(context, authors, &random) }
    try context.save()
  }

  /// Changes, inserts and deletes books, authors and clubs, without a save.
  private static func disturb(_ context: ObjectContext, _ random: inout SeededGenerator) throws {
    let authors = try context.fetch(Author.self).sorted(by: \.id).all()
    let books = try context.fetch(Book.self).sorted(by: \.id).all()
    for book in books where Int.random(in: 0..<6, using: &random) == 0 { change(book, authors, &random) }
    for book in books where Int.random(in: 0..<10, using: &random) == 0 { context.delete(book) }
    let new = context.insert(Author.self) { ($0.name, $0.age) = ("new", 3) }
    for _ in 0..<4 { insertBook(context, authors + [new], &random) }
    authors[0].nick = "changed"
    if Bool.random(using: &random) { context.delete(authors[1]) }
    if let club = try context.fetch(Club.self).first() { club.name = "renamed" }
  }

  private func inState(
    _ state: State, seed: UInt64, _ body: @escaping @Sendable (ObjectContext) throws -> Void
  ) async throws {
    if state != .empty {
      var random = SeededGenerator(seed: seed)
      try Self.fill(context, &random)
    }
    switch state {
    case .empty, .clean: try body(context)
    case .pending:
      var random = SeededGenerator(seed: seed + 1)
      try Self.disturb(context, &random)
      try body(context)
      context.rollback()
    case .writing:
      try await temporary.store.write { context in
        var random = SeededGenerator(seed: seed + 1)
        try Self.disturb(context, &random)
        try body(context)
      }
    }
  }

  static let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 37)

  /// Fetches in which different rows are selected and ordered.
  @Sendable private static func fetches(_ context: ObjectContext) throws -> [Fetch<Book>] {
    let all = context.fetch(Book.self)
    return [
      all.sorted(by: \.id), all.sorted(by: \.title).sorted(by: \.year, .reverse),
      all.sorted(by: \.author?.name, .reverse).sorted(by: \.rating),
      try all.where("year > 0 AND rating != nil").sorted(by: \.price),
      try all.where("author.age > 1 OR author.club.name == 'one'").sorted(by: \.id, .reverse),
      try all.where("title == 'é'").sorted(by: \.id), all.sorted(by: \.title).limit(7).offset(3),
      all.sorted(by: \.rating, .reverse).sorted(by: \.year).limit(100).offset(5), all.limit(0),
      all.includingPending(false).sorted(by: \.id),
    ]
  }

  // MARK: Values

  @Test(arguments: State.allCases)
  func `values equal the properties of the fetched objects`(_ state: State) async throws {
    try await inState(state, seed: Self.seed) { context in
      for (index, fetch) in try Self.fetches(context).enumerated() {
        let objects = try fetch.all()
        let isStored = index == 9
        let rows = try fetch.values(\.title, \.year, \.rating, \.price)
        #expect(rows.count == objects.count, "fetch \(index)")
        // Stored values are those of the file, and the objects have those of memory.
        guard !isStored else { continue }
        for (row, object) in zip(rows, objects) {
          #expect(row.0.utf8.elementsEqual(object.title.utf8) && row.1 == object.year, "fetch \(index)")
          #expect(row.2 == object.rating && row.3 == object.price, "fetch \(index)")
        }
        let linked = try fetch.values(\.id, \.author?.id, \.author?.nick, \.author?.club?.name)
        for (row, object) in zip(linked, objects) {
          #expect(row.0 == object.id && row.1 == object.author?.id, "fetch \(index)")
          #expect(row.2 == object.author?.nick && row.3 == object.author?.club?.name, "fetch \(index)")
        }
        let dictionaries = try fetch.dictionaries("title", "author", "author.club.name")
        for (row, object) in zip(dictionaries, objects) {
          #expect(row["title"] == .text(object.title))
          #expect(row["author"] == object.author.map { .integer($0.id.rowID) } ?? .null)
          #expect(row["author.club.name"] == (object.author?.club?.name).map { .text($0) } ?? .null)
        }
        let years: [Int] = try fetch.values(\.year)
        #expect(years == objects.map(\.year))
      }
    }
  }

  @Test(arguments: State.allCases)
  func `distinct values are the different values in the order of their first occurrence`(_ state: State)
    async throws
  {
    try await inState(state, seed: Self.seed) { context in
      let base = context.fetch(Book.self)
      for fetch in [
        base.sorted(by: \.title).sorted(by: \.year), base.sorted(by: \.year, .reverse).sorted(by: \.title),
        try base.where("rating == nil").sorted(by: \.title, .reverse).sorted(by: \.year),
      ] {
        var seen: Set<[UInt8]> = []
        let expected = try fetch.all().filter { seen.insert(Array("\($0.year) \($0.title)".utf8)).inserted }
        let found = try fetch.distinct().values(\.title, \.year)
        #expect(found.map { "\($0.1) \($0.0)" } == expected.map { "\($0.year) \($0.title)" })
        let window = try fetch.distinct().offset(2).limit(3).values(\.title, \.year)
        #expect(
          window.map { "\($0.1) \($0.0)" }
            == expected.dropFirst(2).prefix(3).map { "\($0.year) \($0.title)" })
        #expect(try fetch.distinct().dictionaries("title", "year").count == expected.count)
      }
      let nicks = try base.distinct().values(\.author?.nick)
      let expected = Set(try base.all().map { $0.author?.nick.map { Array($0.utf8) } })
      #expect(nicks.count == expected.count && Set(nicks.map { $0.map { Array($0.utf8) } }) == expected)
    }
  }

  @Test func `each attribute type is returned as it was stored`() throws {
    let id = UUID()
    context.insert(Sample.self) {
      EvaluatedForms.fill($0, 1)
      ($0.flag, $0.int, $0.int8, $0.uint32, $0.float, $0.double) = (true, .min, -128, .max, 0.1, .infinity)
      ($0.decimal, $0.string, $0.data) = (Decimal(string: "-1.5") ?? 0, "x\0", Data([0, 1]))
      ($0.date, $0.uuid, $0.url) = (.distantPast, id, URL(filePath: "/tmp"))
      ($0.mood, $0.shelf, $0.address) = (.cross, .low, Address(street: "S", number: 2))
      ($0.maybeInt, $0.maybeMood) = (3, .calm)
      ($0.maybeString, $0.maybeDate, $0.maybeDecimal) = (nil, nil, nil)
    }
    try context.save()
    for number in 0..<2 {
      let fetch = context.fetch(Sample.self)
      let numbers = try #require(try fetch.values(\.flag, \.int, \.int8, \.uint32, \.float, \.double).first)
      #expect(numbers == (true, .min, -128, .max, 0.1, .infinity))
      let others = try #require(try fetch.values(\.decimal, \.string, \.data, \.date, \.uuid, \.url).first)
      #expect(
        others == (
          Decimal(string: "-1.5") ?? 0, "x\0", Data([0, 1]), .distantPast, id, URL(filePath: "/tmp")
        ))
      let own = try #require(try fetch.values(\.mood, \.shelf, \.address, \.maybeMood, \.maybeInt).first)
      #expect(own == (.cross, .low, Address(street: "S", number: 2), .calm, 3))
      let absent = try #require(try fetch.values(\.maybeString, \.maybeDate, \.maybeDecimal).first)
      #expect(absent == (nil, nil, nil))
      // A pending object, so that the second round evaluates in memory.
      if number == 0 { try context.fetch(Sample.self).one().int16 = 1 }
    }
    context.rollback()
  }

  @Test func `a value that cannot be read becomes the placeholder and is reported with its object`()
    async throws
  {
    var ids: [Int64] = []
    for year in 0..<3 {
      let book = context.insert(Book.self) { ($0.title, $0.year) = ("t", year) }
      try context.save()
      ids.append(book.id.rowID)
    }
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    try connection.execute("UPDATE Book SET year = 'x' WHERE id = \(ids[1])")
    let fresh = temporary.store.makeContext()
    #expect(try fresh.fetch(Book.self).sorted(by: \.id).values(\.year) == [0, 0, 2])
    #expect(
      fresh.unreadableValues
        == [.unreadableValue(entity: "Book", property: "year", rowID: ids[1], expected: "int")])
  }

  // MARK: Aggregates

  private static func checkAggregates(_ fetch: Fetch<Book>, _ name: Comment) throws {
    let books = try fetch.all()
    let years = books.reduce(0) { $0 + $1.year }
    #expect(try fetch.sum(\.year) == years, name)
    let ages = books.compactMap { $0.author?.age }
    #expect(try fetch.sum(\.author?.age) == ages.reduce(0, +), name)
    let ratings = books.compactMap(\.rating)
    #expect(try fetch.sum(\.rating) == ratings.reduce(0, +), name)
    let rating: Double? = ratings.isEmpty ? nil : ratings.reduce(0, +) / Double(ratings.count)
    #expect(try fetch.average(\.rating) == rating, name)
    let prices = books.compactMap(\.price)
    #expect(try fetch.sum(\.price) == prices.reduce(0, +), name)
    let price: Decimal? = prices.isEmpty ? nil : prices.reduce(0, +) / Decimal(prices.count)
    let found = try fetch.average(\.price)
    #expect((found == nil) == (price == nil), name)
    // Foundation rounds the last of 38 digits in its own way.
    let difference = (found ?? 0) - (price ?? 0)
    #expect(difference.magnitude < Decimal(sign: .plus, exponent: -30, significand: 1), name)
    #expect(try fetch.minimum(\.year) == books.map(\.year).min(), name)
    #expect(try fetch.maximum(\.year) == books.map(\.year).max(), name)
    #expect(try fetch.minimum(\.price) == prices.min(), name)
    #expect(try fetch.maximum(\.price) == prices.max(), name)
    let titles = books.map { Array($0.title.utf8) }
    let (least, greatest) = (try fetch.minimum(\.title), try fetch.maximum(\.title))
    #expect(least.map { Array($0.utf8) } == titles.min { $0.lexicographicallyPrecedes($1) }, name)
    #expect(greatest.map { Array($0.utf8) } == titles.max { $0.lexicographicallyPrecedes($1) }, name)
    #expect(try fetch.countDistinct(\.title) == Set(titles).count, name)
    #expect(try fetch.countDistinct(\.price) == Set(prices).count, name)
    #expect(try fetch.countDistinct(\.author?.id) == Set(books.compactMap { $0.author?.id }).count, name)
    let (count, rated, youngest) = try fetch.aggregates(.count, .count(\.rating), .minimum(\Book.author?.age))
    #expect(count == books.count && rated == ratings.count && youngest == ages.min(), name)
  }

  @Test(arguments: State.allCases)
  func `aggregates equal loops over the fetched objects`(_ state: State) async throws {
    try await inState(state, seed: Self.seed) { context in
      for (index, fetch) in try Self.fetches(context).enumerated() where index != 9 {
        try Self.checkAggregates(fetch, "fetch \(index)")
      }
    }
  }

  @Test func `a sum beyond its type is an error, and one at its limit is not`() throws {
    func insert(_ change: (Sample) -> Void) {
      context.insert(Sample.self) { sample in
        EvaluatedForms.fill(sample, 1)
        change(sample)
      }
    }
    for int in [Int.max, 1, -1] { insert { $0.int = int } }
    #expect(try context.fetch(Sample.self).sum(\.int) == Int.max)
    try context.save()
    #expect(try context.fetch(Sample.self).sum(\.int) == Int.max)
    let large = try context.fetch(Sample.self).where("int > 0")
    #expect(throws: StoreError.sumTooLarge(entity: "Sample", property: "int")) { try large.sum(\.int) }
    #expect(throws: StoreError.sumTooLarge(entity: "Sample", property: "int")) {
      try large.grouped(by: \.flag, .sum(\.int))
    }
    #expect(try large.average(\.int) == Double(Int.max) / 2)
    insert { $0.int = 5 }
    #expect(throws: StoreError.sumTooLarge(entity: "Sample", property: "int")) {
      try context.fetch(Sample.self).where("int > 0").sum(\.int)
    }
    context.rollback()
    let digits = try #require(Decimal(string: String(repeating: "9", count: 38)))
    for _ in 0..<2 { insert { $0.decimal = digits } }
    for _ in 0..<2 {
      #expect(throws: StoreError.sumTooLarge(entity: "Sample", property: "decimal")) {
        try context.fetch(Sample.self).sum(\.decimal)
      }
      // Only in the result it is an error.
      let groups = try context.fetch(Sample.self).grouped(by: \.decimal, .sum(\.decimal), having: .count == 1)
      #expect(groups.allSatisfy { $0.key != digits })
      #expect(
        try context.fetch(Sample.self).grouped(by: \.decimal, .count, having: .sum(\.decimal) > 1).count > 0)
      try context.save()
    }
    #expect(try context.fetch(Sample.self).where("decimal > 0").maximum(\.decimal) == digits)
  }

  // MARK: Groups

  /// The objects of a fetch by a key, in the order of the keys: nil first, then by their text.
  private static func grouped<Key: Hashable>(
    _ books: [Book], by key: (Book) -> Key, order: (Key) -> String
  ) -> [(key: Key, books: [Book])] {
    Dictionary(grouping: books, by: key).map { ($0.key, $0.value) }
      .sorted { order($0.key).utf8.lexicographicallyPrecedes(order($1.key).utf8) }
  }

  @Test(arguments: State.allCases)
  func `groups equal the fetched objects grouped in memory`(_ state: State) async throws {
    try await inState(state, seed: Self.seed) { context in
      let base = context.fetch(Book.self)
      for fetch in [base, try base.where("year > 0"), try base.where("author.age < 3 OR author == nil")] {
        let books = try fetch.all()
        let byTitle = Self.grouped(
          books, by: { Array($0.title.utf8) }, order: { String(decoding: $0, as: UTF8.self) })
        let found = try fetch.grouped(
          by: \.title, .count, .sum(\.year), .average(\.rating), .maximum(\.price))
        #expect(found.map { Array($0.key.utf8) } == byTitle.map(\.key))
        for (group, expected) in zip(found, byTitle) {
          let (count, years, rating, price) = group.values
          let ratings = expected.books.compactMap(\.rating)
          #expect(count == expected.books.count && years == expected.books.reduce(0) { $0 + $1.year })
          #expect(rating == (ratings.isEmpty ? nil : ratings.reduce(0, +) / Double(ratings.count)))
          #expect(price == expected.books.compactMap(\.price).max())
        }
        // nil is a group, and the first.
        let byAuthor = try fetch.grouped(by: \.author?.id, .count, .countDistinct(\.title))
        #expect(byAuthor.count == Set(books.map { $0.author?.id }).count)
        for group in byAuthor {
          let members = books.filter { $0.author?.id == group.key }
          #expect(group.values.0 == members.count)
          #expect(group.values.1 == Set(members.map { Array($0.title.utf8) }).count)
        }
        #expect(byAuthor.dropFirst().allSatisfy { $0.key != nil })
        let counts = try fetch.counts(by: \.author)
        #expect(counts == Dictionary(byAuthor.map { ($0.key, $0.values.0) }, uniquingKeysWith: +))
        #expect(try fetch.grouped(by: \.author, .count).map(\.key) == byAuthor.map(\.key))
        #expect(
          try fetch.counts(by: \.rating) == Dictionary(grouping: books, by: \.rating).mapValues(\.count))
        let pairs = try fetch.grouped(by: \.year, \.author?.club?.name, .count)
        let expected = Dictionary(grouping: books) { "\($0.year) \($0.author?.club?.name ?? "-")" }
        #expect(pairs.count == expected.count)
        for pair in pairs {
          #expect(expected["\(pair.key.0) \(pair.key.1 ?? "-")"]?.count == pair.values)
        }
        let triples = try fetch.grouped(by: \.year, \.rating, \.price, .count)
        #expect(triples.reduce(0) { $0 + $1.values } == books.count)
      }
    }
  }

  @Test(arguments: State.allCases)
  func `conditions, sorts and limits of groups are those of the groups in memory`(_ state: State) async throws
  {
    try await inState(state, seed: Self.seed) { context in
      let fetch = context.fetch(Book.self)
      let books = try fetch.all()
      let years = Dictionary(grouping: books, by: \.year)
      func expect(_ condition: GroupCondition<Book>, _ isKept: ([Book]) -> Bool) throws {
        let found = try fetch.grouped(by: \.year, .count, having: condition)
        #expect(found.map(\.key) == years.filter { isKept($0.value) }.map(\.key).sorted())
      }
      try expect(.count > 5) { $0.count > 5 }
      try expect(.count >= 5 && .count != 7) { $0.count >= 5 && $0.count != 7 }
      try expect(!(.count < 6) || .minimum(\.title) == "-") {
        $0.count >= 6 || $0.contains { $0.title == "-" }
      }
      try expect(.maximum(\.rating) == nil) { $0.allSatisfy { $0.rating == nil } }
      try expect(.maximum(\.price) <= 9.5) { $0.compactMap(\.price).max().map { $0 <= 9.5 } ?? false }
      try expect(.sum(\.price) > 9) { $0.compactMap(\.price).reduce(0, +) > 9 }
      try expect(.countDistinct(\.title) == 3) { Set($0.map { Array($0.title.utf8) }).count == 3 }
      let descending = try fetch.sorted(by: \.year, .reverse).grouped(by: \.year, .count)
      #expect(descending.map(\.key) == years.keys.sorted(by: >))
      let window = try fetch.sorted(by: \.year, .reverse).offset(1).limit(2).grouped(by: \.year, .count)
      #expect(window.map(\.key) == Array(years.keys.sorted(by: >).dropFirst().prefix(2)))
      for group in window { #expect(group.values == years[group.key]?.count) }
    }
  }

  // MARK: Errors

  @Test func `sorts and properties that a result cannot have are errors`() throws {
    let books = context.fetch(Book.self)
    let calls: [(String, () throws -> Void)] = [
      ("can only be sorted by", { _ = try books.sorted(by: \.year).distinct().values(\.title) }),
      ("can only be sorted by", { _ = try books.sorted(by: \.year).grouped(by: \.title, .count) }),
      ("is a to-many", { _ = try books.dictionaries("genres") }),
      ("has no property", { _ = try books.dictionaries("titel") }),
      ("only numbers can be added", { _ = try books.aggregates(.sum(path: "title", as: Int.self)) }),
      ("only numbers can be added", { _ = try books.aggregates(.average(path: "author", as: Int.self)) }),
      ("computes a value", { _ = try books.values(\.title.count) }),
    ]
    for (reason, call) in calls {
      let error = #expect(throws: StoreError.self, "\(reason)") { try call() }
      #expect(error.map { "\($0)" }?.contains(reason) == true, "\(error.map { "\($0)" } ?? "")")
    }
  }

  @Test func `values and groups of a store without classes equal those by class`() async throws {
    var random = SeededGenerator(seed: Self.seed)
    try Self.fill(context, &random)
    let typed = try context.fetch(Book.self).grouped(by: \.title, .count, .sum(\.year), .maximum(\.price))
    let titles = try context.fetch(Book.self).sorted(by: \.id).values(\.title)
    temporary.store.close()
    let store = try await Store.open(at: temporary.store.url, key: testKey)
    try await store.read { context in
      let fetch = context.fetch(entity: "Book")
      let groups = try fetch.grouped(
        byPath: "title", as: String.self, .count, .sum(path: "year", as: Int.self),
        .maximum(path: "price", as: Decimal.self))
      #expect(groups.map(\.key) == typed.map(\.key))
      #expect(
        groups.map(\.values.0) == typed.map(\.values.0) && groups.map(\.values.1) == typed.map(\.values.1))
      #expect(groups.map(\.values.2) == typed.map(\.values.2))
      #expect(try fetch.sorted(byPath: "id").dictionaries("title").map { $0["title"]?.string } == titles)
    }
    store.close()
  }

  // MARK: Decodable types

  private struct Line: Decodable, Equatable {
    var id: Int64
    var title: String
    var rating: Double?
    var price: Decimal?
    var author: Int64?
  }

  private struct Named: Decodable, Equatable {
    enum CodingKeys: String, CodingKey {
      case year
      case name = "author.name"
      case club = "author.club.name"
    }
    var year: Int
    var name: String?
    var club: String?
  }

  @Test(arguments: State.allCases)
  func `values of a Decodable type are those of the objects`(_ state: State) async throws {
    try await inState(state, seed: Self.seed) { context in
      for (index, fetch) in try Self.fetches(context).enumerated() where index < 9 {
        let books = try fetch.all()
        let lines = books.map { book in
          Line(
            id: book.id.rowID, title: book.title, rating: book.rating, price: book.price,
            author: book.author?.id.rowID)
        }
        let found = try fetch.all(as: Line.self)
        #expect(found == lines, "fetch \(index)")
        #expect(zip(found, lines).allSatisfy { Array($0.title.utf8) == Array($1.title.utf8) })
        let named = try fetch.all(as: Named.self, "year", "author.name", "author.club.name")
        #expect(
          named == books.map { Named(year: $0.year, name: $0.author?.name, club: $0.author?.club?.name) },
          "fetch \(index)")
      }
    }
  }

  @Test func `a type with a key that is no property, or with another type, is an error`() async throws {
    struct Unknown: Decodable { let tittle: String }
    struct Other: Decodable { let title: Int }
    struct Required: Decodable { let rating: Double }
    context.insert(Book.self) { $0.title = "x" }
    let missing = #expect(throws: DecodingError.self) { try context.fetch(Book.self).all(as: Unknown.self) }
    #expect(missing.map { "\($0)" }?.contains("There is no column tittle") == true)
    #expect(throws: DecodingError.self) { try context.fetch(Book.self).all(as: Other.self) }
    #expect(throws: DecodingError.self) { try context.fetch(Book.self).all(as: Required.self) }
    #expect(throws: StoreError.self) { try context.fetch(Book.self).all(as: Named.self, "author.nme") }
    #expect(try context.fetch(Book.self).distinct().all(as: Int.self, "year") == [2000])
    // As in an object, which would have a placeholder: 2 is no Bool.
    struct Flag: Decodable { let flag: Bool }
    context.rollback()
    context.insert(Sample.self) { EvaluatedForms.fill($0, 1) }
    try context.save()
    try Connection.open(temporary.store.url.path, key: testKey).execute(sql: "UPDATE Sample SET flag = 2")
    #expect(throws: DecodingError.self) { try context.fetch(Sample.self).all(as: Flag.self) }
  }
}
