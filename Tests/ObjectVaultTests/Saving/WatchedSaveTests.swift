// Saves of many objects in one statement, observed by hooks, and cancelled while the statement runs.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct WatchedSaves {
  enum Work: String, CaseIterable { case insertion, change, deletion }

  static let count = 20_000
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  /// Inserts authors, or changes or deletes all existing ones.
  private static func run(_ work: Work, _ count: Int, in context: ObjectContext) throws {
    switch work {
    case .insertion:
      for number in 0..<count { context.insert(Author.self) { $0.name = "author \(number)" } }
    case .change:
      for author in try context.fetch(Author.self).all() { author.age += 1 }
    case .deletion:
      for author in try context.fetch(Author.self).all() { context.delete(author) }
    }
  }

  private func prepare(_ work: Work, _ count: Int) throws {
    guard work != .insertion else { return }
    let context = store.makeContext()
    try Self.run(.insertion, count, in: context)
    try context.save()
  }

  @Test(arguments: Work.allCases)
  func `a hook gets each row of a save, and a trace gets one statement without values`(_ work: Work) throws {
    let count = 600
    try prepare(work, count)
    let (rows, statements) = (Locked<[RowChange]>([]), Locked<[String]>([]))
    try store.withWritingConnection { connection in
      connection.onChange { change in rows.withLock { $0.append(change) } }
      connection.onStatement { event in statements.withLock { $0.append(event.sql) } }
    }
    let context = store.makeContext()
    try Self.run(work, count, in: context)
    try context.save()
    try store.withWritingConnection { connection in
      connection.onChange(nil)
      connection.onStatement(nil)
    }
    let kinds: [Work: RowChange.Kind] = [.insertion: .insert, .change: .update, .deletion: .delete]
    let told = rows.withLock { $0.filter { $0.table == "Author" } }
    #expect(told.map(\.rowID).sorted() == (1...count).map(Int64.init))
    #expect(told.allSatisfy { $0.kind == kinds[work] })
    let writing = statements.withLock {
      $0.filter { $0.contains("\"Author\"") && ($0.contains("OR FAIL") || $0.contains("DELETE")) }
    }
    #expect(writing.count == 1, "\(writing)")
    #expect(writing.first?.contains(work == .change ? "vault_value" : "vault_feed") == true)
    #expect(!statements.withLock { $0.contains { $0.contains("author 17") } })
  }

  @Test(arguments: Work.allCases)
  func `a write that is cancelled during its statement leaves no change`(_ work: Work) async throws {
    try prepare(work, Self.count)
    let (isThere, wasCancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let seen = Locked(0)
    try store.withWritingConnection { connection in
      connection.onChange { change in
        guard change.table == "Author",
          seen.withLock({
            $0 += 1; return $0
          }) == 1000
        else { return }
        isThere.signal()
        wasCancelled.wait()
      }
    }
    let task = Task { [store] in
      // Also on an earlier error, so that the test does not wait forever.
      defer { isThere.signal() }
      try await store.write { try Self.run(work, Self.count, in: $0) }
    }
    Thread.detachNewThread {
      isThere.wait()
      task.cancel()
      wasCancelled.signal()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    // It was one statement, and it did not finish.
    #expect((1000..<Self.count).contains(seen.withLock { $0 }))
    try store.withWritingConnection { $0.onChange(nil) }
    let context = store.makeContext()
    let authors = try context.fetch(Author.self).all()
    #expect(authors.count == (work == .insertion ? 0 : Self.count) && authors.allSatisfy { $0.age == 30 })
    // The connection and its statements still work.
    try await store.write { try Self.run(work, 100, in: $0) }
    let after = try store.makeContext().fetch(Author.self).all()
    #expect(after.count == [.insertion: 100, .change: Self.count, .deletion: 0][work])
    #expect(work != .change || after.allSatisfy { $0.age == 31 })
  }
}
