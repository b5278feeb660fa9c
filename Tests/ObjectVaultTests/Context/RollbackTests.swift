// Rollbacks, and insertions whose closure throws.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Rollbacks {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  @Test func `a rollback inside a write reverts all changes since the last save`() async throws {
    try await temporary.begin()
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

  // Rows are read a few hundred at a time.
  @Test func `a rollback reverts changes and deletions of the same objects, however many they are`() throws {
    let context = store.makeContext()
    for number in 0..<600 { context.insert(Genre.self) { $0.name = "\(number)" } }
    try context.save()
    let all = try context.fetch(Genre.self).all()
    for genre in all {
      genre.name += " changed"
      context.delete(genre)
    }
    context.rollback()
    #expect(all.allSatisfy { $0.state == .fault } && all.last?.name == "599" && !context.hasChanges)
  }

  @Test func `a rollback discards the errors of the changes that it reverts`() throws {
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

  enum Change: CaseIterable { case attribute, deletion, refresh }

  @Test(arguments: Change.allCases)
  func `after a rollback, an object whose row was deleted elsewhere is invalid`(_ change: Change) throws {
    let context = store.makeContext()
    let (one, two) = (
      context.insert(Book.self) { $0.title = "One" }, context.insert(Book.self) { $0.title = "Two" }
    )
    try context.save()
    let other = store.makeContext()
    other.delete(try other.fetch(Book.self).where("title == 'One'").one())
    try other.save()
    (one.title, two.title) = ("1", "2")
    switch change {
    case .attribute: #expect(throws: StoreError.self) { try context.save() }
    case .deletion: context.delete(one)
    case .refresh: context.refresh(one)
    }
    context.rollback()
    #expect(one.state == .invalid && one.title == "One" && !one.hasChanges)
    #expect(two.title == "Two" && !two.hasChanges && context.faultErrors.isEmpty)
    try context.save()
    #expect(throws: StoreError.objectGone(entity: "Book", rowID: 1)) { try one.load() }
  }

  @Test func `a rollback while reads fail leaves faults`() throws {
    let context = store.makeContext()
    let one = context.insert(Book.self) { $0.title = "One" }
    try context.save()
    one.title = "1"
    try store.whileReadsFail {
      context.rollback()
      #expect(one.state == .fault && context.faultErrors.isEmpty)
    }
    #expect(one.title == "One" && one.state == .loaded)
  }

  @Test func `an insertion whose closure throws after a fetch leaves no object, and the next one works`()
    async throws
  {
    struct Stop: Error {}
    try await temporary.begin()
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

  @Test func `ids of objects that were rolled back are not issued again`() async throws {
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

  @Test func `an insertion whose closure throws leaves no object and changes no other one`() throws {
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
}
