// Threads of their own, for what blocks: the pool that tasks share has none to spare for it.

private import Foundation

package enum OwnThread {
  /// Runs `body` on a new thread, and lets go of it there.
  ///
  /// A thread of Foundation keeps its block until the system takes the thread down. On Linux a queue that carries a value must not
  /// end that late (see `SerialQueue`), and what the app's closures hold is not known here. Nothing else in `Sources` makes a
  /// thread: a test looks for it.
  /// - Parameters:
  ///   - stackBytes: How large its stack is; what the system gives where nil.
  ///   - body: What it does. It has the quality of service of the caller.
  package static func start(stackBytes: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    let work = HandedOver(body)
    let thread = Thread { work() }
    if let stackBytes { thread.stackSize = stackBytes }
    thread.qualityOfService = Thread.current.qualityOfService
    thread.start()
  }
}
