// The uncommitted changes of a write: all since the last commit, including those that were saved.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct UncommittedWrites {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  /// Two authors, and a book of the first author with a genre.
  init() async throws {
    temporary = try await TemporaryStore(library)
    try await temporary.begin()
    try await store.write { context in
      let one = try context.fetch(Book.self).one()
      context.insert(Genre.self) { $0.name = "g" }.books = [one]
    }
  }

  /// The lines of the description, in no order.
  private static func lines(_ changes: ChangeSet) -> Set<String> {
    Set(changes.descriptionWithValues.split(separator: "\n").map(String.init))
  }

  enum Moment: CaseIterable { case pending, fetched, fetchedBetween, saved }

  @Test(arguments: Moment.allCases)
  func `the changes of a write do not depend on fetches and saves in between`(_ moment: Moment) async throws {
    var changes = store.changes().makeAsyncIterator()
    let (pending, values) = try await store.write { context in
      func look() throws {
        guard moment == .fetchedBetween else { return }
        _ = try context.fetch(Book.self).where("title == 'none'").count()
        _ = try context.fetch(Author.self).where("name == 'none'").count()
      }
      #expect(!context.hasChanges && context.pendingChanges.isEmpty)
      let ann = try context.fetch(Author.self).where("name == 'Ann'").one()
      let bob = try context.fetch(Author.self).where("name == 'Bob'").one()
      let (one, genre) = (try context.fetch(Book.self).one(), try context.fetch(Genre.self).one())
      ann.age = 50
      try look()
      ann.age = 51
      let two = context.insert(Book.self) { $0.title = "Two" }
      try look()
      two.author = bob
      two.genres = [genre]
      try look()
      genre.books.remove(one)
      let short = context.insert(Genre.self) { $0.name = "short" }
      try look()
      context.delete(short)
      try look()
      bob.nick = "B"
      try look()
      bob.nick = nil
      switch moment {
      case .pending: break
      case .fetched: _ = try context.fetch(Book.self).count()
      case .fetchedBetween: try look()
      case .saved: try context.save()
      }
      #expect(context.hasChanges && ann.hasChanges && two.hasChanges && !one.hasChanges)
      #expect(ann.changedValues == ["age": 51] && one.changedValues.isEmpty)
      return (context.pendingChanges, two.changedValues.filter { !$0.value.isNull })
    }
    guard case .committed(let told)? = await changes.next() else { return }
    #expect(Self.lines(pending) == Self.lines(told))
    #expect(values == told.inserted.first?.values)
  }

  @Test(arguments: [false, true])
  func `the changes of a write include cascaded deletions and links after a save`(_ saves: Bool)
    async throws
  {
    var changes = store.changes().makeAsyncIterator()
    let pending = try await store.write { context in
      context.delete(try context.fetch(Author.self).where("name == 'Ann'").one())
      if saves { try context.save() } else { _ = try context.fetch(Author.self).count() }
      return context.pendingChanges
    }
    // The save finds the rows that delete rules affect.
    #expect(pending.deleted.map(\.entity) == (saves ? ["Author", "Book"] : ["Author"]))
    guard case .committed(let told)? = await changes.next() else {
      Issue.record("no commit was delivered")
      return
    }
    #expect(told.deleted.map(\.entity) == ["Author", "Book"] && told.unlinked.count == 1)
    if saves { #expect(Self.lines(pending) == Self.lines(told)) }
  }

  @Test func `the changes of a write include cascaded deletions even without a listener`() async throws {
    let pending = try await store.write { context in
      context.delete(try context.fetch(Author.self).where("name == 'Ann'").one())
      try context.save()
      return context.pendingChanges
    }
    #expect(pending.deleted.map(\.entity) == ["Author", "Book"])
  }

  @Test func `a rollback in a write reverts only the changes since the last save`() async throws {
    try await store.write { context in
      let ann = try context.fetch(Author.self).where("name == 'Ann'").one()
      ann.age = 50
      _ = try context.fetch(Author.self).count()
      #expect(context.hasChanges && ann.hasChanges)
      context.rollback()
      #expect(!context.hasChanges && !ann.hasChanges && ann.changedValues.isEmpty)
      #expect(context.pendingChanges.isEmpty)
      ann.age = 60
      try context.save()
      ann.nick = "A"
      _ = try context.fetch(Author.self).count()
      #expect(ann.changedValues == ["age": 60, "nick": "A"])
      context.rollback()
      #expect(context.hasChanges && ann.changedValues == ["age": 60])
      #expect(Self.lines(context.pendingChanges) == ["updated Author 1: age 30 to 60"])
    }
  }

  @Test func `the changes of a write do not refer to objects whose deletion is pending`() async throws {
    try await store.write { context in
      let one = try context.fetch(Book.self).one()
      let loan = context.insert(Loan.self) { $0.reader = "R" }
      loan.book = one
      _ = try context.fetch(Loan.self).count()
      context.delete(one)
      _ = try context.fetch(Loan.self).count()
      let pending = context.pendingChanges
      #expect(one.isDeleted && pending.deleted.map(\.entity) == ["Book"])
      #expect(pending.inserted.map(\.entity) == ["Loan"] && pending.inserted.first?.values["book"] == nil)
      context.delete(loan)
    }
  }
}
