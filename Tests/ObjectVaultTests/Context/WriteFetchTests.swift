// Fetches inside a write: they find what the next save will store, and write nothing.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension TemporaryStore {
  /// Inserts two authors, and a book of the first one.
  func begin() async throws {
    try await store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      context.insert(Author.self) { $0.name = "Bob" }
      context.insert(Book.self) {
        $0.title = "One"
        $0.author = ann
      }
    }
  }
}

@Suite struct WriteFetches {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  private func titles() throws -> [String] {
    try store.makeContext().fetch(Book.self).sorted(by: \.title).all().map(\.title)
  }

  @Test func `a fetch in a write writes nothing and leaves the objects as they are`() async throws {
    try await temporary.begin()
    try await store.write { context in
      let ann = try context.fetch(Author.self).where("name == 'Ann'").one()
      let book = context.insert(Book.self) { ($0.title, $0.author) = ("Two", ann) }
      ann.age = 44
      context.delete(try context.fetch(Author.self).where("name == 'Bob'").one())
      let before = context.pendingChanges
      #expect(try context.fetch(Book.self).where("author.age == 44").count() == 2)
      #expect(try context.fetch(Author.self).all() == [ann])
      #expect(book.isInserted && ann.hasChanges && context.pendingChanges == before)
      // Only rows of the file, without those that are deleted here.
      #expect(try context.fetch(Book.self).includingPending(false).all().map(\.title) == ["One"])
      #expect(try context.fetch(Author.self).where("age == 44").includingPending(false).count() == 0)
      #expect(try context.fetch(Author.self).includingPending(false).ids() == [ann.id])
      try context.save()
      #expect(!book.isInserted)
      #expect(try context.fetch(Book.self).includingPending(false).count() == 2)
    }
    #expect(try titles() == ["One", "Two"])
  }

  @Test func `a fetch in a write finds a new object by its final id and by references to it`() async throws {
    try await temporary.begin()
    try await store.write { context in
      let books = (0..<3).map { number in context.insert(Book.self) { $0.title = "new \(number)" } }
      let ids = try context.fetch(Book.self).where("title BEGINSWITH 'new'").sorted(by: \.title).ids()
      #expect(ids == books.map(\.id) && ids.allSatisfy { !$0.isTemporary })
      #expect(try context.fetch(Book.self).where("id == %@", ids[1].rowID).one() === books[1])
      #expect(try context.fetch(Book.self).where("id > %@", ids[0].rowID).count() == 2)
      #expect(try context.existing(ids[2]) === books[2])
      let author = context.insert(Author.self) { $0.name = "Cid" }
      books[0].author = author
      #expect(try context.fetch(Book.self).where("author == %@", author).one() === books[0])
      #expect(try context.fetch(Book.self).where("author == %@ AND title == 'new 0'", author).count() == 1)
      let id = author.id.rowID
      books[1].author = author
      #expect(try context.fetch(Book.self).where("author == %@", author).count() == 2)
      #expect(try context.fetch(Book.self).where("author.id == %@", id).count() == 2)
      #expect(try context.fetch(Book.self).sorted(by: \.author).all().suffix(2) == [books[0], books[1]])
      // The cascade deletes two books with their author.
      context.delete(author)
      #expect(try context.fetch(Book.self).where("author == nil").one() === books[2])
    }
    #expect(try titles() == ["One", "new 2"])
  }

  @Test func `a fetch in a write finds incomplete objects as they are`() async throws {
    try await store.write { context in
      let open = context.insert(Book.self)
      for number in 0..<300 {
        let reader = "reader \(number % 50)"
        let known = try context.fetch(Loan.self).where("reader == %@", reader).first()
        _ = known ?? context.insert(Loan.self) { ($0.reader, $0.book) = (reader, open) }
      }
      #expect(try context.fetch(Book.self).all() == [open] && open.isInserted && !open.id.isTemporary)
      #expect(try context.fetch(Loan.self).where("book == %@", open).count() == 50)
      #expect(open.loans.count == 50)
      open.title = "Late"
    }
    let context = store.makeContext()
    #expect(try context.fetch(Loan.self).where("book.title == 'Late'").count() == 50)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `an object that stays incomplete makes the write fail, whatever was fetched`() async throws {
    let work: @Sendable (ObjectContext) throws -> Void = { context in
      let open = context.insert(Book.self)
      context.insert(Loan.self) { ($0.reader, $0.book) = ("R", open) }
      let count = try context.fetch(Loan.self).count()
      #expect(count == 1)
    }
    await #expect(throws: StoreError.self) { try await store.write(work) }
    #expect(try store.makeContext().fetch(Loan.self).count() == 0)
  }

