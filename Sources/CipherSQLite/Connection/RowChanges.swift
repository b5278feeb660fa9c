// Changes that the engine takes out of memory: one statement goes through a run of ids and asks two functions of ours, which
// version each row must have and which values it gets. So no row is looked for, bound and reset by a statement of its own.
//
//   UPDATE OR FAIL t SET a = vault_value(id, 0), v = v + 1 WHERE id BETWEEN ? AND ? AND v = vault_version(id)
//
// Both take the id, and find what belongs to it in whatever order they are called: some engines gather all rows before they
// change the first one, others change each as they meet it. The engine's side is RowChanger.

/// Rows that are there already and get other values, each if it still has a version.
package final class RowChanges {
  /// The new values of each row.
  let feed: RowFeed
  /// The version that each row must have.
  // Unchecked exclusivity, here and below: never passed inout but for Connection.run, in which nobody else looks.
  @safe @exclusivity(unchecked) private(set) var versions: [Int64] = []
  /// Of which rows a value was asked for.
  @safe @exclusivity(unchecked) var written: [Bool] = []

  /// - Parameters:
  ///   - slots: The cell of each value, in the order of their numbers in the statement.
  ///   - replaced: Those of them whose integers are given with each row.
  package init(slots: [Int], replacing replaced: [Int] = [], capacity: Int) {
    feed = RowFeed(slots: slots, replacing: replaced, capacity: capacity)
    versions.reserveCapacity(capacity)
    written.reserveCapacity(capacity)
  }

  /// How many rows it has.
  package var count: Int { versions.count }
  /// The row at which the last statement stopped; the count of rows when it went through all.
  package var position: Int { feed.position }

  /// Puts a row behind the others. It is not copied.
  /// - Parameters:
  ///   - id: Above those of the others.
  ///   - draft: Kept by the caller for as long as the changes, who puts nothing in meanwhile.
  ///   - replace: What stands for an integer of a slot that is replaced.
  package func append(
    _ id: Int64, version: Int64, _ draft: borrowing RowDraft, replace: (Int64) -> Int64 = { $0 }
  ) {
    feed.append(id, draft, replace: replace)
    versions.append(version)
    written.append(false)
  }

  /// The text that asks for the new value of a row.
  /// - Parameter number: That of its slot, counted from 0.
  package static func value(_ number: Int, id: SQLName) -> SQL { "vault_value(\(id), \(number: number))" }

  /// The text that asks for the version that a row must have, and is NULL for a row that gets no other values.
  package static func version(id: SQLName) -> SQL { "vault_version(\(id))" }

  /// A row that lies so many ids behind another is in the same run: to pass over a row takes a tenth of what it takes to begin
  /// anew, unless it lies in a page of its own.
  private static let step: Int64 = 3

  /// So many rows of a run are worth a statement that goes through it. SQLite 3.46 takes a function for something that may stop a
  /// statement halfway (3.15 does not), and keeps copies of pages for each that changes several rows; to let go of those
  /// it passes over all that the savepoint around has kept. Of runs of a few rows that was most of a save.
  package static let leastRun = 64

  /// Whether two ids, in order, are of one run.
  package static func isRun(_ id: Int64, _ next: Int64) -> Bool { next &- id <= step }

  /// The end of the run of rows that begins with one of them.
  func endOfRun(_ start: Int) -> Int {
    let rows = feed.rows
    var end = start + 1
    while end < rows.count, Self.isRun(rows[end - 1].id, rows[end].id) { end += 1 }
    return end
  }

  /// The first of some rows that was not written, as it is gone or has another version.
  func firstMissed(_ rows: Range<Int>) -> Int? { written[rows].firstIndex(of: false) }
}
