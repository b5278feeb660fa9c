// Where a run of steps is, in rows.

internal import Foundation

/// Tells a `Progress` of the rows that are written, and of one more for each step, so that one without rows is seen, too.
final class RunMeter {
  private var progress: Progress?
  /// What each step adds up to.
  private var steps: ArraySlice<Int64> = []
  private var end: Int64 = 0

  /// - Parameter rows: Those of each step, as foreseen.
  func begin(_ progress: Progress, rows: [Int]) {
    steps = rows.map { Int64($0) + 1 }[...]
    (self.progress, end) = (progress, 0)
    progress.totalUnitCount = steps.reduce(0, +)
    progress.completedUnitCount = 0
  }

  func beginStep() { end += steps.popFirst() ?? 0 }

  /// Rows of the present step. There may be more than were foreseen.
  func wrote(_ rows: Int) {
    guard let progress else { return }
    progress.completedUnitCount = min(max(end - 1, 0), progress.completedUnitCount + Int64(rows))
  }

  func endStep() { progress?.completedUnitCount = end }
}
