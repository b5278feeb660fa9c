// Work that takes as much time or memory at the end of a loop as at its beginning: fetches, member sets
// that lose their members, and long transactions.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Growth {
  /// How many times longer eight times the work takes: 8 if the time is linear, 64 if it is quadratic.
  private func factor(_ work: (_ count: Int) async throws -> Double) async throws -> Double {
    try await timeFactor(from: 500, to: 4000, below: 24, work)
  }

  @Test func `adding links to an incomplete object, with a fetch after each, takes linear time`() async throws
  {
    let factor = try await factor { count in
      let temporary = try await TemporaryStore(library)
      let time = try await temporary.store.write { context in
        let start = threadTime()
        let open = context.insert(Book.self)
        for number in 0..<count {
          open.add(context.insert(Genre.self) { $0.name = "genre \(number)" }, to: \.genres)
          _ = try context.fetch(Book.self).exists()
        }
        #expect(open.isInserted)
        open.title = "At last"
        return threadTime() - start
      }
      let context = temporary.store.makeContext()
      #expect(try context.fetch(Book.self).one().genres.count == count)
      #expect(try context.fetch(Genre.self).where("books.@count == 1").count() == count)
      return time
    }
    #expect(factor < 24)
  }

  @Test func `adding members one by one to either kind of to-many takes linear time`() async throws {
    let temporary = try await TemporaryStore(library)
    let factor = try await timeFactor(from: 2500, to: 20_000, below: 24) { count in
      let context = temporary.store.makeContext()
      let saved = context.insert(Author.self) { $0.name = UUID().uuidString }
      try context.save()
      let (author, book) = (context.insert(Author.self), context.insert(Book.self))
      let made = (0..<count).map { _ in (context.insert(Book.self), context.insert(Genre.self)) }
      let time = threadTime {
        for (other, genre) in made {
          // To owners whose members are in memory, and to one whose members are not.
          author.add(other, to: \.books)
          saved.add(other, to: \.books)
          book.add(genre, to: \.genres)
        }
      }
      #expect(author.books.isEmpty && saved.books.count == count && book.genres.count == count)
      return time
    }
    #expect(factor < 24)
  }

  @Test func `deleting the first member of a set until it is empty takes linear time`() async throws {
    let factor = try await factor { count in
      let temporary = try await TemporaryStore(library)
      try await temporary.store.write { context in
        let book = context.insert(Book.self) { $0.title = "One" }
        for number in 0..<count {
          book.add(context.insert(Genre.self) { $0.name = "genre \(number)" }, to: \.genres)
        }
      }
      let context = temporary.store.makeContext()
      let book = try context.fetch(Book.self).one()
      let start = threadTime()
      var deleted = 0
      while let genre = book.genres.first {
        context.delete(genre)
        deleted += 1
      }
      let time = threadTime() - start
      #expect(deleted == count)
      try context.save()
      #expect(book.genres.isEmpty)
      #expect(try context.fetch(Genre.self).count() == 0)
      return time
    }
    #expect(factor < 24)
  }

  @Test func `member sets reflect all deletions, rollbacks and saves since they were last read`()
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let (one, two) = (
      context.insert(Book.self) { $0.title = "One" }, context.insert(Book.self) { $0.title = "Two" }
    )
    // More deletions than the log of a context keeps.
    let genres = (0..<3000).map { number in context.insert(Genre.self) { $0.name = "genre \(number)" } }
    (one.genres, two.genres) = (Set(genres), Set(genres))
    try context.save()
    var left = Set(genres)
    for (number, genre) in genres.enumerated() where number % 3 > 0 {
      context.delete(genre)
      left.remove(genre)
      if number % 100 == 1 { #expect(one.genres == left) }
      if number == 500 {
        context.rollback()
        left = Set(genres)
        #expect(one.genres == left)
      }
      if number == 1000 {
        try context.save()
        #expect(one.genres == left)
      }
    }
    #expect(two.genres == left && one.genres == left)
    try context.save()
    #expect(two.genres == left && one.genres == left)
    let other = temporary.store.makeContext()
    #expect(try other.fetch(Genre.self).count() == left.count)
  }

  @Test func `links of an incomplete object survive fetches, until it is completed or deleted`() async throws
  {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      let genres = (0..<3).map { number in context.insert(Genre.self) { $0.name = "genre \(number)" } }
      let (kept, gone) = (context.insert(Book.self), context.insert(Book.self))
      for genre in genres {
        genre.books = [kept, gone]
        _ = try context.fetch(Book.self).exists()
      }
      #expect(genres.allSatisfy { $0.books == [kept, gone] })
      kept.remove(genres[0], from: \.genres)
      _ = try context.fetch(Book.self).exists()
      context.delete(gone)
      _ = try context.fetch(Book.self).exists()
      #expect(genres.map(\.books) == [[], [kept], [kept]])
      kept.title = "Kept"
      _ = try context.fetch(Book.self).exists()
      #expect(try context.fetch(Genre.self).where("books.@count == 1").count() == 2)
      for genre in genres { context.refresh(genre) }
      #expect(genres.map(\.books) == [[], [kept], [kept]])
    }
    let context = temporary.store.makeContext()
    #expect(try context.fetch(Book.self).one().genres.count == 2)
  }

  @Test func `the memory of a write with fetches between its changes does not grow with their number`()
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("blog.store").path
    let lines = try await onThread { try runChild("fetch-and-insert", path) }
    let grown = try #require(lines.first.flatMap { Int($0) })
    // A fetch that writes pending changes keeps two pages or more in each of 4,500 turns: 60 MiB.
    #expect(grown < 25, "\(grown) MiB")
  }
}
