// New threads for work that blocks. Such work must not block the threads of Swift's cooperative pool.

private import Foundation

package enum DedicatedThread {
  /// Runs `body` on a new thread, and releases it on that thread as soon as it has run.
  ///
  /// A Foundation thread keeps its block, and all that the block retains, until the system tears the
  /// thread down. On Linux, memory is corrupted if a Dispatch queue with a queue-specific value is
  /// released that late (see `SerialQueue`), and the app's closures may retain such a queue. No other
  /// Swift code in `Sources` creates a thread; a test checks this.
  /// - Parameters:
  ///   - stackBytes: The size of the thread's stack; nil for the system's default.
  ///   - body: The work. It runs with the caller's quality of service.
  package static func start(stackBytes: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    let work = OneShotWork(body)
    let thread = Thread { work() }
    if let stackBytes { thread.stackSize = stackBytes }
    thread.qualityOfService = Thread.current.qualityOfService
    thread.start()
  }
}
