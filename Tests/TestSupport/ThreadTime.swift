// The processor time of a thread, which a test can compare with a bound on a busy machine.

import Foundation

/// The processor time of this thread in seconds, without its waits.
public func threadTime() -> Double {
  var time = timespec()
  _ = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The processor time that this thread spends on `body`, in seconds.
public func threadTime(_ body: () throws -> Void) rethrows -> Double {
  let start = threadTime()
  try body()
  return threadTime() - start
}

/// The time for one size divided by the time for another, each the minimum of several runs. The runs
/// alternate, so that other load affects both: three of each, and up to ten while the factor is not below
/// `bound`.
/// - Parameters:
///   - small: The size to compare with. An eighth of `large` separates linear from quadratic work: 8 and 64.
///   - large: The size in question.
///   - bound: The upper bound of the factor; at least twice the expected one.
///   - seconds: Does the work for a size; returns the time of the part that counts.
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
