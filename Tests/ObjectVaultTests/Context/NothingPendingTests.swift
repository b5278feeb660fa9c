// Member sets that are read while changes are pending which are discarded later. Afterwards the sets
// equal the file.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct NothingPending {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  /// A book with three genres.
  init() async throws {
    temporary = try await TemporaryStore(library)
    let context = store.makeContext()
    context.insert(Book.self) { book in
      book.title = "One"
      for name in ["a", "b", "c"] { book.genres.insert(context.insert(Genre.self) { $0.name = name }) }
    }
    try context.save()
  }

  private func names(_ book: Book) -> [String] { book.genres.map(\.name).sorted() }

  @Test func `a rollback of a deletion restores the member in a set that was read meanwhile`() throws {
    let context = store.makeContext()
    let book = try context.fetch(Book.self).one()
    let genre = try context.fetch(Genre.self).where("name == 'b'").one()
    context.delete(genre)
    #expect(names(book) == ["a", "c"])
    context.rollback()
    #expect(names(book) == ["a", "b", "c"])
    context.delete(genre)
    #expect(names(book) == ["a", "c"])
    try context.save()
    #expect(names(book) == ["a", "c"] && context.faultErrors.isEmpty)
    let other = store.makeContext()
    #expect(try names(other.fetch(Book.self).one()) == ["a", "c"])
  }

  @Test func `a rollback after a refused save also restores the deleted member`() throws {
    let context = store.makeContext()
    let book = try context.fetch(Book.self).one()
    context.delete(try context.fetch(Genre.self).where("name == 'b'").one())
    #expect(names(book) == ["a", "c"])
    book.title = ""
    #expect(throws: StoreError.self) { try context.save() }
    #expect(names(book) == ["a", "c"])
    context.rollback()
    #expect(names(book) == ["a", "b", "c"])
  }

  @Test(arguments: [false, true])
  func `a link that was added and removed does not hide the same link made by another context`(_ isRead: Bool)
    async throws
  {
    let context = store.makeContext()
    let other = context.insert(Genre.self) { $0.name = "d" }
    try context.save()
    let book = try context.fetch(Book.self).one()
    if isRead { #expect(book.genres.count == 3 && other.books.isEmpty) }
    book.add(other, to: \.genres)
    book.remove(other, from: \.genres)
    try context.save()
    #expect(!context.hasChanges)
    try await store.write { context in
      let genre = try context.fetch(Genre.self).where("name == 'd'").one()
      try context.fetch(Book.self).one().add(genre, to: \.genres)
    }
    context.refresh(book)
    context.refresh(other)
    #expect(names(book) == ["a", "b", "c", "d"])
    #expect(other.books.map(\.title) == ["One"])
  }
}
