// A queue whose calls run one after another, and which can check whether the caller is inside a call.
//
// It does not attach a value to the queue (`setSpecific`). Dispatch releases such a value with a block
// from a cache of the thread that releases the queue. If that thread is ending, as when a thread of
// Foundation has the last reference to a store, Dispatch on Linux uses the cache after it was freed, and
// memory is corrupted.

private import Dispatch
private import Foundation
private import Synchronization

final class SerialQueue: Sendable {
  private let queue: DispatchQueue
  /// The thread that is inside a call; 0 while none is.
  private let thread = Atomic<UInt>(0)
  /// Held during each call. The queue gives the calls their order.
  private let turn = NSLock()
  /// The number of calls of `sync` and `async` that have not ended.
  private let calls = Atomic<Int>(0)

  init(label: String) { queue = DispatchQueue(label: label) }

  /// Whether the caller is inside a call.
  var isInside: Bool {
    // Only a thread itself stores its number, so the relaxed order is enough.
    thread.load(ordering: .relaxed) == Self.ownThread
  }

  /// Runs `body` on the calling thread, after the calls that were made before. Must not be called from
  /// inside a call.
  func sync<Result>(_ body: () throws -> Result) rethrows -> Result {
    calls.add(1, ordering: .acquiringAndReleasing)
    defer { calls.subtract(1, ordering: .acquiringAndReleasing) }
    return try queue.sync { try inside(body) }
  }

  /// Runs `body` on the calling thread if no other call was made that has not ended. Calls that are made
  /// meanwhile wait for it.
  /// - Returns: The result of `body`; nil if it did not run.
  func ifFree<Result>(_ body: () throws -> Result?) rethrows -> Result? {
    guard calls.load(ordering: .acquiring) == 0, turn.try() else { return nil }
    return try insideTurn(body)
  }

  /// Runs `body` after the calls that were made before, without waiting for it. Releases `body` inside
  /// the call: a pool that is deallocated with it must not wait for its own queue.
  func async(_ body: @escaping @Sendable () -> Void) {
    let work = OneShotWork(body)
    calls.add(1, ordering: .acquiringAndReleasing)
    queue.async { [self] in
      inside { work() }
      calls.subtract(1, ordering: .acquiringAndReleasing)
    }
  }

  /// Returns a timer that calls `body` as ``async(_:)`` does. The timer does not retain this queue.
  func timer(_ body: @escaping @Sendable () -> Void) -> SerialTimer {
    SerialTimer(on: queue) { [weak self] in self?.inside(body) }
  }

  private func inside<Result>(_ body: () throws -> Result) rethrows -> Result {
    turn.lock()
    return try insideTurn(body)
  }

  /// Runs `body` while the caller has the turn, and ends the turn.
  private func insideTurn<Result>(_ body: () throws -> Result) rethrows -> Result {
    defer { turn.unlock() }
    thread.store(Self.ownThread, ordering: .relaxed)
    defer { thread.store(0, ordering: .relaxed) }
    return try body()
  }

  private static var ownThread: UInt {
    #if canImport(Darwin)
      unsafe UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}

// Safe to share: a dispatch source may be used from any thread.
/// A timer whose handler runs on a queue.
final class SerialTimer: @unchecked Sendable {
  private let source: any DispatchSourceTimer

  fileprivate init(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler(handler: body)
    source.schedule(deadline: .distantFuture)
    source.activate()
  }

  deinit { source.cancel() }

  /// Calls the handler once, after some seconds; replaces an earlier call.
  func start(afterSeconds seconds: Double) { source.schedule(deadline: .now() + seconds) }

  /// Calls the handler no more, until it is started again.
  func stop() { source.schedule(deadline: .distantFuture) }
}
