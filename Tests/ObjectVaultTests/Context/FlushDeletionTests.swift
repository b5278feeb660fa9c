// Fetches inside a writing transaction in which objects are deleted: what can go goes at once, and the rest waits.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FlushDeletions {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

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

  @Test func `a row that was moved away does not go with its former owner`() async throws {
    try await temporary.begin()
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

  @Test func `a value of a row that is being deleted is free for a new one at once`() async throws {
    try await temporary.begin()
    try await store.write { context in
      context.delete(try context.fetch(Author.self).where("name == 'Ann'").one())
      let again = context.insert(Author.self) { $0.name = "Ann" }
      #expect(try context.fetch(Author.self).where("name == 'Ann'").one() === again)
    }
    #expect(try store.makeContext().fetch(Author.self).count() == 2)
  }

  @Test func `what stands in the way of a deletion can be fetched and moved away`() async throws {
    try await temporary.begin()
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

  enum Remedy: CaseIterable {
    case unset, newObject, afterAnotherChange, delete, throughMembers
  }

  @Test(arguments: Remedy.allCases)
  func `a denied deletion that was put right is carried out by the next fetch`(_ remedy: Remedy) async throws
  {
    try await temporary.begin()
    try await store.write { context in
      let (one, other) = (
        try context.fetch(Book.self).one(), context.insert(Book.self) { $0.title = "Other" }
      )
      let loan = context.insert(Loan.self) { $0.reader = "R" }
      if remedy != .newObject { loan.book = one }
      if remedy != .newObject { try context.save() }
      // Left out by each fetch, as it has no reader yet.
      let half = remedy == .newObject ? context.insert(Loan.self) : nil
      if let half { (loan.book, half.book) = (other, one) }
      context.delete(one)
      for _ in 0..<2 { #expect(try context.fetch(Genre.self).count() == 0 && one.isDeleted) }
      switch remedy {
      case .unset: loan.book = other
      case .newObject: half?.book = other
      case .afterAnotherChange:
        loan.reader = "S"
        _ = try context.fetch(Genre.self).count()
        #expect(one.isDeleted)
        loan.book = other
      case .delete: context.delete(loan)
      case .throughMembers: other.add(loan, to: \.loans)
      }
      #expect(try context.fetch(Book.self).all() == [other])
      #expect(try context.fetch(Author.self).where("books.@count == 0").count() == 2)
      if let half { half.reader = "late" }
    }
    let context = store.makeContext()
    #expect(try context.fetch(Book.self).all().map(\.title) == ["Other"])
    #expect(
      try context.fetch(Loan.self).where("book.title == 'Other'").count()
        == (remedy == .delete ? 0 : remedy == .newObject ? 2 : 1))
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
}
