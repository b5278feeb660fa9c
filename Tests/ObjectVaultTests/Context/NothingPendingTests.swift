// Members that are read while something is pending that comes to nothing: afterwards they are those of the file.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct NothingPending {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  /// A book of three genres.
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

  @Test func `a member whose deletion is taken back is one again, though the set was read meanwhile`() throws
  {
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

  @Test func `so it is where the save was refused`() throws {
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
  func `a link that came and went hides none that somebody else makes`(_ isRead: Bool) async throws {
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
