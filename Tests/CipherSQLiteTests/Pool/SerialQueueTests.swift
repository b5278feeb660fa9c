// A queue that can check whether its caller is inside of a call.

import Dispatch
import TestSupport
import Testing

@testable import CipherSQLite

@Suite(.tags(.pure)) struct SerialQueueTests {
  private struct Failure: Error {}

  /// Calls a closure when it is deallocated.
  private final class Witness: Sendable {
    let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  @Test func `isInside is true within a call of the queue, and false elsewhere`() async throws {
    let (queue, other) = (SerialQueue(label: "test"), SerialQueue(label: "other"))
    #expect(!queue.isInside)
    try await onThread {
      #expect(queue.sync { queue.isInside && !other.isInside })
      // On the same thread through another queue, where a blocking call would wait for itself.
      #expect(queue.sync { other.sync { queue.isInside && other.isInside } })
      #expect(throws: Failure.self) { try queue.sync { throw Failure() } }
      #expect(!queue.isInside && !other.isInside)
    }
    #expect(await withCheckedContinuation { done in queue.async { done.resume(returning: queue.isInside) } })
    #expect(!queue.isInside)
  }

  @Test func `isInside is false on another thread while a call runs`() async throws {
    let queue = SerialQueue(label: "test")
    let (isInside, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    queue.async {
      isInside.signal()
      mayEnd.wait()
    }
    try await onThread {
      isInside.wait()
      #expect(!queue.isInside)
      mayEnd.signal()
      #expect(queue.sync { queue.isInside })
    }
  }

  // A pool closes itself when it is deallocated, by a call of its queue.
  @Test func `an object that only a call retains is deallocated within that call`() async throws {
    let queue = SerialQueue(label: "test")
    let endings = Locked<[Bool]>([])
    let (mayRun, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    do {
      let witness = Witness {
        endings.withLock { $0.append(queue.isInside) }
        hasEnded.signal()
      }
      queue.async { [witness] in
        mayRun.wait()
        withExtendedLifetime(witness) {}
      }
    }
    // From here on only the call retains it.
    mayRun.signal()
    try await onThread { hasEnded.wait() }
    #expect(endings.withLock { $0 } == [true])
  }

  @Test func `calls run in the order in which they were made`() async throws {
    let queue = SerialQueue(label: "test")
    let order = Locked<[Int]>([])
    for number in 0..<100 { queue.async { order.withLock { $0.append(number) } } }
    try await onThread { queue.sync {} }
    #expect(order.withLock { $0 } == Array(0..<100))
  }
}
