// The ids of new objects until a save gives them theirs: negative, and counted down.

/// Temporary ids that are kept for the new objects of one table each.
///
/// Many of one table get ids that lie side by side, whatever is made of other tables in between: an ObjectTable keeps eight of
/// them together, and would else need a block for each.
struct TemporaryIDRuns {
  /// The ids that are kept for one table.
  private struct Run {
    var nextID: Int64 = 0
    var left: Int64 = 0
    /// How many got theirs one by one.
    var single = 0
  }

  /// By the index of the entity at the root of the table.
  private var runs: [Run] = []
  private static let length: Int64 = 8
  /// So many are counted down one by one, whatever they are of: numbers that are easily read.
  private static let fewest = 8

  /// The next one of those that are kept for a table; nil without any.
  @inline(__always) mutating func next(_ table: Int) -> Int64? {
    guard runs.count > table, runs[table].left > 0 else { return nil }
    runs[table].left -= 1
    runs[table].nextID -= 1
    return runs[table].nextID
  }

  /// One for a table that has none left, and keeps some more for it where it has many.
  /// - Parameter nextID: The first one that was given to nobody.
  mutating func begin(_ table: Int, _ nextID: inout Int64) -> Int64 {
    if runs.count <= table { runs += [Run](repeating: Run(), count: table + 1 - runs.count) }
    guard runs[table].single >= Self.fewest else {
      runs[table].single += 1
      defer { nextID -= 1 }
      return nextID
    }
    // A block begins at a multiple of eight, and its highest id comes first.
    let first = ((nextID + 1) & ~(Self.length - 1)) - 1
    nextID = first - Self.length
    (runs[table].nextID, runs[table].left) = (first, Self.length - 1)
    return first
  }
}
