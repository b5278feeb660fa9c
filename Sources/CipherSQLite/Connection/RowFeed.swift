// Rows in memory that the engine reads as a virtual table. One statement inserts all of them, and no value
// has to be bound, copied and reset individually.
//
//   INSERT OR FAIL INTO t (id, a, b) SELECT * FROM vault_feed_3
//
// The table serves one feed at a time and is empty without one. RowFeeder implements the table.

/// Rows in memory as the rows of a table: the id, followed by some of the cells.
package final class RowFeed {
  /// The columns after the id.
  let columns: [FeedColumn]
  // Unchecked exclusivity: never passed inout, and appended to for each object of a save.
  @safe @exclusivity(unchecked) private(set) var rows: [FeedRow] = []
  /// The integers that replace cells of some columns: ``replacementCount`` for each row.
  @safe @exclusivity(unchecked) private(set) var replacements: [Int64] = []
  private let replaced: [Int]
  /// The index of the row at which the last statement stopped; the number of rows if it read all.
  package internal(set) var position = 0

  /// Creates an empty feed.
  /// - Parameters:
  ///   - slots: The slot of each column after the id.
  ///   - replaced: Those of `slots` whose integers are replaced when a row is appended.
  ///   - capacity: The expected number of rows.
  package init(slots: [Int], replacing replaced: [Int] = [], capacity: Int) {
    columns = slots.map { FeedColumn(slot: $0, replacement: replaced.firstIndex(of: $0)) }
    self.replaced = replaced
    rows.reserveCapacity(capacity)
    replacements.reserveCapacity(capacity * replaced.count)
  }

  /// Creates a feed of ids alone: a table with one column.
  package init(ids: some Sequence<Int64>) {
    (columns, replaced) = ([], [])
    rows = ids.map { unsafe FeedRow(id: $0, cells: nil) }
  }

  /// Creates a feed of the runs of consecutive ids in `ids`: a table with two columns, the first
  /// and the last id of each run.
  package init(runs ids: [Int64]) {
    (columns, replaced) = ([FeedColumn(slot: 0, replacement: 0)], [0])
    var (firsts, ends): ([FeedRow], [Int64]) = ([], [])
    for id in ids {
      if let end = ends.last, end &+ 1 == id {
        ends[ends.count - 1] = id
      } else {
        firsts.append(unsafe FeedRow(id: id, cells: nil))
        ends.append(id)
      }
    }
    (rows, replacements) = (firsts, ends)
  }

  /// Creates a feed of pairs of integers: a table with two columns.
  package init(pairs: some Sequence<(Int64, Int64)>) {
    (columns, replaced) = ([FeedColumn(slot: 0, replacement: 0)], [0])
    rows.reserveCapacity(pairs.underestimatedCount)
    replacements.reserveCapacity(pairs.underestimatedCount)
    for (first, second) in pairs {
      rows.append(unsafe FeedRow(id: first, cells: nil))
      replacements.append(second)
    }
  }

  /// The number of rows.
  package var count: Int { rows.count }

  /// The number of replaced integers in each row.
  var replacementCount: Int { replaced.count }

  /// Appends a row, which must have cells for all slots. It is not copied.
  /// - Parameters:
  ///   - id: The row's id.
  ///   - draft: The values. The caller keeps the draft as long as the feed and does not modify it.
  ///   - replace: Returns the replacement for an integer in a replaced slot.
  package func append(
    _ id: Int64, _ draft: borrowing RowDraft, replace: (Int64) -> Int64 = { $0 }
  ) {
    for slot in replaced { replacements.append(replace(draft.cell(slot).int64 ?? 0)) }
    rows.append(unsafe FeedRow(id: id, cells: UnsafeRawPointer(draft.cells)))
  }

  /// Returns the name of the virtual table with a number of columns.
  package static func tableName(columnCount: Int) -> String { "vault_feed_\(columnCount)" }

  /// Returns the name of a column; column 0 is the id.
  package static func columnName(_ number: Int) -> SQLName { SQLName("c\(number)") }
}

/// The name of the first column of a feed: the id.
package let feedIDName = SQLName("c0")
/// The name of the second column of a feed of runs or pairs: the last id of a run, or
/// the other integer of a pair.
package let feedEndName = SQLName("c1")

/// A row of a feed.
@safe struct FeedRow {
  let id: Int64
  // The cells of a draft, which the caller that fills the feed keeps alive; nil in
  // feeds of ids, runs or pairs.
  let cells: UnsafeRawPointer?
}

/// A column of a feed.
struct FeedColumn {
  let slot: Int
  /// The index, among a row's replacements, of the integer for this column; nil if the column is not
  /// replaced.
  let replacement: Int?
}
