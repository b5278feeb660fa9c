// Deep graphs and many members: the work is not recursive in the depth, and not quadratic in the number.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

final class Node: ManagedObject {
  @Attribute var number: Int
  @ToOne var parent: Node?
  @ToMany(inverse: \Node.parent, onDelete: .cascade) var children: Set<Node>
  @ToOne var previous: Node?
}

@Suite(.tags(.slow)) struct Depths {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(Schema { Entity(Node.self) }) }

  /// Runs `body` on a thread with a stack of 512 KiB, like the threads of Dispatch and of many apps.
  private func onSmallStack(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      let thread = Thread { done.resume(with: Result { try body() }) }
      thread.stackSize = 512 << 10
      thread.start()
    }
  }

  private func chain(_ length: Int, in context: ObjectContext) -> Node? {
    var last: Node?
    for number in 0..<length {
      let previous = last
      last = context.insert(Node.self) {
        $0.number = number
        $0.parent = previous
        $0.previous = previous
      }
    }
    return last
  }

  @Test func `a chain of 25,000 objects is released without recursion`() async throws {
    try await store.write { context in _ = chain(25_000, in: context) }
    let store = store
    try await onSmallStack {
      let context = store.makeContext()
      var last = try context.fetch(Node.self).sorted(by: \.number).all().last
      var length = 0
      var node = last
      while let next = node?.previous {
        node = next
        length += 1
      }
      #expect(length == 24_999)
      node = nil
      // The last object retains the next one, and so on. The context stays alive.
      last = nil
      #expect(context.statistics.rows >= 25_000)
    }
    try await onSmallStack {
      let context = store.makeContext()
      _ = chain(5_000, in: context)
      try context.save()
    }
  }

  @Test func `a cascade of 5,000 levels deletes objects in memory and unread rows`() async throws {
    for isLoaded in [true, false] {
      try await store.write { context in _ = chain(5_000, in: context) }
      let store = store
      try await onSmallStack {
        let context = store.makeContext()
        if isLoaded { #expect(try context.fetch(Node.self).all().count == 5_000) }
        context.delete(try context.fetch(Node.self).where("parent == nil").one())
        try context.save()
        #expect(try context.fetch(Node.self).count() == 0)
      }
    }
  }

  @Test func `a cascade deletes a ring of 2,000 rows`() async throws {
    try await store.write { context in
      let last = chain(2_000, in: context)
      try context.fetch(Node.self).where("number == 0").one().parent = last
    }
    let context = store.makeContext()
    context.delete(try context.fetch(Node.self).where("number == 7").one())
    try context.save()
    #expect(try context.fetch(Node.self).count() == 0)
  }

  @Test func `adding 40,000 members and deleting 20,000 new objects takes no quadratic time`() throws {
    let context = store.makeContext()
    let root = context.insert(Node.self)
    let inserting = threadTime {
      for number in 1...40_000 { root.add(context.insert(Node.self) { $0.number = number }, to: \.children) }
    }
    #expect(root.children.count == 40_000)
    // Inserting them into the set one by one took hours.
    #expect(inserting < 120, "\(inserting)")
    for child in Array(root.children.prefix(20_000)) { root.remove(child, from: \.children) }
    #expect(root.children.count == 20_000 && root.children.allSatisfy { $0.parent === root })
    let stranger = context.insert(Node.self) { $0.number = -1 }
    root.remove(stranger, from: \.children)
    root.children.insert(stranger)
    #expect(stranger.parent === root && root.children.count == 20_001)
    let many = (1...20_000).map { number in context.insert(Node.self) { $0.number = number } }
    let deleting = threadTime { for node in many { context.delete(node) } }
    #expect(deleting < 20, "\(deleting)")
    root.number = 0
    try context.save()
    #expect(try context.fetch(Node.self).count() == 40_002)
    context.delete(context.insert(Node.self))
    #expect(!context.hasChanges)
  }

  @Test func `deleting a new object also deletes its new children`() throws {
    let context = store.makeContext()
    let root = context.insert(Node.self) { $0.number = 1 }
    let child = context.insert(Node.self) {
      $0.number = 2
      $0.parent = root
    }
    let friend = context.insert(Node.self) {
      $0.number = 3
      $0.previous = root
    }
    context.delete(root)
    #expect(child.state == .invalid && friend.previous == nil)
    try context.save()
    let other = store.makeContext()
    #expect(try other.fetch(Node.self).one().previous == nil)
  }

  @Test func `an object that lost a reference through unread rows can be saved again`() throws {
    let context = store.makeContext()
    let numbers = (0...2).map { number in context.insert(Node.self) { $0.number = number } }
    numbers[1].parent = numbers[0]
    numbers[2].previous = numbers[1]
    try context.save()
    let other = store.makeContext()
    let leaf = try #require(try other.existing(numbers[2].id))
    // The cascade from the root deletes the middle by SQL alone: it was never fetched here.
    other.delete(try #require(try other.existing(numbers[0].id)))
    try other.save()
    leaf.number = 5
    try other.save()
    #expect(leaf.previous == nil)
    #expect(try store.makeContext().fetch(Node.self).one().number == 5)
  }

  @Test func `an insertion after the highest id is an error and no trap`() async throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute("INSERT OR REPLACE INTO vault_ids VALUES ('Node', 9223372036854775807)")
    connection.close()
    await #expect(throws: StoreError.idsExhausted(entity: "Node")) {
      try await store.write { _ = $0.insert(Node.self) { $0.number = 1 } }
    }
  }

  @Test func `insertions, setters and fetches have no effect after a write was cancelled`() async throws {
    let started = AsyncStream<Void>.makeStream()
    let gate = DispatchSemaphore(value: 0)
    let (store, told) = (store, Told())
    let task = Task {
      // Also on an earlier error, so that the test does not wait forever.
      defer { started.continuation.finish() }
      try await store.write { context in
        let node = context.insert(Node.self) { $0.number = 1 }
        started.continuation.finish()
        gate.wait()
        node.number = 2
        let more = context.insert(Node.self) { $0.number = 3 }
        told.add("\(node.number) \(more.state) \((try? context.fetch(Node.self).all()) == nil)")
      }
    }
    for await _ in started.stream {}
    task.cancel()
    gate.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(told.texts == ["1 detached true"])
  }

  @Test func `one save deletes a ring of thousands of required references`() async throws {
    let temporary = try await TemporaryStore(Schema { Entity(Layer.self) })
    let context = temporary.store.makeContext()
    var layers: [Layer] = []
    for number in 0..<3000 {
      let layer = context.insert(Layer.self) { $0.number = number }
      layer.above = layers.last ?? layer
      layers.append(layer)
    }
    layers[0].above = layers[2999]
    try context.save()
    context.delete(layers[1500])
    try context.save()
    #expect(try temporary.store.makeContext().fetch(Layer.self).count() == 0)
    #expect(try await temporary.store.verify().isEmpty)
  }
}
