// Fetches in a context with pending changes find what a save would leave, against plain values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PendingFetches {
  @Test func `random fetches find what is pending, as plain values say`() async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 815)
    var random = SeededGenerator(seed: seed)
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let graph = PendingGraph(context, PredicateDifferential.fill(context, &random))
    for round in 0..<30 {
      do {
        for _ in 0..<25 { try graph.compare(PredicateDifferential.node(depth: 2, &random), &random) }
      } catch let mismatch as Mismatch {
        Issue.record("seed \(seed), round \(round): \(mismatch)")
        return
      }
      #expect(context.faultErrors.isEmpty)
      if round % 3 == 0 { try context.save() }
      for _ in 0..<Int.random(in: 1...6, using: &random) { graph.change(&random) }
    }
  }

  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    try await temporary.begin()
  }

  @Test func `a new object has an id above all numbers, and a write gives it its own before it is asked for`()
    async throws
  {
    let context = store.makeContext()
    let count = try context.fetch(Author.self).count()
    context.insert(Author.self) { $0.name = "Cid" }
    for (format, found) in [
      ("id > 0", count + 1), ("id > 1000000", 1), ("id < 0", 0), ("id == -1", 0), ("id IN {-1, -2}", 0),
      ("NOT (id BETWEEN {1, 1000})", 1),
    ] {
      #expect(try context.fetch(Author.self).where(format).count() == found, "\(format)")
    }
    let written = try await store.write { context in
      context.insert(Author.self) { $0.name = "Dan" }
      return try context.fetch(Author.self).where("id > 0 AND id < 1000").count()
    }
    #expect(written == count + 1)
  }

  @Test func `who has other links here is found by the row that somebody else has written`() async throws {
    let context = store.makeContext()
    let book = context.insert(Book.self) { $0.title = "x" }
    let genre = context.insert(Genre.self) { $0.name = "g" }
    try context.save()
    book.add(genre, to: \.genres)
    try await store.write { other in try other.fetch(Book.self).where("title == 'x'").one().title = "y" }
    #expect(try context.fetch(Book.self).where("title == 'y'").one() === book)
    #expect(try context.fetch(Book.self).where("title == 'x'").exists() == false)
    try context.save()
    #expect(try context.fetch(Book.self).where("title == 'y'").one().genres == [genre])
  }

  @Test func `what is new, changed and deleted here is found as it is here`() throws {
    let context = store.makeContext()
    let bob = try context.fetch(Author.self).where("name == 'Bob'").one()
    bob.name = "Rob"
    let cid = context.insert(Author.self) { $0.name = "Cid" }
    let fetch = context.fetch(Author.self)
    #expect(try fetch.where("name == 'Bob'").exists() == false)
    #expect(try fetch.where("name == 'Rob'").one() === bob)
    #expect(try fetch.sorted(by: \.name).all().map(\.name) == ["Ann", "Cid", "Rob"])
    #expect(try fetch.sorted(by: \.name, .reverse).limit(2).all().map(\.name) == ["Rob", "Cid"])
    #expect(try fetch.sorted(by: \.name).offset(1).limit(1).all().map(\.name) == ["Cid"])
    #expect(try fetch.all().last === cid && fetch.ids().last == cid.id)
    #expect(try fetch.count() == 3 && fetch.offset(2).count() == 1 && fetch.limit(0).count() == 0)
    context.delete(bob)
    #expect(try fetch.count() == 2 && fetch.where("name == 'Rob'").first() == nil)
    // Nothing of it is in the file.
    #expect(try store.makeContext().fetch(Author.self).where("name == 'Bob'").count() == 1)
    #expect(try fetch.includingPending(false).all().map(\.name) == ["Ann"])
  }

  @Test func `a change is seen through relationships`() throws {
    let context = store.makeContext()
    let (ann, one) = (
      try context.fetch(Author.self).where("name == 'Ann'").one(), try context.fetch(Book.self).one()
    )
    ann.name = "Anna"
    let books = context.fetch(Book.self)
    #expect(try books.where("author.name == 'Anna'").one() === one)
    #expect(try books.where("author.name == 'Anna'").includingPending(false).count() == 0)
    let two = context.insert(Book.self) {
      $0.title = "Two"; $0.author = ann
    }
    #expect(try context.fetch(Author.self).where("books.@count == 2").one() === ann)
    #expect(try context.fetch(Author.self).where("ANY books.title == 'Two'").one() === ann)
    #expect(
      try context.fetch(Author.self).where("ANY books.title == 'Two'").includingPending(false).count() == 0)
    #expect(try books.sorted(by: \.author?.name).sorted(by: \.title).all() == [one, two])
    // Its books go with her.
    context.delete(ann)
    #expect(try books.count() == 0 && books.where("author == nil").count() == 0)
    #expect(try books.includingPending(false).count() == 1)
    context.rollback()
    #expect(try books.where("author.name == 'Ann'").count() == 1)
  }

  @Test func `a new object is found by what refers to it`() throws {
    let (context, other) = (store.makeContext(), store.makeContext())
    let cid = context.insert(Author.self) { $0.name = "Cid" }
    let book = context.insert(Book.self) {
      $0.title = "Two"
      $0.author = cid
    }
    let stranger = other.insert(Author.self) { $0.name = "Dan" }
    let books = context.fetch(Book.self)
    #expect(try books.where("author == %@", cid).one() === book)
    #expect(try books.where("author != %@", cid).count() == 1)
    #expect(try books.where("author IN %@", [cid]).one() === book)
    #expect(try context.fetch(Author.self).where("SELF == %@", cid).one() === cid)
    #expect(throws: StoreError.self) { try books.where("author == %@", stranger).all() }
    #expect(throws: StoreError.self) { try books.where("author == %@", cid).includingPending(false).all() }
    try context.save()
    #expect(try books.where("author == %@", cid).one() === book)
  }

  @Test func `a fetch with nothing pending for it asks once`() throws {
    let context = store.makeContext()
    context.insert(Genre.self) { $0.name = "crime" }
    let before = context.statistics.queries
    #expect(try context.fetch(Author.self).where("age > 3").sorted(by: \.name).all().count == 2)
    #expect(context.statistics.queries == before + 1)
  }

  @Test func `inside a write, what does not concern a fetch is not written before it`() async throws {
    try await store.write { context in
      for number in 0..<10 {
        let name = "genre \(number)"
        #expect(try context.fetch(Genre.self).where("name == %@", name).first() == nil)
        let genre = context.insert(Genre.self) { $0.name = name }
        #expect(try context.fetch(Author.self).where("name == 'Ann'").count() == 1)
        #expect(genre.id.isTemporary)
      }
      let known = try context.fetch(Genre.self).where("name == 'genre 4'").one()
      #expect(!known.id.isTemporary)
      #expect(try context.fetch(Genre.self).count() == 10)
    }
  }
}

