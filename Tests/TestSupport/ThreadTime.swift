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

/// How many times as long one size takes as another, by the least of several runs of each. They are run by turns, so
/// that whatever else the machine does meets both: three of each, and up to ten while the factor is not below `bound`.
/// - Parameters:
///   - small: The size that is compared with. An eighth tells what is linear from what is quadratic: 8 and 64.
///   - large: The size that is looked at.
///   - bound: What the factor has to be below; at least twice what it should be.
///   - seconds: Does the work for a size; returns how long the part that counts has taken.
public func timeFactor(
  from small: Int, to large: Int, below bound: Double, _ seconds: (_ size: Int) async throws -> Double
) async rethrows -> Double {
  var (least, most) = (Double.infinity, Double.infinity)
  for run in 0..<10 where run < 3 || most >= bound * least {
    least = min(least, try await seconds(small))
    most = min(most, try await seconds(large))
  }
  return most / least
}
