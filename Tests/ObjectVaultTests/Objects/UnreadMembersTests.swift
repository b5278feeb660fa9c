// Members that a to-many gained through the inverse before its members were read, and many links in one
// save.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct UnreadMembers {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  private func books(_ titles: [String], by author: Author) -> [Book] {
    titles.map { title in
      context.insert(Book.self) {
        $0.title = title
        $0.author = author
      }
    }
  }

  private func author(_ name: String = "Ann") -> Author { context.insert(Author.self) { $0.name = name } }

  @Test func `members gained through the inverse are present before the save and after it`() throws {
    let (read, unread) = (author("read"), author("unread"))
    let all = books(["a", "b"], by: read) + books(["c", "d"], by: unread)
    #expect(read.books == Set(all[..<2]))
    try context.save()
    let before = context.statistics.queries
    #expect(read.books == Set(all[..<2]) && context.statistics.queries == before)
    // The members of the other owner were not read: they are fetched, and are the same objects.
    #expect(unread.books == Set(all[2...]) && context.statistics.queries == before + 1)
    #expect(!context.hasChanges)
  }

  @Test func `an owner whose members were not read does not retain them after the save`() throws {
    let author = author()
    weak var book: Book?
    do {
      let made = books(["a"], by: author)
      book = made.first
      try context.save()
    }
    #expect(book == nil)
    #expect(author.books.map(\.title) == ["a"])
  }

  @Test func `members that are added and removed between reads equal those of a set`() throws {
    let (author, other) = (author(), author("Bob"))
    var expected: Set<Book> = []
    let all = books((0..<40).map { "\($0)" }, by: author)
    expected.formUnion(all)
    for (number, book) in all.enumerated() {
      switch number % 4 {
      case 0: book.author = other
      case 1:
        book.author = nil
        book.author = author
      case 2: author.books.remove(book)
      default: if number % 3 == 0 { #expect(author.books.contains(book)) }
      }
      if number % 4 == 0 || number % 4 == 2 { expected.remove(book) }
    }
    #expect(author.books == expected && other.books.count == 10)
    try context.save()
    #expect(author.books == expected)
    let again = store.makeContext()
    #expect(try again.existing(author.id)?.books.count == expected.count)
  }

  @Test func `deleting an owner also deletes members that it gained unread`() throws {
    let author = author()
    try context.save()
    let more = books(["a", "b"], by: author)
    try context.save()
    _ = books(["c"], by: author)
    context.delete(author)
    try context.save()
    #expect(more.allSatisfy { $0.state == .invalid })
    #expect(try context.fetch(Book.self).count() == 0)
  }

  @Test func `an object that was set and rolled back is no member`() throws {
    let author = author()
    try context.save()
    let book = books(["a"], by: author)[0]
    context.rollback()
    #expect(author.books.isEmpty && book.state == .invalid)
    _ = books(["b"], by: author)
    #expect(author.books.map(\.title) == ["b"])
  }

  @Test func `a reference to a new object that was deleted is nil, also after a fetch in a write`()
    async throws
  {
    try await store.write { context in
      let early = context.insert(Author.self) { $0.name = "early" }
      early.club = context.insert(Club.self) { $0.name = "gone" }
      if let club = early.club { context.delete(club) }
      // The loan is incomplete during the fetch: it has no book.
      let loan = context.insert(Loan.self) { $0.reader = "R" }
      _ = try context.fetch(Genre.self).count()
      let late = context.insert(Author.self) { $0.name = "late" }
      late.club = context.insert(Club.self) { $0.name = "gone too" }
      if let club = late.club { context.delete(club) }
      loan.book = context.insert(Book.self) { $0.title = "a" }
    }
    let again = store.makeContext()
    let authors = try again.fetch(Author.self).sorted(by: \.name).all()
    #expect(authors.map(\.name) == ["early", "late"] && authors.allSatisfy { $0.club == nil })
    #expect(try again.fetch(Club.self).count() == 0)
  }

  // MARK: Links

  private func linked() throws -> Set<[Int64]> {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    return Set(
      try connection.query("SELECT Book_id, Genre_id FROM Book_genres") { [$0.int64(0), $0.int64(1)] })
  }

  @Test(arguments: [false, true])
  func `many links are written in one save, even if some exist already`(_ isHeard: Bool) async throws {
    let genres = (0..<20).map { number in context.insert(Genre.self) { $0.name = "\(number)" } }
    let author = author()
    let books = books((0..<15).map { "\($0)" }, by: author)
    try context.save()
    let connection = try Connection.open(store.url.path, key: testKey)
    // Another program has made one of the links already.
    try connection.execute(
      sql: "INSERT INTO Book_genres (Book_id, Genre_id) VALUES (?, ?)",
      [.integer(books[0].id.rowID), .integer(genres[0].id.rowID)])
    connection.close()
    let changes = isHeard ? store.changes() : nil
    for (number, book) in books.enumerated() { book.genres = Set(genres[number...(number + 4)]) }
    try context.save()
    var expected = Set(
      books.enumerated().flatMap { number, book in
        genres[number...(number + 4)].map { [book.id.rowID, $0.id.rowID] }
      })
    #expect(try linked() == expected)
    // Some links are removed, and more are added.
    for book in books { book.genres.remove(genres[4]) }
    books[0].genres.formUnion(genres[6...])
    try context.save()
    expected = expected.filter { $0[1] != genres[4].id.rowID }
    expected.formUnion(genres[6...].map { [books[0].id.rowID, $0.id.rowID] })
    #expect(try linked() == expected)
    withExtendedLifetime(changes) {}
  }

  @Test func `the error names the one link of many that a trigger ignores`() throws {
    let genres = (0..<60).map { number in context.insert(Genre.self) { $0.name = "\(number)" } }
    let book = books(["a"], by: author())[0]
    try context.save()
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try connection.executeScript(
      """
      CREATE TRIGGER silence BEFORE INSERT ON Book_genres WHEN NEW.Genre_id = \(genres[5].id.rowID)
      BEGIN SELECT RAISE(IGNORE); END
      """)
    book.genres = Set(genres)
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures[0].reason.contains("Genre \(genres[5].id.rowID)")
    }
    #expect(try linked().isEmpty)
  }
}
