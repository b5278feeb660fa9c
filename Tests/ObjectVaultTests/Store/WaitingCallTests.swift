// Reads and writes that block the calling thread: results, errors, listeners, order and nesting.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct WaitingCalls {
  private struct Stop: Error {}

  /// The store of a test. Opening suspends, and the calls under test must not be in an asynchronous function.
  private static func withStore(_ body: (Store) throws -> Void) async throws {
    let temporary = try await TemporaryStore(library)
    try body(temporary.store)
  }

  private static func names(_ store: Store) throws -> [String] {
    try store.readAndWait { try $0.fetch(Genre.self).sorted(by: \.name).all().map(\.name) }
  }

  @Test func `a write is committed when its body returns, and other connections see it`() async throws {
    try await Self.withStore { store in
      let id = try store.writeAndWait { context in context.insert(Genre.self) { $0.name = "a" }.id }
      #expect(!id.isTemporary)
      let shell = try Connection.open(store.url.path, key: testKey)
      #expect(try shell.value("SELECT name FROM Genre WHERE id = \(id.rowID)")?.string == "a")
      #expect(try store.readAndWait { try $0.existing(id)?.name } == "a")
    }
  }

  @Test func `a write that throws stores nothing and makes its objects invalid`() async throws {
    try await Self.withStore { store in
      let escaped = Locked<[ManagedObject]>([])
      #expect(throws: Stop.self) {
        try store.writeAndWait { context in
          let genre = context.insert(Genre.self) { $0.name = "a" }
          escaped.withLock { $0 = [genre] }
          try context.save()
          throw Stop()
        }
      }
      #expect(escaped.withLock { $0.map(\.state) } == [.invalid])
      let afterStop = try Self.names(store)
      #expect(throws: (any Error).self) {
        try store.writeAndWait { context in
          for name in ["b", "b"] { context.insert(Genre.self) { $0.name = name } }
        }
      }
      let afterClash = try Self.names(store)
      #expect(afterStop.isEmpty && afterClash.isEmpty)
    }
  }

  @Test func `a read cannot write, and reports the errors of its context`() async throws {
    try await Self.withStore { store in
      #expect(throws: StoreError.readOnlyContext) {
        try store.readAndWait { context in _ = context.insert(Genre.self) { $0.name = "a" } }
      }
      #expect(throws: Stop.self) { try store.readAndWait { _ in throw Stop() } }
    }
  }

  @Test func `a read is one snapshot, which a write on another thread does not change`() async throws {
    try await Self.withStore { store in
      let counts = try store.readAndWait { context -> [Int] in
        let before = try context.fetch(Genre.self).count()
        let end = DispatchSemaphore(value: 0)
        Thread {
          _ = try? store.writeAndWait { $0.insert(Genre.self) { $0.name = "a" }.id }
          end.signal()
        }.start()
        end.wait()
        return [before, try context.fetch(Genre.self).count()]
      }
      #expect(counts == [0, 0])
      #expect(try Self.names(store) == ["a"])
    }
  }

  @Test func `a write inside a write is an error and no deadlock, and a read sees the last commit`()
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let nested = SQLError.nestedWrite(file: store.url.path)
    let count = try await store.write { context -> Int in
      context.insert(Genre.self) { $0.name = "a" }
      try context.save()
      #expect(throws: nested) { try store.writeAndWait { _ in } }
      return try store.readAndWait { try $0.fetch(Genre.self).count() }
    }
    #expect(count == 0)
    try await Self.withStore { other in
      #expect(throws: SQLError.nestedWrite(file: other.url.path)) {
        try other.writeAndWait { _ in try other.writeAndWait { _ in } }
      }
      // Another store has a queue of its own.
      try other.writeAndWait { _ in
        try store.writeAndWait {
          $0.insert(Genre.self) { $0.name = "b" }; return
        }
      }
      #expect(try Self.names(store) == ["a", "b"])
    }
  }

  @Test func `reads inside reads never wait for a reader`() async throws {
    try await Self.withStore { store in
      func depth(_ left: Int) throws -> Int {
        guard left > 0 else { return 0 }
        return try store.readAndWait { _ in try depth(left - 1) + 1 }
      }
      let readers = Store.Configuration().readers
      let reached = try depth(readers * 3)
      #expect(reached == readers * 3)
    }
  }

  @Test func `listeners get the changes of a write that blocks`() async throws {
    let temporary = try await TemporaryStore(library)
    let (store, changes) = (temporary.store, temporary.store.changes())
    func write() throws {
      try store.writeAndWait {
        $0.insert(Genre.self) { $0.name = "a" }; return
      }
    }
    try write()
    store.close()
    var inserted: [String] = []
    for await case .committed(let set) in changes { inserted += set.inserted.map(\.entity) }
    #expect(inserted == ["Genre"])
  }

  @Test func `blocking writes of many threads and suspended ones are all committed`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let ended = DispatchSemaphore(value: 0)
    for thread in 0..<8 {
      Thread {
        for step in 0..<10 {
          _ = try? store.writeAndWait { $0.insert(Genre.self) { $0.name = "\(thread) \(step)" }.id }
        }
        ended.signal()
      }.start()
    }
    for step in 0..<10 { try await store.write { _ = $0.insert(Genre.self) { $0.name = "task \(step)" } } }
    func wait() { for _ in 0..<8 { ended.wait() } }
    wait()
    #expect(try await store.read { try $0.fetch(Genre.self).count() } == 90)
    #expect(try await store.verify().isEmpty)
  }
}
