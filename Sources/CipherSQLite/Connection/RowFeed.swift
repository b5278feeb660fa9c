// Rows that the engine takes out of memory: the rows of a feed are those of a virtual table, so that one statement inserts
// them all, and no value is bound, copied and reset one by one.
//
//   INSERT OR FAIL INTO t (id, a, b) SELECT * FROM vault_feed_3
//
// The table is there for one feed at a time, and empty without one. The engine's side of it is RowFeeder.

/// Packed rows, each with an id, as the rows of a table: the id, then some of the cells.
package final class RowFeed {
  /// The cell of each column behind the id.
  package let slots: [Int]
  package private(set) var rows: [FedRow] = []
  /// The row at which the last statement stopped; the count of rows when it took all.
  package internal(set) var position = 0

  package init(slots: [Int], capacity: Int) {
    self.slots = slots
    rows.reserveCapacity(capacity)
  }

  /// Puts a row behind the others. It was packed with cells for all slots.
  package func append(_ id: Int64, _ row: PackedRow) { rows.append(FedRow(id: id, row: row)) }

  /// The name of the table with so many columns.
  package static func tableName(columnCount: Int) -> String { "vault_feed_\(columnCount)" }
}

/// A row of a feed.
package struct FedRow {
  package let id: Int64
  package let row: PackedRow
}
