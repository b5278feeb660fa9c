// Stores: concurrent reads and writes, cancellation, keys, and files that are no stores.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Stores {
  @Test func `a hundred tasks insert and query through one store`() async throws {
    let folder = try TemporaryFolder()
    let store = try await openMicroblog(folder.url.appendingPathComponent("a.store"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<100 {
        group.addTask {
          for step in 0..<20 {
            try await store.write { context in
              _ = context.insert(Status.self) {
                $0.text = "\(task) \(step)"
                $0.createdAt = Date()
              }
            }
            _ = try await store.read {
              try $0.fetch(Status.self).where("text BEGINSWITH %@", "\(task) ").count()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.read { try $0.fetch(Status.self).count() } == 2000)
  }

  @Test func `a write that throws stores nothing, and a read cannot write`() async throws {
    struct Stop: Error {}
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    await #expect(throws: Stop.self) {
      try await store.write { context in
        context.insert(Genre.self) { $0.name = "x" }
        try context.save()
        #expect(try context.fetch(Genre.self).count() == 1)
        throw Stop()
      }
    }
    #expect(try await store.read { try $0.fetch(Genre.self).count() } == 0)
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { context in _ = context.insert(Genre.self) { $0.name = "x" } }
    }
  }

  @Test func `a cancelled write rolls back and the store stays usable`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let started = AsyncStream<Void>.makeStream()
    let gate = DispatchSemaphore(value: 0)
    let task = Task {
      // Also on an earlier error, so that the test does not wait forever.
      defer { started.continuation.finish() }
      try await store.write { context in
        context.insert(Genre.self) { $0.name = "x" }
        try context.save()
        started.continuation.finish()
        gate.wait()
      }
    }
    for await _ in started.stream {}
    task.cancel()
    gate.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await store.read { try $0.fetch(Genre.self).count() } == 0)
  }

  @Test func `saving another context inside a write is an error and no deadlock`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    await #expect(throws: SQLError.nestedWrite(file: store.url.path)) {
      try await store.write { _ in
        let inner = store.makeContext()
        inner.insert(Genre.self) { $0.name = "x" }
        try inner.save()
      }
    }
  }

  @Test func `a key provider is called when the store opens`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let store = try await openMicroblog(url, key: .provider { .passphrase("from the keyring") })
    store.close()
    await #expect(throws: SQLError.wrongKey(file: url.path)) {
      _ = try await openMicroblog(url, key: .passphrase("other"))
    }
    try await openMicroblog(url, key: .passphrase("from the keyring")).close()
  }

  @Test func `open contexts can be used after a rekey, and the old key is refused`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let store = try await openMicroblog(url)
    let context = store.makeContext()
    let user = context.insert(User.self) { $0.name = "Binger" }
    try context.save()
    try await store.rekey(to: .passphrase("new"))
    user.screenName = "冰儿"
    try context.save()
    #expect(try await store.verify().isEmpty)
    store.close()
    await #expect(throws: SQLError.wrongKey(file: url.path)) { _ = try await openMicroblog(url) }
    let again = try await openMicroblog(url, key: .passphrase("new"))
    #expect(try await again.read { try $0.fetch(User.self).one().screenName } == "冰儿")
  }

  @Test func `a database that is no store is reported as such`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    _ = try Connection.create(url.path, key: testKey) { try $0.execute("CREATE TABLE t(x)") }
    await #expect(throws: StoreError.notAStore(file: url.path)) { _ = try await openMicroblog(url) }
  }

  @Test(.enabled(if: (try? IsoCodes()) != nil, "make deps installs iso-codes"))
  func `imported ISO codes are complete and are found through two relationships`() async throws {
    let codes = try IsoCodes()
    let folder = try TemporaryFolder()
    let store = try await openMicroblog(folder.url.appendingPathComponent("a.store"))
    try await store.write { context in codes.insert(into: context) }
    let context = store.makeContext()
    #expect(try context.fetch(Country.self).count() == codes.countries.count)
    #expect(try context.fetch(Subdivision.self).count() == codes.subdivisions.count)
    #expect(try context.fetch(Language.self).count() == codes.languages.count)
    let withParent = codes.subdivisions.filter { $0.parent != nil }.count
    #expect(try context.fetch(Subdivision.self).where("parent != nil").count() == withParent)
    let expected = codes.subdivisions.filter { $0.code.hasPrefix("IT-") && $0.parent != nil }.count
    let found = try context.fetch(Subdivision.self).where(#Predicate { $0.parent?.country?.alpha2 == "IT" })
      .count()
    #expect(found == expected)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `links in a circle are reported by every call that opens a store`() async throws {
    let folder = try TemporaryFolder()
    let (link, other) = (folder.url.appendingPathComponent("a"), folder.url.appendingPathComponent("b"))
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: other)
    try FileManager.default.createSymbolicLink(at: other, withDestinationURL: link)
    let steps = try MigrationSet.creating(microblog)
    let circle = SQLError.pathUnusable(file: link.path, reason: "its links form a cycle")
    await #expect(throws: circle) {
      try await Store.open(at: link, key: testKey, schema: microblog, migrations: .creatingSchema)
    }
    await #expect(throws: circle) { try await Store.plan(at: link, key: testKey, migrations: steps) }
    await #expect(throws: circle) { try await Store.migrate(at: link, key: testKey, migrations: steps) }
    await #expect(throws: circle) { try await Store.create(at: link, key: testKey, migrations: steps) }
    #expect(folder.names == ["a", "b"])
  }
}
