// The processor's time of a thread: what a test may hold against a bound on a busy machine.

import Foundation

/// The time that this thread has worked, in seconds: not what it waited for.
public func threadTime() -> Double {
  var time = timespec()
  _ = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// How long this thread works on `body`, in seconds.
public func threadTime(_ body: () throws -> Void) rethrows -> Double {
  let start = threadTime()
  try body()
  return threadTime() - start
}
