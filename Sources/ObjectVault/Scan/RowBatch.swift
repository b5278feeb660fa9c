// Packed rows that one thread hands to another.

internal import CipherSQLite

// Safe to hand over, although a batch has pointers into a page: the reading thread writes the rows of
// the batch before it hands the batch over, under a lock that the receiver also takes, and never writes
// to these rows again. It may pack further rows into the same page, in the bytes after them. Afterwards
// only the task that has a row's object accesses the row (RowPage). The page's reference count is
// atomic.
/// Rows in one page, each stored as its distance from the first row. Many rows are queued at once, and
/// this halves their memory: the ids and versions within a page hardly differ.
@safe struct RowBatch: @unchecked Sendable {
  private let first: BatchRow
  private var steps: [Step] = []
  let page: RowPage
  var count: Int { steps.count }

  private struct Step {
    let id: UInt32
    let version: Int32
    let cells: UInt32
  }

  init(_ first: BatchRow, in page: RowPage, capacity: Int) {
    self.first = first
    self.page = page
    steps.reserveCapacity(capacity)
    steps.append(Step(id: 0, version: 0, cells: 0))
  }

  /// Adds a row of the page.
  /// - Returns: false if the row is too far from the first one to be stored; the caller then begins
  ///   another batch.
  @inline(__always) mutating func append(_ row: BatchRow) -> Bool {
    guard let id = UInt32(exactly: row.id &- first.id),
      let version = Int32(exactly: row.version &- first.version),
      let cells = unsafe UInt32(exactly: row.cells - first.cells)
    else { return false }
    steps.append(Step(id: id, version: version, cells: cells))
    return true
  }

  /// Returns a row. Its cells are valid as long as ``page``: the caller retains the page with it, as an
  /// object does.
  @inline(__always) subscript(_ index: Int) -> BatchRow {
    let step = steps[index]
    // Adds what `append` subtracted. If the subtraction overflowed, the addition overflows back.
    return unsafe BatchRow(
      id: first.id &+ Int64(step.id), version: first.version &+ Int64(step.version),
      cells: first.cells + Int(step.cells))
  }
}

/// A row in a page, which it does not retain: see ``RowBatch/page``.
@safe struct BatchRow {
  let id: Int64
  let version: Int64
  // Valid as long as the page is: the packer retains the page until the row is in a batch, and then the
  // batch does.
  let cells: UnsafeRawPointer
}
