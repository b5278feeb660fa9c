// Rows of asynchronous sequences.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct BulkStreamTests {
  struct Failure: Error {}
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(bulkSchema) }

  private func stream(_ numbers: Range<Int>, failing: Bool = false) -> AsyncThrowingStream<Int, any Error> {
    AsyncThrowingStream { more in
      for number in numbers { more.yield(number) }
      more.finish(throwing: failing ? Failure() : nil)
    }
  }

  @Test(arguments: [1, 63, 64, 65, 128, 3_000])
  func `all rows of a sequence are written, in their order`(_ count: Int) async throws {
    let inserted = try await store.insert(contentsOf: stream(0..<count), into: BulkPerson.self) {
      ($0.remoteID, $0.name) = ($1, "old")
    }
    #expect(inserted == count)
    #expect(
      try store.makeContext().fetch(BulkPerson.self).sorted(byPath: "id").all().map(\.remoteID)
        == Array(0..<count))
    let report = try await store.upsert(
      contentsOf: stream(count / 2..<count * 2), into: BulkPerson.self, on: \.remoteID, by: \.self
    ) { person, _ in person.name = "new" }
    #expect(report.updated == count - count / 2 && report.inserted == count && report.unchanged == 0)
    #expect(try store.bulkPeople().allSatisfy { $1 == (($0 ?? 0) < count / 2 ? "old" : "new") })
  }

  @Test(arguments: [0, 1, 64, 1_000])
  func `an error of the sequence writes nothing`(_ count: Int) async throws {
    await #expect(throws: Failure.self) {
      try await store.insert(contentsOf: stream(0..<count, failing: true), into: BulkPerson.self) {
        $0.remoteID = $1
      }
    }
    #expect(try store.bulkPeople().isEmpty)
  }

  @Test(arguments: [0, 1, 64, 200])
  func `a cancellation while the sequence waits ends the write, and nothing is written`(_ count: Int)
    async throws
  {
    let (rows, more) = AsyncStream<Int>.makeStream()
    let (asked, asking) = AsyncStream<Void>.makeStream()
    for number in 0..<count { more.yield(number) }
    let task = Task { [store] in
      try await store.insert(
        contentsOf: BulkAsked(rows: rows, after: count, asking: asking), into: BulkPerson.self
      ) {
        $0.remoteID = $1
      }
    }
    for await _ in asked { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.bulkPeople().isEmpty)
    #expect(try await store.insert(contentsOf: [1], into: BulkPerson.self) { $0.remoteID = $1 } == 1)
  }

  @Test func `an error of the closure ends a sequence that waits for more`() async throws {
    let (rows, more) = AsyncStream<Int>.makeStream()
    for number in 0..<200 { more.yield(number) }
    await #expect(throws: Failure.self) {
      try await store.upsert(contentsOf: rows, into: BulkPerson.self, on: \.remoteID, by: \.self) {
        _, number in
        if number == 20 { throw Failure() }
      }
    }
    #expect(try store.bulkPeople().isEmpty)
  }

  @Test func `the transaction begins with the first rows`() async throws {
    let (rows, more) = AsyncStream<Int>.makeStream()
    let task = Task { [store] in
      try await store.insert(contentsOf: rows, into: BulkPerson.self) { $0.remoteID = $1 }
    }
    try await store.write { _ = $0.insert(BulkPerson.self) { $0.remoteID = -1 } }
    more.yield(1)
    more.finish()
    #expect(try await task.value == 1)
    #expect(try store.bulkPeople().count == 2)
  }
}

/// Rows that notify a test when one more is requested than there are.
struct BulkAsked: AsyncSequence {
  let rows: AsyncStream<Int>
  let after: Int
  let asking: AsyncStream<Void>.Continuation

  struct Iterator: AsyncIteratorProtocol {
    var rows: AsyncStream<Int>.Iterator
    var left: Int
    let asking: AsyncStream<Void>.Continuation

    mutating func next() async -> Int? {
      if left == 0 { asking.yield() }
      left -= 1
      return await rows.next()
    }
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(rows: rows.makeAsyncIterator(), left: after, asking: asking)
  }
}
