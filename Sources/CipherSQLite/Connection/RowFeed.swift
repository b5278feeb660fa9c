// Rows that the engine takes out of memory: the rows of a feed are those of a virtual table, so that one statement inserts
// them all, and no value is bound, copied and reset one by one.
//
//   INSERT OR FAIL INTO t (id, a, b) SELECT * FROM vault_feed_3
//
// The table is there for one feed at a time, and empty without one. The engine's side of it is RowFeeder.

/// Rows that were written in memory, each with an id, as the rows of a table: the id, then some of the cells.
package final class RowFeed {
  /// The columns behind the id.
  let columns: [FedColumn]
  // Unchecked exclusivity: never passed inout, and a row is put in for each object of a save.
  @safe @exclusivity(unchecked) private(set) var rows: [FedRow] = []
  /// The integers that stand for those of some columns, ``replacementCount`` for each row.
  @safe @exclusivity(unchecked) private(set) var replacements: [Int64] = []
  private let replaced: [Int]
  /// The row at which the last statement stopped; the count of rows when it took all.
  package internal(set) var position = 0

  /// - Parameters:
  ///   - slots: The cell of each column behind the id.
  ///   - replaced: Those of them whose integers are given with each row.
  package init(slots: [Int], replacing replaced: [Int] = [], capacity: Int) {
    columns = slots.map { FedColumn(slot: $0, replacement: replaced.firstIndex(of: $0)) }
    self.replaced = replaced
    rows.reserveCapacity(capacity)
    replacements.reserveCapacity(capacity * replaced.count)
  }

  /// Ids alone: the rows of a table of one column.
  package init(ids: some Sequence<Int64>) {
    (columns, replaced) = ([], [])
    rows = ids.map { unsafe FedRow(id: $0, cells: nil) }
  }

  /// Runs of ids that follow each other: the rows of a table of two columns, the first id of each run and the last.
  package init(runs ids: [Int64]) {
    (columns, replaced) = ([FedColumn(slot: 0, replacement: 0)], [0])
    var (firsts, ends): ([FedRow], [Int64]) = ([], [])
    for id in ids {
      if let end = ends.last, end &+ 1 == id {
        ends[ends.count - 1] = id
      } else {
        firsts.append(unsafe FedRow(id: id, cells: nil))
        ends.append(id)
      }
    }
    (rows, replacements) = (firsts, ends)
  }

  /// Pairs of integers: the rows of a table of two columns.
  package init(pairs: some Sequence<(Int64, Int64)>) {
    (columns, replaced) = ([FedColumn(slot: 0, replacement: 0)], [0])
    rows.reserveCapacity(pairs.underestimatedCount)
    replacements.reserveCapacity(pairs.underestimatedCount)
    for (first, second) in pairs {
      rows.append(unsafe FedRow(id: first, cells: nil))
      replacements.append(second)
    }
  }

  /// How many rows it has.
  package var count: Int { rows.count }

  /// How many integers of each row are given with it.
  var replacementCount: Int { replaced.count }

  /// Puts a row behind the others, which has cells for all slots. It is not copied.
  /// - Parameters:
  ///   - draft: Kept by the caller for as long as the feed, who puts nothing in meanwhile.
  ///   - replace: What stands for an integer of a slot that is replaced.
  package func append(
    _ id: Int64, _ draft: borrowing RowDraft, replace: (Int64) -> Int64 = { $0 }
  ) {
    for slot in replaced { replacements.append(replace(draft.cell(slot).int64 ?? 0)) }
    rows.append(unsafe FedRow(id: id, cells: UnsafeRawPointer(draft.cells)))
  }

  /// The name of the table with so many columns.
  package static func tableName(columnCount: Int) -> String { "vault_feed_\(columnCount)" }
}

/// The name of the first column of a feed, the id.
package let feedIDName = SQLName("c0")
/// That of the second one: the end of a run of ids, or the other id of a pair.
package let feedEndName = SQLName("c1")

/// A row of a feed.
@safe struct FedRow {
  let id: Int64
  // Those of a draft, which the one who feeds it keeps; nil where the feed has ids alone, runs of them, or pairs.
  let cells: UnsafeRawPointer?
}

/// A column of a feed.
struct FedColumn {
  let slot: Int
  /// The number of the integer that stands for the cell's, where it holds one; nil where nothing does.
  let replacement: Int?
}
