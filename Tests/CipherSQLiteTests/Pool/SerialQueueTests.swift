// A queue that knows whether its caller is inside of a call.

import Dispatch
import TestSupport
import Testing

@testable import CipherSQLite

@Suite(.tags(.pure)) struct SerialQueueTests {
  private struct Failure: Error {}

  /// Says when it ends.
  private final class Witness: Sendable {
    let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  @Test func `who is inside of a call is known, and nobody else is`() async throws {
    let (queue, other) = (SerialQueue(label: "test"), SerialQueue(label: "other"))
    #expect(!queue.isInside)
    try await onThread {
      #expect(queue.sync { queue.isInside && !other.isInside })
      // On the same thread, through another queue: a call would wait for itself.
      #expect(queue.sync { other.sync { queue.isInside && other.isInside } })
      #expect(throws: Failure.self) { try queue.sync { throw Failure() } }
      #expect(!queue.isInside && !other.isInside)
    }
    #expect(await withCheckedContinuation { done in queue.async { done.resume(returning: queue.isInside) } })
    #expect(!queue.isInside)
  }

  @Test func `another thread is not inside while a call goes on`() async throws {
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

  // A pool closes itself when it ends, by a call of its queue.
  @Test func `what a call is the last to hold ends inside of it`() async throws {
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
    // From here on the call is the only one that holds it.
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
