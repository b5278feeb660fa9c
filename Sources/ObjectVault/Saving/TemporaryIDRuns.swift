// The temporary ids of new objects, until a save assigns final ones: negative numbers, counted down.

/// Temporary ids that are reserved for the new objects of single tables.
///
/// If a table has many new objects, they get adjacent ids, even if objects of other tables are created in
/// between. An ObjectTable stores eight adjacent ids in one block; scattered ids would need a block each.
struct TemporaryIDRuns {
  /// The ids that are reserved for one table.
  private struct Run {
    var nextID: Int64 = 0
    var left: Int64 = 0
    /// The number of objects that got single ids.
    var single = 0
  }

  /// The runs, by the index of the table's root entity.
  private var runs: [Run] = []
  private static let length: Int64 = 8
  /// The first objects of each table, up to this number, get single ids in the order of creation, which
  /// are easy to read.
  private static let fewest = 8

  /// Returns the next id reserved for a table; nil if there is none.
  @inline(__always) mutating func next(_ table: Int) -> Int64? {
    guard runs.count > table, runs[table].left > 0 else { return nil }
    runs[table].left -= 1
    runs[table].nextID -= 1
    return runs[table].nextID
  }

  /// Returns an id for a table that has none reserved, and reserves more for a table with many new
  /// objects.
  /// - Parameter nextID: The highest id that is not yet issued or reserved.
  mutating func begin(_ table: Int, _ nextID: inout Int64) -> Int64 {
    if runs.count <= table { runs += [Run](repeating: Run(), count: table + 1 - runs.count) }
    guard runs[table].single >= Self.fewest else {
      runs[table].single += 1
      defer { nextID -= 1 }
      return nextID
    }
    // A block contains the ids from a multiple of eight on, and the highest id is issued first.
    let first = ((nextID + 1) & ~(Self.length - 1)) - 1
    nextID = first - Self.length
    (runs[table].nextID, runs[table].left) = (first, Self.length - 1)
    return first
  }
}
