// Scratch contexts: what they see, what is taken over, and what is refused.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ScratchContexts {
  private static func make() async throws -> (TemporaryStore, ObjectContext) {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    for name in ["Ann", "Bob"] {
      context.insert(Author.self) { author in
        author.name = name
        author.books = [context.insert(Book.self) { $0.title = "book of \(name)" }]
      }
    }
    context.insert(Genre.self) { $0.name = "crime" }
    try context.save()
    return (temporary, context)
  }

  private static func author(_ name: String, _ context: ObjectContext) throws -> Author {
    try #require(try context.fetch(Author.self).where("name == %@", name).first())
  }

  @Test func `changes are invisible until they are taken over, and one group of the undo manager then`()
    async throws
  {
    let (temporary, context) = try await Self.make()
    context.undoManager = ContextUndoManager(levels: 10)
    let ann = try Self.author("Ann", context)
    let scratch = try context.makeScratch()
    let copy = try Self.author("Ann", scratch)
    copy.age = 44
    copy.books.first?.title = "new title"
    copy.passport = scratch.insert(Passport.self) { $0.number = "P1" }
    copy.books.insert(scratch.insert(Book.self) { $0.title = "second" })
    copy.books.first?.genres = Set(try scratch.fetch(Genre.self).all())
    scratch.delete(try Self.author("Bob", scratch))
    #expect(ann.age == 30 && !context.hasChanges)
    try context.takeChanges(of: scratch)
    #expect(ann.age == 44 && ann.passport?.number == "P1" && ann.books.count == 2)
    #expect(copy.state == .invalid && !scratch.hasChanges)
    #expect(try context.fetch(Author.self).count() == 1)
    try context.save()
    #expect(
      try await temporary.store.read { try $0.fetch(Book.self).where("genres.@count == 1").count() } == 1)
    #expect(try await temporary.store.read { try $0.fetch(Passport.self).first()?.owner?.name } == "Ann")
    #expect(try await temporary.store.verify() == [])
    try context.undo()
    try context.save()
    #expect(try context.fetch(Author.self).sorted(by: \.name).values(\.name) == ["Ann", "Bob"])
    #expect(ann.age == 30 && ann.passport == nil && ann.books.count == 1)
  }

  @Test func `a scratch context that is released changes nothing`() async throws {
    let (temporary, context) = try await Self.make()
    do {
      let scratch = try context.makeScratch()
      try Self.author("Ann", scratch).age = 99
      scratch.insert(Author.self) { $0.name = "Cora" }
    }
    #expect(!context.hasChanges)
    #expect(try context.fetch(Author.self).values(\.age) == [30, 30])
    withExtendedLifetime(temporary) {}
  }

  @Test func `it sees the pending changes, and new objects stay the same objects`() async throws {
    let (temporary, context) = try await Self.make()
    let ann = try Self.author("Ann", context)
    ann.age = 31
    context.delete(try Self.author("Bob", context))
    let cora = context.insert(Author.self) { $0.name = "Cora" }
    cora.books = [context.insert(Book.self) { $0.title = "first" }]
    let dora = context.insert(Author.self) { $0.name = "Dora" }
    let scratch = try context.makeScratch()
    #expect(try scratch.fetch(Author.self).sorted(by: \.name).values(\.name) == ["Ann", "Cora", "Dora"])
    #expect(try Self.author("Ann", scratch).age == 31)
    let copy = try #require(scratch.counterpart(of: cora))
    #expect(copy.books.map(\.title) == ["first"])
    copy.age = 50
    copy.books.first?.title = "changed"
    scratch.delete(try #require(scratch.counterpart(of: dora)))
    #expect(scratch.counterpart(of: dora) == nil && scratch.counterpart(of: ann) == nil)
    try context.takeChanges(of: scratch)
    #expect(cora.age == 50 && cora.books.map(\.title) == ["changed"] && cora.state == .inserted)
    #expect(dora.state == .invalid)
    try context.save()
    let saved = try await temporary.store.read { context in
      try context.fetch(Author.self).sorted(by: \.name).all().map { "\($0.name) \($0.age) \($0.books.count)" }
    }
    #expect(saved == ["Ann 31 1", "Cora 50 1"])
  }

  @Test func `it does not write, and only its own context takes it over`() async throws {
    let (temporary, context) = try await Self.make()
    let scratch = try context.makeScratch()
    try Self.author("Ann", scratch).age = 1
    #expect(throws: StoreError.scratchNotSaved) { try scratch.save() }
    #expect(throws: StoreError.scratchNotSaved) { try scratch.fetch(Author.self).update(.set(\.age, to: 2)) }
    #expect(throws: StoreError.scratchNotSaved) { _ = try scratch.execute("DELETE FROM Author") }
    #expect(throws: StoreError.scratchOfAnother) {
      try temporary.store.makeContext().takeChanges(of: scratch)
    }
    #expect(throws: StoreError.scratchOfAnother) {
      try context.takeChanges(of: temporary.store.makeContext())
    }
    await #expect(throws: StoreError.scratchNotSaved) {
      try await temporary.store.write { _ = try $0.makeScratch() }
    }
    #expect(try context.fetch(Author.self).values(\.age) == [30, 30])
  }

  @Test func `a newer row of another writer is a conflict, which the scratch context settles`() async throws {
    let (temporary, context) = try await Self.make()
    let scratch = try context.makeScratch()
    let copy = try Self.author("Ann", scratch)
    copy.age = 44
    try await temporary.store.write { context in
      try context.fetch(Author.self).where("name == 'Ann'").first()?.nick = "A"
    }
    #expect {
      try context.takeChanges(of: scratch)
    } throws: { error in
      if case StoreError.conflicts(let found) = error { found.map(\.properties) == [["age"]] } else { false }
    }
    #expect(!context.hasChanges && copy.age == 44)
    for conflict in try scratch.conflicts() { try scratch.resolve(conflict, keeping: .mine) }
    try context.takeChanges(of: scratch)
    try context.save()
    let ann = try await temporary.store.read { context in
      try context.fetch(Author.self).where("name == 'Ann'").first().map { "\($0.age) \($0.nick ?? "")" }
    }
    #expect(ann == "44 A")
    // An object that was deleted in the store cannot be changed.
    let second = try context.makeScratch()
    try Self.author("Bob", second).age = 5
    try await temporary.store.write { try $0.fetch(Author.self).where("name == 'Bob'").delete() }
    #expect {
      try context.takeChanges(of: second)
    } throws: { error in
      if case StoreError.objectGone = error { true } else { false }
    }
  }

  @Test func `members keep their order`() async throws {
    let temporary = try await TemporaryStore(feed)
    let context = temporary.store.makeContext()
    let account = context.insert(FeedAccount.self) { $0.remoteID = 1 }
    account.entries = ["a", "b", "c"].map { text in context.insert(FeedPost.self) { $0.text = text } }
    try context.save()
    let scratch = try context.makeScratch()
    let copy = try scratch.object(with: account.id)
    copy.entries.swapAt(0, 2)
    copy.entries.insert(scratch.insert(FeedPost.self) { $0.text = "x" }, at: 1)
    copy.entries.removeLast()
    try context.takeChanges(of: scratch)
    try context.save()
    let texts = try await temporary.store.read { context in
      try context.fetch(FeedAccount.self).first()?.entries.map(\.text)
    }
    #expect(texts == ["c", "x", "b"])
  }

  @Test(arguments: 0..<6)
  func `random changes through scratch contexts leave what direct changes leave`(_ run: Int) async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var stores: [TemporaryStore] = []
    var contents: [[String]] = []
    var logs: [[String]] = []
    for usesScratch in [false, true] {
      var random = SeededGenerator(seed: seed)
      let temporary = try await TemporaryStore(library)
      stores.append(temporary)
      let context = temporary.store.makeContext()
      var log: [String] = []
      defer { logs.append(log) }
      for round in 0..<25 {
        let scratch = usesScratch ? try context.makeScratch() : context
        for step in 0..<6 { try Self.change(scratch, "\(round).\(step)", &random) }
        if usesScratch { try context.takeChanges(of: scratch) }
        log.append("\(round): " + (try Self.dump(context)))
        if round % 3 == 2 { try context.save() }
      }
      try context.save()
      #expect(try await temporary.store.verify() == [])
      contents.append(
        try await temporary.store.read { context in
          let authors = try context.fetch(Author.self).sorted(by: \.name).all().map { author in
            "\(author.name) \(author.age) \(author.books.map(\.title).sorted()) \(author.passport?.number ?? "-")"
          }
          let books = try context.fetch(Book.self).sorted(by: \.title).all().map { book in
            "\(book.title) \(book.author?.name ?? "-") \(book.genres.map(\.name).sorted())"
          }
          return authors + books
        })
    }
    // The first round after which they differ.
    let differing = zip(logs[0], logs[1]).first { $0 != $1 }
    #expect(differing == nil && contents[0] == contents[1], "run \(run), seed \(seed): \(differing as Any)")
  }

  private static func dump(_ context: ObjectContext) throws -> String {
    let authors = try context.fetch(Author.self).sorted(by: \.name).all().map { author in
      "\(author.name) \(author.age) \(author.books.map(\.title).sorted()) \(author.passport?.number ?? "-")"
    }
    let books = try context.fetch(Book.self).sorted(by: \.title).all().map { book in
      "\(book.title) \(book.author?.name ?? "-") \(book.genres.map(\.name).sorted())"
    }
    return (authors + books).joined(separator: "|")
  }

  private static func change(
    _ context: ObjectContext, _ name: String, _ random: inout SeededGenerator
  ) throws {
    let authors = try context.fetch(Author.self).sorted(by: \.name).all()
    let books = try context.fetch(Book.self).sorted(by: \.title).all()
    let genres = try context.fetch(Genre.self).sorted(by: \.name).all()
    let op = Int.random(in: 0..<8, using: &random)
    switch op {
    case 0:
      context.insert(Author.self) {
        ($0.name, $0.age) = ("author \(name)", Int.random(in: 0...99, using: &random))
      }
    case 1:
      let author = authors.randomElement(using: &random)
      context.insert(Book.self) { ($0.title, $0.author) = ("book \(name)", author) }
    case 2: context.insert(Genre.self) { $0.name = "genre \(name)" }
    case 3: authors.randomElement(using: &random)?.age = Int.random(in: 0...99, using: &random)
    case 4:
      let some = genres.filter { _ in Bool.random(using: &random) }
      books.randomElement(using: &random)?.genres = Set(some)
    case 5: books.randomElement(using: &random)?.author = authors.randomElement(using: &random)
    case 6:
      if Int.random(in: 0..<3, using: &random) == 0, let gone = authors.randomElement(using: &random) {
        context.delete(gone)
      } else if let gone = books.randomElement(using: &random) {
        context.delete(gone)
      }
    default:
      authors.randomElement(using: &random)?.passport = context.insert(Passport.self) { $0.number = name }
    }
  }
}
