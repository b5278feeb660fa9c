// Fetches inside a writing transaction: they find what is complete, and leave what is not as it was.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Flushes {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  /// Two authors, and a book of the first.
  private func begin() async throws {
    try await store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      context.insert(Author.self) { $0.name = "Bob" }
      context.insert(Book.self) {
        $0.title = "One"
        $0.author = ann
      }
    }
  }

  @Test func `what refers to a half-filled object is found`() async throws {
    try await store.write { context in
      let open = context.insert(Book.self)
      for number in 0..<300 {
        let reader = "reader \(number % 50)"
        let known = try context.fetch(Loan.self).where("reader == %@", reader).first()
        _ =
          known
          ?? context.insert(Loan.self) {
            $0.reader = reader
            $0.book = open
          }
      }
      #expect(open.state == .inserted && !open.id.isTemporary)
      #expect(try context.fetch(Loan.self).count() == 50 && open.loans.count == 50)
      open.title = "Late"
    }
    let context = store.makeContext()
    #expect(try context.fetch(Loan.self).where("book.title == 'Late'").count() == 50)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a half-filled object that is deleted leaves no link and no reference behind`() async throws {
    try await store.write { context in
      let one = context.insert(Book.self) { $0.title = "One" }
      let (genre, author) = (context.insert(Genre.self), context.insert(Author.self))
      one.genres = [genre]
      let two = context.insert(Book.self) {
        $0.title = "Two"
        $0.author = author
      }
      let before = try context.fetch(Book.self).count()
      #expect(before == 2 && two.state == .loaded)
      context.delete(genre)
      context.delete(author)
      let left = try context.fetch(Book.self).all()
      #expect(left == [one])
      #expect(one.genres.isEmpty && two.state == .invalid && genre.state == .invalid)
    }
    let context = store.makeContext()
    #expect(try context.fetch(Book.self).one().genres.isEmpty)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `an object that is half filled, refers to others and is never finished fails the write`()
    async throws
  {
    await #expect(throws: StoreError.self) {
      try await store.write { context in
        let open = context.insert(Book.self)
        context.insert(Loan.self) {
          $0.reader = "R"
          $0.book = open
        }
        _ = try context.fetch(Loan.self).all()
      }
    }
    #expect(try store.makeContext().fetch(Loan.self).count() == 0)
  }

  @Test func `a row that was moved away does not go with its former owner`() async throws {
    try await begin()
    try await store.write { context in
      let one = try context.fetch(Book.self).one()
      let (ann, bob) = (
        try context.fetch(Author.self).where("name == 'Ann'").one(),
        try context.fetch(Author.self).where("name == 'Bob'").one()
      )
      one.rating = .nan
      one.author = bob
      context.delete(ann)
      #expect(try context.fetch(Author.self).count() == 1)
      #expect(one.state == .loaded && one.hasChanges && one.author === bob)
      one.rating = 4
    }
    let context = store.makeContext()
    let one = try context.fetch(Book.self).one()
    #expect(one.author?.name == "Bob" && one.rating == 4)
  }

  @Test func `unique values may be half-way between their rows`() async throws {
    try await begin()
    try await store.write { context in
      let all = try context.fetch(Author.self).sorted(by: \.name).all()
      all[0].name = "Bob"
      all[0].nick = "B."
      #expect(try context.fetch(Author.self).where("name == 'Bob'").count() == 1)
      #expect(try context.fetch(Author.self).where("nick == 'B.'").one() === all[0])
      all[1].name = "Ann"
      let (first, second) = (
        context.insert(Author.self) { $0.name = "Cid" }, context.insert(Author.self) { $0.name = "Cid" }
      )
      #expect(try context.fetch(Author.self).where("name == 'Cid'").count() == 1)
      (first.name, second.name) = ("Dan", "Eve")
    }
    let names = try store.makeContext().fetch(Author.self).sorted(by: \.name).all().map(\.name)
    #expect(names == ["Ann", "Bob", "Dan", "Eve"])
    #expect(try store.makeContext().fetch(Author.self).where("name == 'Bob'").one().nick == "B.")
  }

  @Test func `a value of a row that is being deleted is free for a new one at once`() async throws {
    try await begin()
    try await store.write { context in
      context.delete(try context.fetch(Author.self).where("name == 'Ann'").one())
      let again = context.insert(Author.self) { $0.name = "Ann" }
      #expect(try context.fetch(Author.self).where("name == 'Ann'").one() === again)
    }
    #expect(try store.makeContext().fetch(Author.self).count() == 2)
  }

  @Test func `what stands in the way of a deletion can be fetched and moved away`() async throws {
    try await begin()
    try await store.write { context in
      let one = try context.fetch(Book.self).one()
      context.insert(Loan.self) {
        $0.reader = "R"
        $0.book = one
      }
      try context.save()
      context.delete(one)
      let other = context.insert(Book.self) { $0.title = "Two" }
      let loans = try context.fetch(Loan.self).all()
      #expect(loans.count == 1 && one.isDeleted && other.state == .loaded)
      #expect(try context.fetch(Book.self).all() == [other])
      for loan in loans { loan.book = other }
    }
    let context = store.makeContext()
    let other = try context.fetch(Book.self).one()
    #expect(other.title == "Two" && other.loans.count == 1)
  }

  @Test func `a rollback takes back what fetches have written`() async throws {
    try await begin()
    try await store.write { context in
      let one = try context.fetch(Book.self).one()
      one.title = "Changed"
      let (open, new) = (context.insert(Book.self), context.insert(Book.self) { $0.title = "New" })
      let loan = context.insert(Loan.self) {
        $0.reader = "R"
        $0.book = open
      }
      one.rating = .nan
      #expect(try context.fetch(Book.self).where("title == 'Changed'").count() == 1)
      context.rollback()
      #expect([open.state, new.state, loan.state] == [.invalid, .invalid, .invalid])
      #expect(one.title == "One" && one.rating == nil && !context.hasChanges)
      context.insert(Genre.self) { $0.name = "kept" }
      #expect(try context.fetch(Genre.self).count() == 1)
    }
    let context = store.makeContext()
    #expect(try context.fetch(Book.self).all().map(\.title) == ["One"])
    #expect(try context.fetch(Genre.self).count() == 1)
    #expect(try context.fetch(Loan.self).count() == 0)
  }

  @Test func `a rollback forgets the errors of what it takes back`() throws {
    let context = store.makeContext()
    let one = context.insert(Book.self) { $0.title = "One" }
    try context.save()
    let stranger = store.makeContext().insert(Author.self) { $0.name = "X" }
    one.author = stranger
    #expect(!context.faultErrors.isEmpty)
    context.rollback()
    one.title = "Two"
    try context.save()
    #expect(one.title == "Two" && one.author == nil)
  }

  @Test func `what is written to an object that an earlier save deleted is told by the next save`() throws {
    let context = store.makeContext()
    let (ann, one) = (
      context.insert(Author.self) { $0.name = "Ann" }, context.insert(Book.self) { $0.title = "One" }
    )
    try context.save()
    context.delete(one)
    try context.save()
    one.title = "Two"
    #expect { try context.save() } throws: { error in
      if case StoreError.objectGone("Book", _) = error { true } else { false }
    }
    one.author = ann
    #expect(throws: StoreError.self) { try context.save() }
    try context.save()
  }

  @Test func `an object whose making fails after a fetch is not made either, and the next one is`()
    async throws
  {
    struct Stop: Error {}
    try await begin()
    try await store.write { context in
      let one = try context.fetch(Book.self).one()
      _ = try? context.insert(Author.self) {
        $0.name = "Refused"
        $0.books = [one]
        _ = try context.fetch(Genre.self).count()
        throw Stop()
      }
      _ = try? context.insert(Genre.self) {
        $0.books = [one]
        _ = try context.fetch(Genre.self).count()
        throw Stop()
      }
      context.insert(Author.self) { $0.name = "Next" }
      #expect(context.hasChanges)
    }
    let context = store.makeContext()
    let names = try context.fetch(Author.self).sorted(by: \.name).all().map(\.name)
    #expect(names == ["Ann", "Bob", "Next"])
    #expect(try context.fetch(Book.self).one().genres.isEmpty)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `swapped and handed on, unique values are found where they are`() async throws {
    try await begin()
    try await store.write { context in
      let all = try context.fetch(Author.self).sorted(by: \.name).all()
      (all[0].name, all[1].name) = ("Bob", "Ann")
      #expect(try context.fetch(Author.self).where("name == 'Ann'").one() === all[1])
      all[1].name = "Zoe"
      let new = context.insert(Author.self) { $0.name = "Ann" }
      #expect(try context.fetch(Author.self).where("name == 'Ann'").one() === new)
    }
    #expect(try store.makeContext().fetch(Author.self).count() == 3)
  }

  @Test func `half-filled objects that are linked to each other may be deleted`() async throws {
    try await store.write { context in
      let one = context.insert(Book.self) { $0.title = "One" }
      let author = context.insert(Author.self)
      one.author = author
      _ = try context.fetch(Book.self).count()
      let (genre, two) = (context.insert(Genre.self), context.insert(Book.self))
      _ = try context.fetch(Book.self).count()
      genre.books.insert(two)
      context.delete(genre)
      _ = try context.fetch(Book.self).count()
      author.name = "Ann"
      two.title = "Two"
    }
    #expect(try store.makeContext().fetch(Book.self).count() == 2)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a half-filled object whose deletion is denied as yet may still be referred to`() async throws {
    try await store.write { context in
      let (open, other) = (context.insert(Book.self), context.insert(Book.self) { $0.title = "Other" })
      _ = try context.fetch(Book.self).count()
      let loan = context.insert(Loan.self) {
        $0.reader = "R"
        $0.book = open
      }
      _ = try context.fetch(Loan.self).count()
      context.delete(open)
      context.insert(Loan.self) { $0.reader = "S" }.book = other
      _ = try context.fetch(Loan.self).count()
      _ = try context.fetch(Loan.self).count()
      loan.book = other
    }
    let context = store.makeContext()
    #expect(try context.fetch(Book.self).one().loans.count == 2)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a deletion after one that was denied is carried out by the next fetch`() async throws {
    try await store.write { context in
      let (one, ann) = (
        context.insert(Book.self) { $0.title = "One" }, context.insert(Author.self) { $0.name = "Ann" }
      )
      let two = context.insert(Book.self) {
        $0.title = "Two"
        $0.author = ann
      }
      let loan = context.insert(Loan.self) {
        $0.reader = "R"
        $0.book = one
      }
      try context.save()
      context.delete(one)
      _ = try context.fetch(Book.self).count()
      loan.book = two
      try context.save()
      loan.book = nil
      context.delete(loan)
      try context.save()
      context.delete(ann)
      let left = try context.fetch(Book.self).count()
      #expect(left == 0 && two.state == .invalid)
    }
  }

  @Test func `ids that a rollback takes back are not given out again`() async throws {
    try await store.write { context in
      let first = context.insert(Genre.self) { $0.name = "a" }
      _ = try context.fetch(Genre.self).count()
      let id = first.id
      context.rollback()
      let second = context.insert(Genre.self) { $0.name = "b" }
      try context.save()
      #expect(second.id.rowID > id.rowID)
    }
  }

  @Test func `an object whose making fails is not made, and takes nobody along`() throws {
    struct Stop: Error {}
    let context = store.makeContext()
    let one = context.insert(Book.self) { $0.title = "One" }
    try context.save()
    #expect(throws: Stop.self) {
      try context.insert(Author.self) {
        $0.books = [one]
        throw Stop()
      }
    }
    #expect(one.state == .loaded && one.author == nil)
    try context.save()
    #expect(try context.fetch(Author.self).count() == 0)
    #expect(try context.fetch(Book.self).count() == 1)
  }

  @Test(arguments: 1...6)
  func `fetches in between change nothing of what a write does`(_ seed: UInt64) async throws {
    let plain = try await TemporaryStore(library)
    for (target, fetches) in [(store, true), (plain.store, false)] {
      try await target.write { context in
        var script = Script(seed)
        for step in 0..<250 {
          try script.run(step, context)
          if fetches { try script.look(context) }
        }
        try script.finish(context)
      }
    }
    #expect(try Script.contents(store) == Script.contents(plain.store))
    #expect(try await store.verify().isEmpty)
  }
}

