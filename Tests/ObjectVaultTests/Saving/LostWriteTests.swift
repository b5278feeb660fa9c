// A write whose transaction the engine takes back by itself: whatever the body does about it, none of its rows is there.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct LostWrites {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    try connection.execute(
      "CREATE TRIGGER ends BEFORE INSERT ON Author WHEN new.name = 'end' BEGIN SELECT RAISE(ROLLBACK, 'taken back'); END"
    )
  }

  private func names() throws -> [String] { try store.makeContext().fetch(Author.self).all().map(\.name) }

  @Test(arguments: [false, true], [false, true])
  func `a body that saves on behind the error loses all, and is told`(_ rollsBack: Bool, _ fetches: Bool)
    async throws
  {
    let told = Locked<[any Error]>([])
    await #expect {
      try await store.write { context in
        context.insert(Author.self) { $0.name = "first" }
        try context.save()
        context.insert(Author.self) { $0.name = "end" }
        // By a save, or by the fetch that writes before it asks.
        do { if fetches { _ = try context.fetch(Author.self).all() } else { try context.save() } } catch {}
        if rollsBack { context.rollback() }
        context.insert(Author.self) { $0.name = "after" }
        do { try context.save() } catch { told.withLock { $0.append(error) } }
        _ = try? context.fetch(Author.self).all()
      }
    } throws: { "\($0)".contains("taken back") }
    // It is not laid to "after": what a fetch met is told once more by the save, with the object that it met it for.
    let errors = told.withLock { $0 }
    let refused = errors.flatMap { error -> [Int64] in
      if case StoreError.validation(let failures) = error { failures.map(\.rowID) } else { [] }
    }
    #expect(errors.count == 1 && refused == (fetches && !rollsBack ? [-2] : []), "\(errors)")
    #expect(try names().isEmpty)
    try await store.write { context in _ = context.insert(Author.self) { $0.name = "next" } }
    #expect(try names() == ["next"])
  }

  @Test func `objects of a context of its own are pending behind it, and the next save writes them`() throws {
    let context = store.makeContext()
    context.insert(Author.self) { $0.name = "first" }
    let bad = context.insert(Author.self) { $0.name = "end" }
    #expect { try context.save() } throws: { "\($0)".contains("taken back") }
    #expect(try names().isEmpty && bad.isInserted && context.hasChanges)
    bad.name = "no end"
    try context.save()
    #expect(try Set(names()) == ["first", "no end"])
  }
}
