// A fetch that asks the file more than once sees it as it is at one moment, whoever commits meanwhile.

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

  /// Everything anew, so that nobody who was there before is there now.
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

  /// Runs `body` again and again while everything is made anew some hundred times.
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

  @Test func `objects and what is prefetched of them are of one moment`() async throws {
    try await whileRenewing { context in
      let books = try context.fetch(Book.self).prefetch(\.author).all()
      #expect(books.count == 10 && Set(books.map(\.year)).count == 1)
      for book in books { #expect(book.author?.age == book.year % 100) }
      #expect(context.faultErrors.isEmpty && context.statistics.faultsFired == 0)
    }
  }

  @Test func `what is pending is merged with the file of one moment`() async throws {
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
