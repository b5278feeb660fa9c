// New values of existing rows, which the engine reads from memory. One statement updates a whole run of
// rows, whose ids are close together. The statement calls two functions: one returns the version that
// each row must have, the other its new values. So no separate statement is needed to find each row.
//
//   UPDATE OR FAIL t SET a = vault_value(id, 0), v = v + 1
//   WHERE id BETWEEN ? AND ? AND v = vault_version(id)
//
// Both functions take the id, so they return the right values in any order of calls: some engines
// collect all rows before they change the first one, others change each row as they find it.
// RowChanger implements the functions.

/// New values for existing rows. A row is written only if it still has the expected version.
package final class RowChanges {
  /// The new values of each row.
  let feed: RowFeed
  /// The version that each row must have.
  // Unchecked exclusivity, here and below: never passed inout except in Connection.run, during which
  // no other code accesses it.
  @safe @exclusivity(unchecked) private(set) var versions: [Int64] = []
  /// For each row, whether one of its values was read, that is, whether it was written.
  @safe @exclusivity(unchecked) var written: [Bool] = []

  /// Creates an empty set of changes.
  /// - Parameters:
  ///   - slots: The slots of the values, in the order of their numbers in the statement.
  ///   - replaced: Those of `slots` whose integers are replaced when a row is appended.
  ///   - capacity: The expected number of rows.
  package init(slots: [Int], replacing replaced: [Int] = [], capacity: Int) {
    feed = RowFeed(slots: slots, replacing: replaced, capacity: capacity)
    versions.reserveCapacity(capacity)
    written.reserveCapacity(capacity)
  }

  /// The number of rows.
  package var count: Int { versions.count }
  /// The index of the row at which the last statement stopped; the number of rows if it wrote all.
  package var position: Int { feed.position }

  /// Appends a row. It is not copied.
  /// - Parameters:
  ///   - id: The row's id, which must be larger than the ids before it.
  ///   - version: The version that the row must have.
  ///   - draft: The new values. The caller keeps the draft as long as the changes and does not modify it.
  ///   - replace: Returns the replacement for an integer in a replaced slot.
  package func append(
    _ id: Int64, version: Int64, _ draft: borrowing RowDraft, replace: (Int64) -> Int64 = { $0 }
  ) {
    feed.append(id, draft, replace: replace)
    versions.append(version)
    written.append(false)
  }

  /// Returns the SQL expression for the new value of a row.
  /// - Parameters:
  ///   - number: The number of the value's slot, counted from 0.
  ///   - id: The column with the row's id.
  package static func value(_ number: Int, id: SQLName) -> SQL { "vault_value(\(id), \(number: number))" }

  /// Returns the SQL expression for the version that a row must have. It is NULL
  /// for a row without new values.
  package static func version(id: SQLName) -> SQL { "vault_version(\(id))" }

  /// The largest distance between two adjacent ids of one run. To skip a row that lies between them takes
  /// a tenth of the time of beginning another run, unless the row is on a separate page.
  private static let step: Int64 = 3

  /// The smallest run that is worth a statement of this kind. SQLite 3.46 (not 3.15) assumes that a function
  /// may abort the statement, and therefore saves the pages of each statement that changes several rows. To
  /// release the saved pages, it scans everything that the surrounding savepoint has saved. With runs of a
  /// few rows, these scans took most of the time of a save.
  package static let smallestRun = 64

  /// Returns whether two ids that are adjacent in an ascending list belong to one run.
  package static func isRun(from id: Int64, to next: Int64) -> Bool { next &- id <= step }

  /// Returns the end of the run of rows that begins at an index.
  func endOfRun(_ start: Int) -> Int {
    let rows = feed.rows
    var end = start + 1
    while end < rows.count, Self.isRun(from: rows[end - 1].id, to: rows[end].id) { end += 1 }
    return end
  }

  /// Returns the index of the first row in a range that was not written, because it was
  /// deleted or has another version.
  func firstUnwritten(_ rows: Range<Int>) -> Int? { written[rows].firstIndex(of: false) }
}
