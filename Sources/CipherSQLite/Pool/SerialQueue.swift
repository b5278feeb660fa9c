// A queue whose calls run one after another, and which knows whether its caller is inside of one.
//
// It does not use a value that the queue carries (`setSpecific`). Dispatch releases such a value by a block from a cache of the
// thread that releases the queue. On Linux that cache is used after it was freed when the thread is ending, as where a thread of
// Foundation is the last to hold a store: memory is corrupted.

private import Dispatch
private import Foundation
private import Synchronization

final class SerialQueue: Sendable {
  private let queue: DispatchQueue
  /// The thread that is inside of a call; 0 while none is.
  private let thread = Atomic<UInt>(0)

  init(label: String) { queue = DispatchQueue(label: label) }

  /// Whether the caller is inside of a call.
  var isInside: Bool {
    // Only a thread itself stores its number, so that the relaxed order is enough.
    thread.load(ordering: .relaxed) == Self.ownThread
  }

  /// Runs `body` on the calling thread, after the calls that were made before. Must not be called from inside of one.
  func sync<Result>(_ body: () throws -> Result) rethrows -> Result {
    try queue.sync { try inside(body) }
  }

  /// Runs `body` after the calls that were made before, and does not wait for it. Lets go of it inside of the call: a pool that
  /// ends with it must not wait for its own queue.
  func async(_ body: @escaping @Sendable () -> Void) {
    let work = HandedOver(body)
    queue.async { [self] in inside { work() } }
  }

  private func inside<Result>(_ body: () throws -> Result) rethrows -> Result {
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
