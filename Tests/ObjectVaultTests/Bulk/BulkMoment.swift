// A moment inside of a write, at which a test does something.

import Dispatch

/// Holds the thread of a write until the test releases it.
final class BulkMoment: Sendable {
  private let gate = DispatchSemaphore(value: 0)
  private let arrivals: AsyncStream<Void>
  private let arrival: AsyncStream<Void>.Continuation

  init() { (arrivals, arrival) = AsyncStream<Void>.makeStream() }

  /// Called in the write: waits for ``release()``.
  func hold() {
    arrival.yield()
    gate.wait()
  }

  /// Waits until the write is held.
  func reached() async { for await _ in arrivals { return } }

  func release() { gate.signal() }
}
