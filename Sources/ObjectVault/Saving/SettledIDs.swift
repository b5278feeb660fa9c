// The final ids of objects that were new, kept after their save: a fetch or a look-up may refer to an object
// by the temporary id that it had before.

/// The final ids of saved objects, by the temporary ids that they had before.
package struct SettledIDs {
  /// Temporary ids that were assigned one after another, and whose final ids are consecutive. Both are
  /// assigned by table, so that a save of many objects makes few runs.
  private struct Run {
    /// The first, which is the highest.
    let temporary: Int64
    let final: Int64
    var count: Int64
  }

  private var runs: [Run] = []
  /// Whether the runs are in descending order of their temporary ids. A save adds the ids of one entity
  /// after another, so that the order is restored when an id is next looked up.
  private var isSorted = true

  package init() {}

  /// The number of runs, which determines the memory that the ids take.
  package var runCount: Int { runs.count }

  /// Adds the final id of an object.
  package mutating func add(_ final: Int64, for temporary: Int64) {
    if let last = runs.last {
      if last.temporary - last.count == temporary, last.final + last.count == final {
        runs[runs.count - 1].count += 1
        return
      }
      if last.temporary < temporary { isSorted = false }
    }
    runs.append(Run(temporary: temporary, final: final, count: 1))
  }

  /// Returns the final id of a temporary one; nil if no object with it was saved.
  package mutating func final(_ temporary: Int64) -> Int64? {
    if !isSorted { runs.sort { $0.temporary > $1.temporary } }
    isSorted = true
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].temporary >= temporary { low = middle + 1 } else { high = middle }
    }
    guard low > 0, case let run = runs[low - 1], run.temporary - temporary < run.count else { return nil }
    return run.final + (run.temporary - temporary)
  }
}
