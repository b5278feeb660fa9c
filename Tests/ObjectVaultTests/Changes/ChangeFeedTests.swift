// The listeners of a store's commits: the order, bounded buffers, and the end of the sequence.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ChangeFeeds {
  private static func add(_ name: String, to store: Store) async throws {
    try await store.write { context in _ = context.insert(Author.self) { $0.name = name } }
  }

  private static func names(_ changes: StoreChanges) async -> [String] {
    var names: [String] = []
    for await case .committed(let set) in changes {
      names += set.inserted.compactMap { $0.values["name"]?.string }
    }
    return names
  }

  @Test func `all listeners get the commits of many tasks in the same order`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let (first, second) = (store.changes(), store.changes())
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<25 {
            if number % 2 == 0 {
              try? await Self.add("\(task) \(number)", to: store)
            } else {
              let context = store.makeContext()
              context.insert(Author.self) { $0.name = "\(task) \(number)" }
              try? context.save()
            }
          }
        }
      }
    }
    let rows = try store.makeContext().fetch(Author.self).sorted(by: \.id).all().map(\.name)
    store.close()
    let names = await Self.names(first)
    #expect(names.count == 200)
    // Ids are assigned inside the transaction, so their order is that of the commits.
    #expect(names == rows)
    #expect(await Self.names(second) == names)
  }

  @Test func `a listener that reads too late gets a gap, and then the later commits`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let changes = store.changes(bufferingUpTo: 3)
    var iterator = changes.makeAsyncIterator()
    for number in 1...5 { try await Self.add("\(number)", to: store) }
    // The fourth commit exceeds the buffer: it and the earlier ones become one gap.
    #expect(await iterator.next() == .missed(commits: 4))
    guard case .committed(let fifth)? = await iterator.next() else {
      Issue.record("the fifth commit was not delivered")
      return
    }
    #expect(fifth.inserted.first?.values["name"] == "5")
    #expect(fifth.commit?.number == 5)
  }

  @Test func `a commit larger than the buffer is a gap`() async throws {
    let temporary = try await TemporaryStore(library)
    var iterator = temporary.store.changes(bufferingUpTo: 3).makeAsyncIterator()
    try await temporary.store.write { context in
      for number in 0..<4 { context.insert(Author.self) { $0.name = "\(number)" } }
    }
    #expect(await iterator.next() == .missed(commits: 1))
  }

  @Test func `cancelling a task ends its wait for a commit, and the sequence continues`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let changes = store.changes()
    let waiting = Task {
      var iterator = changes.makeAsyncIterator()
      return await iterator.next()
    }
    waiting.cancel()
    #expect(await waiting.value == nil)
    try await Self.add("x", to: store)
    store.close()
    #expect(await Self.names(changes) == ["x"])
  }

  @Test func `closing the store ends the sequences of its changes`() async throws {
    let temporary = try await TemporaryStore(library)
    let waiting = Task { [changes = temporary.store.changes()] in await Self.names(changes) }
    try await Self.add("x", to: temporary.store)
    temporary.store.close()
    #expect(await waiting.value == ["x"])
    #expect(await Self.names(temporary.store.changes()) == [])
  }

  @Test func `releasing the store ends the sequence of its changes`() async throws {
    let folder = try TemporaryFolder()
    var store: Store? = try await Store.open(
      at: folder.url.appendingPathComponent("a.store"), key: testKey, schema: library,
      migrations: .creatingSchema)
    let changes = try #require(store?.changes())
    store = nil
    #expect(await Self.names(changes) == [])
  }

  @Test func `a transaction that began before the listener is delivered as a gap`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let changes = try await store.write { context in
      context.insert(Author.self) { $0.name = "x" }
      return store.changes()
    }
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next() == .missed(commits: 1))
  }
}