  @Test func `a fetch in a write finds unique values at the objects that have them in memory`() async throws {
    try await temporary.begin()
    try await store.write { context in
      let all = try context.fetch(Author.self).sorted(by: \.name).all()
      let named = { (name: String) in try context.fetch(Author.self).where("name == %@", name).all() }
      all[0].name = "Bob"
      #expect(try Set(named("Bob")) == Set(all) && named("Ann").isEmpty)
      all[1].name = "Ann"
      #expect(try named("Bob") == [all[0]] && named("Ann") == [all[1]])
      all[1].name = "Zoe"
      let new = context.insert(Author.self) { $0.name = "Ann" }
      #expect(try named("Ann") == [new])
      context.delete(all[0])
      let other = context.insert(Author.self) { $0.name = "Bob" }
      #expect(try named("Bob") == [other])
    }
    let names = try store.makeContext().fetch(Author.self).sorted(by: \.name).all().map(\.name)
    #expect(names == ["Ann", "Bob", "Zoe"])
  }

  @Test func `a fetch in a write excludes deleted objects and the objects of their cascades`() async throws {
    try await temporary.begin()
    try await store.write { context in
      let ann = try context.fetch(Author.self).where("name == 'Ann'").one()
      let club = context.insert(Club.self) { $0.name = "C" }
      ann.club = club
      try context.save()
      context.delete(ann)
      #expect(try context.fetch(Book.self).count() == 0)
      #expect(try context.fetch(Club.self).where("members.@count == 0").count() == 1)
      #expect(ann.isDeleted)
      // A book that is moved to another author stays.
      let bob = try context.fetch(Author.self).where("name == 'Bob'").one()
      try context.fetch(Book.self).includingPending(false).one().author = bob
      #expect(try context.fetch(Book.self).where("author == %@", bob).count() == 1)
      context.delete(club)
      #expect(try context.fetch(Author.self).where("club == nil").all() == [bob])
    }
    #expect(try titles() == ["One"])
    #expect(try await store.verify().isEmpty)
  }

  @Test func `objects that deny a deletion can be fetched and moved to another owner`() async throws {
    try await temporary.begin()
    try await store.write { context in
      let one = try context.fetch(Book.self).one()
      context.insert(Loan.self) { ($0.reader, $0.book) = ("R", one) }
      try context.save()
      context.delete(one)
      let other = context.insert(Book.self) { $0.title = "Two" }
      let loans = try context.fetch(Loan.self).all()
      #expect(loans.count == 1 && one.isDeleted && other.isInserted)
      #expect(try context.fetch(Book.self).all() == [other])
      #expect(throws: StoreError.self) { try context.save() }
      for loan in loans { loan.book = other }
      #expect(try context.fetch(Loan.self).where("book.title == 'Two'").count() == 1)
    }
    #expect(try titles() == ["Two"])
  }

  @Test func `a rollback in a write reverts unsaved changes, whatever was fetched`() async throws {
    try await store.write { context in
      let kept = context.insert(Author.self) { $0.name = "kept" }
      try context.save()
      let open = context.insert(Book.self) { $0.title = "x" }
      kept.age = 31
      #expect(try context.fetch(Book.self).count() == 1)
      #expect(try context.fetch(Author.self).where("age == 31").count() == 1)
      context.rollback()
      #expect(open.state == .invalid && kept.age == 30)
      #expect(try context.fetch(Book.self).count() == 0)
      #expect(try context.fetch(Author.self).where("age == 30").one() === kept)
      context.insert(Book.self) { $0.title = "y" }
      #expect(try context.fetch(Book.self).where("title == 'y'").count() == 1)
    }
    #expect(try titles() == ["y"])
  }
}
