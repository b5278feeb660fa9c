// Changes that the engine takes out of memory: one statement goes through a run of ids and asks two functions of ours, which
// version each row must have and which values it gets. So no row is looked for, bound and reset by a statement of its own.
//
//   UPDATE OR FAIL t SET a = vault_value(id, 0), v = v + 1 WHERE id BETWEEN ? AND ? AND v = vault_version(id)
//
// A row that stands alone is changed by `WHERE id = ?` in place of the range: the engine keeps no copies of pages for one row.
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
  /// Where the rows end that are changed one by one.
  private var endOfSingles = 0
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

  /// So many rows are at least in a run that gets a statement of its own. SQLite 3.46 takes a function for something that may stop
  /// a statement halfway (3.15 does not), and keeps copies of pages for each that changes several rows; to let go of those it
  /// passes over all that the savepoint around has kept. Of runs of a few rows that was most of a save.
  private static let leastRun = 64

  /// The end of the run of rows that begins with one of them: one row, or many.
  func endOfRun(_ start: Int) -> Int {
    let rows = feed.rows
    // The rows of a short run were looked at before, when its first one was.
    guard start >= endOfSingles else { return start + 1 }
    var end = start + 1
    while end < rows.count, rows[end].id &- rows[end - 1].id <= Self.step { end += 1 }
    guard end - start < Self.leastRun else { return end }
    endOfSingles = end
    return start + 1
  }

  /// The first of some rows that was not written, as it is gone or has another version.
  func firstMissed(_ rows: Range<Int>) -> Int? { written[rows].firstIndex(of: false) }
}
