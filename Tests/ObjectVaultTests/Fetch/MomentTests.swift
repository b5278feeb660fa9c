// A fetch that reads the file more than once sees one snapshot, whatever is committed meanwhile.

import Foundation
import ObjectVault
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Moments {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    try await store.write { context in try Self.renew(context, 0) }
  }

  /// Replaces all objects by new ones.
  private static func renew(_ context: ObjectContext, _ round: Int) throws {
    for author in try context.fetch(Author.self).all() { context.delete(author) }
    try context.save()
    for index in 0..<5 {
      let author = context.insert(Author.self) {
        ($0.name, $0.age) = ("\(round) \(index)", round % 100)
      }
      for title in ["One", "Two"] {
        context.insert(Book.self) {
          ($0.title, $0.year) = (title, round)
          $0.author = author
        }
      }
    }
  }

  /// Runs `body` repeatedly while all objects are replaced 300 times.
  private func whileRenewing(_ body: (ObjectContext) throws -> Void) async throws {
    let store = store
    let isDone = Atomic(false)
    async let writing: Void = {
      defer { isDone.store(true, ordering: .releasing) }
      for round in 1...300 { try await store.write { context in try Self.renew(context, round) } }
    }()
    while !isDone.load(ordering: .acquiring) {
      try body(store.makeContext())
      // The writer may be waiting for this thread.
      await Task.yield()
    }
    try await writing
  }

  @Test func `objects and their prefetched targets are from one snapshot`() async throws {
    try await whileRenewing { context in
      let books = try context.fetch(Book.self).prefetch(\.author).all()
      #expect(books.count == 10 && Set(books.map(\.year)).count == 1)
      for book in books { #expect(book.author?.age == book.year % 100) }
      #expect(context.faultErrors.isEmpty && context.statistics.faultsFired == 0)
    }
  }

  @Test func `pending changes are merged with one snapshot of the file`() async throws {
    try await whileRenewing { context in
      let mine = context.insert(Author.self) { $0.name = "mine" }
      context.insert(Book.self) {
        ($0.title, $0.year) = ("Mine", -1)
        $0.author = mine
      }
      let books = try context.fetch(Book.self).where(
        "author.name != 'nobody' AND year < 0 OR author.age >= 0"
      )
      .sorted(by: \.year).all()
      #expect(books.count == 11 && Set(books.map(\.year)).count == 2 && books.first?.title == "Mine")
    }
  }
}