/// Random changes, the same for each seed, with broken rules that are put right later.
private struct Script {
  private var state: UInt64
  /// No part of `state`: the script without looks draws the same numbers.
  private var looks = 0
  private var books: [Book] = []
  private var authors: [Author] = []
  private var genres: [Genre] = []
  private var loans: [Loan] = []

  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  private mutating func next(_ count: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(max(1, count)))
  }

  mutating func run(_ step: Int, _ context: ObjectContext) throws {
    let (book, author, genre) = (next(books.count), next(authors.count), next(genres.count))
    switch next(14) {
    case 0, 1: authors.append(context.insert(Author.self) { if step % 3 > 0 { $0.name = "author \(step)" } })
    case 2, 3: books.append(context.insert(Book.self) { if step % 3 > 0 { $0.title = "book \(step)" } })
    case 4: genres.append(context.insert(Genre.self) { if step % 3 > 0 { $0.name = "genre \(step)" } })
    case 5 where !books.isEmpty:
      let target = books[book]
      loans.append(
        context.insert(Loan.self) {
          $0.reader = "reader \(step)"
          $0.book = target
        })
    case 6 where !books.isEmpty && !authors.isEmpty: books[book].author = authors[author]
    case 7 where !books.isEmpty: books[book].author = nil
    case 8 where !books.isEmpty && !genres.isEmpty: books[book].add(genres[genre], to: \.genres)
    case 9 where !books.isEmpty && !genres.isEmpty: genres[genre].remove(books[book], from: \.books)
    case 10 where !books.isEmpty: books[book].rating = step % 2 == 0 ? .nan : Double(step)
    case 11 where authors.count > 1:
      let other = next(authors.count)
      (authors[author].name, authors[other].name) = (authors[other].name, authors[author].name)
    case 12 where !loans.isEmpty: context.delete(loans.remove(at: next(loans.count)))
    case 13 where !genres.isEmpty: context.delete(genres.remove(at: genre))
    default: break
    }
  }

  mutating func look(_ context: ObjectContext) throws {
    looks += 1
    switch looks % 3 {
    case 0: _ = try context.fetch(Book.self).where("author.name != nil").all()
    case 1: _ = try context.fetch(Author.self).count()
    default: _ = try context.fetch(Loan.self).where("book.title BEGINSWITH 'book'").first()
    }
  }

  /// Puts right what is broken.
  mutating func finish(_ context: ObjectContext) throws {
    for (number, author) in authors.enumerated() { author.name = "author \(number)" }
    for (number, genre) in genres.enumerated() { genre.name = "genre \(number)" }
    for (number, book) in books.enumerated() {
      book.title = "book \(number)"
      if book.rating?.isNaN ?? true { book.rating = 1 }
    }
  }

  static func contents(_ store: Store) throws -> [String] {
    let context = store.makeContext()
    return try context.fetch(Author.self).all().map { "\($0.name) \($0.age)" }.sorted()
      + context.fetch(Book.self).all().map {
        "\($0.title) \($0.rating ?? -1) \($0.author?.name ?? "-") \($0.genres.map(\.name).sorted()) "
          + "\($0.loans.map(\.reader).sorted())"
      }.sorted()
      + context.fetch(Genre.self).all().map(\.name).sorted()
  }
}
