// Where a run of steps is, in rows.

internal import Foundation

/// Tells a `Progress` of the rows that are written, and of one more for each step, so that one without rows is seen, too.
final class RunMeter {
  private var progress: Progress?
  /// What each step adds up to.
  private var steps: ArraySlice<Int64> = []
  private var end: Int64 = 0
  /// What stands, whatever becomes of the rest.
  private var kept: Int64 = 0

  /// Begins an attempt: behind what stands of earlier ones.
  /// - Parameter rows: Those of each step that is left, as foreseen.
  func begin(_ progress: Progress, rows: [Int]) {
    steps = rows.map { Int64($0) + 1 }[...]
    (self.progress, end) = (progress, kept)
    // The total first: who draws a bar between the two shall not see more than the whole.
    progress.totalUnitCount = kept + steps.reduce(0, +)
    progress.completedUnitCount = kept
  }

  /// The steps that have ended were committed.
  func keep() { kept = end }

  func beginStep() { end += steps.popFirst() ?? 0 }

  /// Rows of the present step. There may be more than were foreseen.
  func wrote(_ rows: Int) {
    guard let progress else { return }
    progress.completedUnitCount = min(max(end - 1, 0), progress.completedUnitCount + Int64(rows))
  }

  func endStep() { progress?.completedUnitCount = end }
}
