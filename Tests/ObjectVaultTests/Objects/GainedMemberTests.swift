// Members that owners gained through the inverse and that are in no set yet. Every later access finds
// them.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct GainedMemberLists {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  private func author(_ name: String) -> Author { context.insert(Author.self) { $0.name = name } }

  private func book(_ title: String, by author: Author?) -> Book {
    context.insert(Book.self) {
      $0.title = title
      $0.author = author
    }
  }

  @Test(arguments: 0..<12)
  func `each owner has the members of a plain dictionary, whenever they are read`(_ seed: UInt64) throws {
    var dice = Dice(seed)
    let authors = (0..<6).map { author("\($0)") }
    // With every other seed they are in the file, and their members were not read.
    if seed % 2 == 0 { try context.save() }
    var books: [Book] = []
    var owners: [Book: Int] = [:]
    for step in 0..<300 {
      switch dice.next(8) {
      case 0...3:
        let owner = dice.next(7)
        books.append(book("\(step)", by: owner < 6 ? authors[owner] : nil))
        owners[books[books.count - 1]] = owner < 6 ? owner : nil
      case 4:
        guard let moved = dice.pick(books) else { continue }
        let owner = dice.next(6)
        moved.author = authors[owner]
        owners[moved] = owner
      case 5:
        guard let gone = dice.pick(books) else { continue }
        books.removeAll { $0 === gone }
        owners[gone] = nil
        context.delete(gone)
      case 6:
        let owner = dice.next(6)
        #expect(authors[owner].books == Set(owners.filter { $0.value == owner }.keys))
      default: if dice.isOne(in: 6) { try context.save() }
      }
      try checkPending(context)
    }
    for (number, author) in authors.enumerated() {
      #expect(author.books == Set(owners.filter { $0.value == number }.keys))
    }
    try context.save()
    let again = store.makeContext()
    for (number, author) in authors.enumerated() {
      let stored = try again.existing(author.id)?.books.map(\.title).sorted()
      #expect(stored == owners.filter { $0.value == number }.map(\.key.title).sorted())
    }
  }

  @Test func `refreshing a member removes it from an owner whose members were not read`() throws {
    let (old, new) = (author("old"), author("new"))
    let book = book("a", by: old)
    try context.save()
    book.author = new
    context.refresh(book)
    try checkPending(context)
    #expect(new.books.isEmpty && old.books == [book] && book.author === old)
  }

  @Test func `deleting an unread new object removes it from all its relationships`() throws {
    let (gone, club) = (author("gone"), context.insert(Club.self) { $0.name = "C" })
    gone.club = club
    let genre = context.insert(Genre.self) { $0.name = "G" }
    let book = book("a", by: nil)
    book.genres = [genre]
    context.delete(book)
    context.delete(club)
    try checkPending(context)
    #expect(genre.books.isEmpty && gone.club == nil)
    try context.save()
    #expect(try context.fetch(Genre.self).where("books.@count == 0").count() == 1)
  }

  @Test func `a fetch reflects members that an owner gained through the inverse`() throws {
    let authors = ["a", "b"].map(author)
    try context.save()
    _ = [book("1", by: authors[0]), book("2", by: authors[0])]
    #expect(try context.fetch(Author.self).where("books.@count == 2").all() == [authors[0]])
    #expect(try context.fetch(Author.self).where("ANY books.title == '2'").all() == [authors[0]])
    try checkPending(context)
  }

  @Test func `an owner that the caller does not retain keeps its gained members`() throws {
    let id: ObjectID<Author>
    do {
      let author = author("a")
      try context.save()
      id = author.id
      _ = book("unsaved", by: author)
    }
    let again = try #require(try context.existing(id))
    #expect(again.books.map(\.title) == ["unsaved"])
  }

  @Test func `members that an incomplete owner gained are found when it is read`() async throws {
    try await store.write { context in
      // The owner is incomplete: it has no name.
      let open = context.insert(Author.self)
      let first = context.insert(Book.self) {
        $0.title = "first"
        $0.author = open
      }
      // This book is incomplete, too: it has no title.
      let second = context.insert(Book.self) { $0.author = open }
      #expect(try context.fetch(Book.self).where("title == 'first'").one() === first)
      try checkPending(context)
      let third = context.insert(Book.self) {
        $0.title = "third"
        $0.author = open
      }
      #expect(open.books == [first, second, third])
      (open.name, second.title) = ("late", "second")
    }
    let again = store.makeContext()
    #expect(try again.fetch(Author.self).one().books.count == 3)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `new objects have distinct temporary ids from -1 down, in the order of creation`() throws {
    let some = [author("a").id.rowID, book("b", by: nil).id.rowID, author("c").id.rowID]
    #expect(some == [-1, -2, -3])
    var (authors, books): ([Int64], [Int64]) = ([], [])
    for number in 0..<500 {
      if number % 3 == 0 { authors.append(author("\(number)").id.rowID) }
      books.append(book("\(number)", by: nil).id.rowID)
      if number % 100 == 99 {
        try checkPending(context)
        if number % 200 == 199 { context.rollback() } else { try context.save() }
      }
    }
    let all = some + authors + books
    #expect(Set(all).count == all.count && all.allSatisfy { $0 < 0 })
    #expect(authors == authors.sorted(by: >) && books == books.sorted(by: >))
    // Two of the five hundreds were rolled back, and one book existed before.
    #expect(try context.fetch(Book.self).count() == 301)
  }
}
