// A closed store: every call of the store and of its contexts throws that it is closed.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct ClosedStores {
  @Test func `every call on a closed store throws that it is closed`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let changes = try await store.write { context -> ChangeSet in
      context.insert(Author.self) { $0.name = "Ann" }
      return context.pendingChanges
    }
    let context = store.makeContext()
    let ann = try #require(try context.fetch(Author.self).first())
    let fault = try #require(try await store.read { try $0.fetch(Author.self).ids().first })
    let feed = store.changes()
    let other = try await TemporaryStore(memoModel())
    try await other.store.write { _ = $0.insert(Memo.self) }
    let transaction = try #require(try await other.store.history().first)
    store.close()
    store.close()

    let closed = SQLError.closed(file: store.url.path)
    await #expect(throws: closed) { try await store.read { _ in } }
    await #expect(throws: closed) { try await store.write { _ in } }
    await #expect(throws: closed) { try await store.rekey(to: testKey) }
    await #expect(throws: closed) { try await store.rekey(to: testKey, profile: .sqlcipher4) }
    await #expect(throws: closed) { _ = try await store.verify() }
    await #expect(throws: closed) { _ = try await store.outdatedStatistics() }
    await #expect(throws: closed) { try await store.updateStatistics() }
    await #expect(throws: closed) { try await store.backup(to: temporary.folder.url.appending(path: "b")) }
    await #expect(throws: closed) {
      try await store.exportPlaintext(to: temporary.folder.url.appending(path: "c"))
    }
    await #expect(throws: closed) { try await store.apply(changes) }
    await #expect(throws: closed) { try await store.vacuum() }
    await #expect(throws: closed) { try await store.history() }
    await #expect(throws: closed) { try await store.historyToken() }
    await #expect(throws: closed) { try await store.purgeHistory(.all) }
    await #expect(throws: closed) { try await store.lastChange(of: ann.id) }
    await #expect(throws: closed) { try await store.values(of: ann.id, at: transaction.token) }
    await #expect(throws: closed) { try await store.undo(transaction) }
    await #expect(throws: closed) { try await store.destroy() }
    await #expect(throws: closed) { _ = try await store.metadata("a", as: Int.self) }
    await #expect(throws: closed) {
      try await store.insert(contentsOf: ["Bo"], into: Author.self) { $0.name = $1 }
    }
    await #expect(throws: closed) {
      try await store.upsert(contentsOf: ["Bo"], into: Author.self, on: \.name, by: \.self) { _, _ in }
    }
    await #expect(throws: closed) { try await store.enqueue { _ in } }
    try await store.flush()
    func wait() {
      #expect(throws: closed) { try store.readAndWait { _ in } }
      #expect(throws: closed) { try store.writeAndWait { _ in } }
    }
    wait()
    var told = 0
    for await _ in feed { told += 1 }
    for await _ in store.changes() { told += 1 }
    for try await _ in store.observe({ try $0.fetch(Author.self).count() }) { told += 1 }
    for try await _ in store.observe(ObjectRequest<Author>(), values: \.name) { told += 1 }
    #expect(told == 0)
    let tried: Set<String> = [
      "read", "write", "rekey", "verify", "backup", "exportPlaintext", "apply", "changes", "close",
      "makeContext", "outdatedStatistics", "updateStatistics", "vacuum", "destroy", "metadata", "readAndWait",
      "writeAndWait", "insert", "upsert", "observe", "history", "historyToken", "purgeHistory", "lastChange",
      "values", "undo", "enqueue", "flush",
    ]
    #expect(try publicMethods(of: "Store", in: "ObjectVault") == tried)
    #expect(temporary.folder.names == ["test.store"])

    // Values in memory can still be read. Fetches and saves are errors.
    #expect(ann.name == "Ann")
    #expect(throws: closed) { _ = try context.fetch(Author.self).all() }
    #expect(throws: closed) { _ = try store.makeContext().existing(fault) }
    ann.name = "Bo"
    #expect(throws: closed) { try context.save() }
    #expect(context.hasChanges)
  }
}
