// Fetches in a context with pending changes after another context has saved changes of its objects.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .slow)) struct PendingStaleness {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    try await temporary.begin()
  }

  @Test func `random fetches read unchanged objects from the file and agree with plain values`() async throws
  {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 1122)
    var random = SeededGenerator(seed: seed)
    for round in 0..<(isTorture ? 50 : 3) {
      let temporary = try await TemporaryStore(library)
      let context = temporary.store.makeContext()
      let pairs = PredicateDifferential.fill(context, &random)
      try context.save()
      // All related objects are in memory, and become outdated.
      for case let book as Book in pairs.map(\.0) {
        _ = (book.author?.books.count, book.genres.map(\.books.count))
      }
      let graph = PendingGraph(context, pairs)
      do {
        for _ in 0..<5 {
          graph.change(&random)
          try graph.changeElsewhere(temporary.store, &random)
          try graph.changeElsewhere(temporary.store, &random)
          for _ in 0..<10 { try graph.compare(PredicateDifferential.node(depth: 2, &random), &random) }
        }
      } catch let mismatch as Mismatch {
        Issue.record("seed \(seed), round \(round): \(mismatch)")
        return
      }
      #expect(context.faultErrors.isEmpty)
    }
  }

  @Test func `a fetch reads an outdated object at the end of a path again`() async throws {
    let context = store.makeContext()
    let book = try context.fetch(Book.self).one()
    #expect(book.author?.nick == nil)
    try await store.write { try $0.fetch(Author.self).where("name == 'Ann'").one().nick = "Annie" }
    book.title = "changed here"
    let books = context.fetch(Book.self)
    #expect(try books.where("author.nick == 'Annie'").one() === book)
    #expect(try books.where("author.nick == nil").exists() == false)
    #expect(book.author?.nick == "Annie")
  }

  @Test func `a fetch counts members that another context has added`() async throws {
    let context = store.makeContext()
    let ann = try context.fetch(Author.self).where("name == 'Ann'").one()
    #expect(ann.books.count == 1)
    try await store.write { other in
      let theirs = try other.fetch(Author.self).where("name == 'Ann'").one()
      other.insert(Book.self) { ($0.title, $0.author) = ("Two", theirs) }
    }
    ann.age = 31
    let authors = context.fetch(Author.self)
    #expect(try authors.where("books.@count == 2").one() === ann)
    #expect(try authors.where("ANY books.title == 'Two'").one() === ann)
    // The cascade deletes all her books, whether or not they are in memory.
    context.delete(ann)
    #expect(try context.fetch(Book.self).count() == 0)
    try context.save()
    #expect(try store.makeContext().fetch(Book.self).count() == 0)
  }

  @Test func `a fetch excludes members that another context has deleted`() async throws {
    let context = store.makeContext()
    let book = try context.fetch(Book.self).one()
    #expect(book.author != nil)
    let genre = context.insert(Genre.self) { $0.name = "crime" }
    book.add(genre, to: \.genres)
    try context.save()
    try await store.write { other in other.delete(try other.fetch(Genre.self).one()) }
    book.year = 1
    #expect(try context.fetch(Book.self).where("genres.@count == 0").one() === book)
    #expect(try context.fetch(Book.self).where("ANY genres.name == 'crime'").exists() == false)
  }

  @Test func `pages of equal values neither overlap nor omit objects`() async throws {
    try await store.write { context in
      for number in 0..<200 {
        context.insert(Book.self) { ($0.title, $0.year) = ("\(number)", number % 3) }
      }
    }
    let context = store.makeContext()
    for round in 0..<2 {
      for order in [SortOrder.forward, .reverse] {
        for path in [\Book.year, \Book.title] as [PartialKeyPath<Book>] {
          let fetch = context.fetch(Book.self).sorted(by: path, order)
          let all = try fetch.all()
          var pages: [Book] = []
          while let page = Optional(try fetch.offset(pages.count).limit(7).all()), !page.isEmpty {
            pages += page
          }
          #expect(pages == all && Set(all).count == all.count, "round \(round)")
          guard path == \Book.year else { continue }
          let keys = all.map { [Int64($0.year), $0.id.isTemporary ? .max : $0.id.rowID] }
          let inOrder = keys.sorted { $0.lexicographicallyPrecedes($1) }
          #expect(keys == (order == .forward ? inOrder : inOrder.reversed()), "round \(round)")
        }
      }
      // Again, with a pending object that is merged in.
      if round == 0 { context.insert(Book.self) { ($0.title, $0.year) = ("1", 1) } }
    }
  }

  @Test func `a condition on a long list of members looks them up by their owner`() throws {
    let context = store.makeContext()
    let books = (0..<3000).map { number in context.insert(Book.self) { $0.title = "\(number)" } }
    try context.save()
    let plan = try context.fetch(Author.self).where("ANY books IN %@", books).sql.text
    #expect(plan.contains("+t1.\"id\" IN"), "\(plan.prefix(300))")
  }

  @Test func `a condition on the ids of members works in the file and in memory`() throws {
    let context = store.makeContext()
    let ann = try context.fetch(Author.self).where("name == 'Ann'").one()
    let id = try context.fetch(Book.self).one().id.rowID
    for _ in 0..<2 {
      let authors = context.fetch(Author.self)
      #expect(try authors.where("ANY books.id == %@", id).one() === ann)
      #expect(try authors.where("ANY books.id IN {%@, 99}", id).one() === ann)
      #expect(try authors.where("ANY books.id > %@", id).count() == 0)
      #expect(throws: StoreError.self) { try authors.where("ANY books.idd == 1").all() }
      ann.age += 1
    }
  }
}
