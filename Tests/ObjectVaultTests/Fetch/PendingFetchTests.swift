// Fetches in a context with pending changes find what a save would store. The results are compared with
// plain values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .slow)) struct PendingFetches {
  @Test(arguments: Workplace.allCases)
  func `random fetches find pending changes, like an evaluation of plain values`(_ place: Workplace)
    async throws
  {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 815)
    let temporary = try await TemporaryStore(library)
    try await temporary.store.work(in: place) { context in
      var random = SeededGenerator(seed: seed)
      let graph = PendingGraph(context, PredicateDifferential.fill(context, &random))
      for round in 0..<(isTorture ? 300 : 3) {
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
  }

  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    try await temporary.begin()
  }

  @Test func `in predicates, the id of a new object is above all others, and final inside a write`()
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

  @Test func `an object with pending links is found by a value that another context has saved`() async throws
  {
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

  @Test func `fetches reflect the new, changed and deleted objects of their context`() throws {
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
    // Nothing of this is in the file.
    #expect(try store.makeContext().fetch(Author.self).where("name == 'Bob'").count() == 1)
    #expect(try fetch.includingPending(false).all().map(\.name) == ["Ann"])
  }

  @Test func `fetches reflect pending changes through relationships`() throws {
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
    // The cascade also deletes her books.
    context.delete(ann)
    #expect(try books.count() == 0 && books.where("author == nil").count() == 0)
    #expect(try books.includingPending(false).count() == 1)
    context.rollback()
    #expect(try books.where("author.name == 'Ann'").count() == 1)
  }

  @Test func `predicates find objects that refer to a new object`() throws {
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
    #expect(try books.where("author == %@", cid).includingPending(false).all().isEmpty)
    try context.save()
    #expect(try books.where("author == %@", cid).one() === book)
  }

  @Test func `a fetch without pending changes of its entity uses one query`() throws {
    let context = store.makeContext()
    context.insert(Genre.self) { $0.name = "crime" }
    let before = context.statistics.queries
    #expect(try context.fetch(Author.self).where("age > 3").sorted(by: \.name).all().count == 2)
    #expect(context.statistics.queries == before + 1)
  }

  @Test func `fetches in a write find new objects by value before they are saved`() async throws {
    try await store.write { context in
      for number in 0..<10 {
        let name = "genre \(number)"
        #expect(try context.fetch(Genre.self).where("name == %@", name).first() == nil)
        let genre = context.insert(Genre.self) { $0.name = name }
        #expect(try context.fetch(Author.self).where("name == 'Ann'").count() == 1)
        #expect(genre.state == .inserted)
      }
      let known = try context.fetch(Genre.self).where("name == 'genre 4'").one()
      #expect(!known.id.isTemporary)
      #expect(try context.fetch(Genre.self).count() == 10)
    }
  }
}
