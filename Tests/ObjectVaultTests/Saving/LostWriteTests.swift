// Writes whose transaction the engine rolls back by itself. None of their rows is stored, whatever the
// closure does afterwards.

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

  @Test(arguments: [false, true])
  func `a write that continues after the engine's rollback stores nothing and throws`(_ rollsBack: Bool)
    async throws
  {
    let told = Locked<[any Error]>([])
    await #expect {
      try await store.write { context in
        context.insert(Author.self) { $0.name = "first" }
        try context.save()
        context.insert(Author.self) { $0.name = "end" }
        try? context.save()
        if rollsBack { context.rollback() }
        context.insert(Author.self) { $0.name = "after" }
        do { try context.save() } catch { told.withLock { $0.append(error) } }
        _ = try? context.fetch(Author.self).all()
      }
    } throws: { "\($0)".contains("taken back") }
    // The error is not reported for the object "after".
    let errors = told.withLock { $0 }
    #expect(errors.count == 1 && !errors.contains { $0 is StoreError }, "\(errors)")
    #expect(try names().isEmpty)
    try await store.write { context in _ = context.insert(Author.self) { $0.name = "next" } }
    #expect(try names() == ["next"])
  }

  @Test func `after the engine's rollback the objects of a context are pending, and the next save works`()
    throws
  {
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
