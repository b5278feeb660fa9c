// Threads of their own: what they leave when they end.

import CipherSQLite
import Dispatch
import Foundation
import Testing

@Suite(.tags(.pure)) struct OwnThreadTests {
  /// Says when it ends.
  private final class Witness: Sendable {
    let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  // Afterwards is too late: Dispatch has cleaned up for the thread then, and a queue that ends corrupts the memory.
  @Test func `what a body holds ends before its thread does`() {
    let threads = Locked<[ObjectIdentifier]>([])
    let (isLetGo, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // A thread that is being taken down is none of Foundation's any more: it gets a new object.
    let note: @Sendable () -> Void = { threads.withLock { $0.append(ObjectIdentifier(Thread.current)) } }
    do {
      let witness = Witness {
        note()
        hasEnded.signal()
      }
      DedicatedThread.start { [witness] in
        isLetGo.wait()
        withExtendedLifetime(witness, note)
      }
    }
    // From here on the thread is the only one that holds it.
    isLetGo.signal()
    hasEnded.wait()
    let seen = threads.withLock { $0 }
    #expect(seen.count == 2 && seen.first == seen.last)
  }
}
