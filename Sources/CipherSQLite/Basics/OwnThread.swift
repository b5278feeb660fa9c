// Threads of their own, for what blocks: the pool that tasks share has none to spare for it.

private import Foundation

package enum OwnThread {
  /// Runs `body` on a new thread, and lets go of it there.
  ///
  /// A thread of Foundation keeps its block until the system takes the thread down. Dispatch has freed by then what it keeps for
  /// the thread; on Linux it goes on using that, and a queue that the block was the last to hold would corrupt the memory. So the
  /// block holds a box, which is empty when it ends. Nothing else in `Sources` makes a thread: a test looks for it.
  /// - Parameters:
  ///   - stackBytes: How large its stack is; what the system gives where nil.
  ///   - body: What it does. It has the quality of service of the caller.
  package static func start(stackBytes: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    let box = Locked<(@Sendable () -> Void)?>(body)
    let thread = Thread {
      let body = box.withLock { body in
        defer { body = nil }
        return body
      }
      body?()
    }
    if let stackBytes { thread.stackSize = stackBytes }
    thread.qualityOfService = Thread.current.qualityOfService
    thread.start()
  }
}
