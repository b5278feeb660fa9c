// Dedicated threads: captured values are released before the thread ends.

import CipherSQLite
import Dispatch
import Foundation
import Testing

@Suite(.tags(.pure)) struct OwnThreadTests {
  /// Calls a closure when it is deallocated.
  private final class Witness: Sendable {
    let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  // A release after the end of the thread is too late: Dispatch has cleaned up the thread by then, and a
  // queue that is deallocated there corrupts memory.
  @Test func `a dedicated thread releases the captures of its body before it ends`() {
    let threads = Locked<[ObjectIdentifier]>([])
    let (isLetGo, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // In a thread that is being torn down, `Thread.current` creates a new object, so the identifiers would
    // differ.
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
    // From here on only the thread retains the witness.
    isLetGo.signal()
    hasEnded.wait()
    let seen = threads.withLock { $0 }
    #expect(seen.count == 2 && seen.first == seen.last)
  }
}