/// Objects with the same in plain values, and changes to both.
private final class PendingGraph {
  private let context: ObjectContext
  private var books: [(object: Book, plain: PlainObject)] = []
  private var authors: [(object: Author, plain: PlainObject)] = []
  private var genres: [(object: Genre, plain: PlainObject)] = []
  private var count = 0

  init(_ context: ObjectContext, _ pairs: [(ManagedObject, PlainObject)]) {
    self.context = context
    for (object, plain) in pairs {
      switch object {
      case let book as Book: books.append((book, plain))
      case let author as Author: authors.append((author, plain))
      case let genre as Genre: genres.append((genre, plain))
      default: break
      }
    }
  }

  // MARK: Changing

  func change(_ random: inout SeededGenerator) {
    count += 1
    let (book, author, genre) = (
      books.randomElement(using: &random), authors.randomElement(using: &random),
      genres.randomElement(using: &random)
    )
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1: if let book { PredicateDifferential.change(book.object, book.plain, count, &random) }
    case 2:
      guard let author else { break }
      let name = (PredicateDifferential.names.randomElement(using: &random) ?? "") + "\(count)"
      author.object.name = name
      author.plain.values["name"] = .text(name)
    case 3:
      guard let author else { break }
      author.object.nick = Bool.random(using: &random) ? nil : "Ann\(count)"
      author.plain.values["nick"] = author.object.nick.map { .text($0) } ?? .null
    case 4, 5: if let book { give(book, Bool.random(using: &random) ? author : nil) }
    case 6, 7:
      guard let book, let genre else { break }
      let isMember = book.plain.many["genres"]?.contains { $0 === genre.plain } == true
      if isMember {
        book.object.remove(genre.object, from: \.genres)
        book.plain.many["genres"]?.removeAll { $0 === genre.plain }
        genre.plain.many["books"]?.removeAll { $0 === book.plain }
      } else {
        genre.object.add(book.object, to: \.books)
        book.plain.many["genres", default: []].append(genre.plain)
        genre.plain.many["books", default: []].append(book.plain)
      }
    case 8, 9:
      let new = (object: context.insert(Book.self), plain: PlainObject())
      PredicateDifferential.change(new.object, new.plain, count, &random)
      books.append(new)
      give(new, author)
    case 10: if let book { delete(book) }
    default:
      guard Bool.random(using: &random), let author else { break }
      context.delete(author.object)
      authors.removeAll { $0.plain === author.plain }
      for book in books where book.plain.one["author"] === author.plain { forget(book) }
    }
  }

  private func give(
    _ book: (object: Book, plain: PlainObject), _ author: (object: Author, plain: PlainObject)?
  ) {
    book.object.author = author?.object
    book.plain.one["author"]?.many["books"]?.removeAll { $0 === book.plain }
    book.plain.one["author"] = author?.plain
    author?.plain.many["books", default: []].append(book.plain)
  }

  private func delete(_ book: (object: Book, plain: PlainObject)) {
    context.delete(book.object)
    book.plain.one["author"]?.many["books"]?.removeAll { $0 === book.plain }
    forget(book)
  }

  private func forget(_ book: (object: Book, plain: PlainObject)) {
    books.removeAll { $0.plain === book.plain }
    for genre in genres { genre.plain.many["books"]?.removeAll { $0 === book.plain } }
  }

  // MARK: Comparing

  private static var sorts: [(path: PartialKeyPath<Book>, names: [String])] {
    [
      (\.title, ["title"]), (\.year, ["year"]), (\.rating, ["rating"]), (\.price, ["price"]),
      (\.author?.name, ["author", "name"]), (\.author?.nick, ["author", "nick"]),
    ]
  }

  func compare(_ node: PredicateNode, _ random: inout SeededGenerator) throws {
    let fetch = context.fetch(Book.self).where(node)
    let expected = books.filter { PredicateEvaluation($0.plain).holds(node) }
    func expect(_ holds: Bool, _ what: String) throws {
      if !holds { throw Mismatch("\(what), expected \(expected.count): \(node)\n\(try fetch.sql)") }
    }
    let found = try fetch.all()
    try expect(Set(found) == Set(expected.map(\.object)), "found \(found.count)")
    try expect(found.count == expected.count, "found \(found.count), some twice")
    try expect(try fetch.count() == expected.count, "counted otherwise")
    try expect(try fetch.exists() == !expected.isEmpty, "it exists or not")
    try expect(Set(try fetch.ids()) == Set(found.map(\.id)), "other ids")
    let sort = Self.sorts.randomElement(using: &random) ?? Self.sorts[0]
    let isReverse = Bool.random(using: &random)
    let offset = Int.random(in: 0..<4, using: &random)
    let limit = Int.random(in: 0..<20, using: &random)
    let window = fetch.sorted(by: sort.path, isReverse ? .reverse : .forward).offset(offset).limit(limit)
    let keys = expected.map { Self.value($0.plain, sort.names) }.sorted { Self.precedes($0, $1) }
    let inOrder = (isReverse ? keys.reversed() : keys).dropFirst(offset).prefix(limit)
    let plains = Dictionary(uniqueKeysWithValues: books.map { (ObjectIdentifier($0.object), $0.plain) })
    let sorted = try window.all().map { object in
      plains[ObjectIdentifier(object)].map { Self.value($0, sort.names) } ?? .null
    }
    try expect(
      sorted.count == inOrder.count
        && zip(sorted, inOrder).allSatisfy { !Self.precedes($0, $1) && !Self.precedes($1, $0) },
      "by \(sort.names), \(offset) and \(limit), \(isReverse): \(sorted) and not \(inOrder)")
    try expect(try window.count() == inOrder.count, "another count of \(offset) and \(limit)")
    try expect(try window.exists() == !inOrder.isEmpty, "it exists or not, \(offset) and \(limit)")
  }

  private static func value(_ plain: PlainObject, _ names: [String]) -> SQLValue {
    let owner = names.dropLast().reduce(plain) { (object: PlainObject?, name) in object?.one[name] }
    return owner?.values[names.last ?? ""] ?? .null
  }

  private static func precedes(_ left: SQLValue, _ right: SQLValue) -> Bool {
    switch (left, right) {
    case (.null, .null): return false
    case (.null, _): return true
    case (_, .null): return false
    case (.integer(let a), .integer(let b)): return a < b
    case (.real(let a), .real(let b)): return a < b
    case (.text(let a), .text(let b)):
      if a.allSatisfy({ "-.0123456789".contains($0) }), let first = Decimal(string: a),
        b.allSatisfy({ "-.0123456789".contains($0) }), let second = Decimal(string: b)
      {
        return first < second
      }
      return a.unicodeScalars.lexicographicallyPrecedes(b.unicodeScalars)
    default: return false
    }
  }
}
