// Where the rows of a bulk insertion or upsert come from, and how many of them are in memory at once.

/// Rows that are read in blocks.
struct RowBlocks<Row> {
  /// Returns the next rows, at most the given number; nil after the last one.
  let next: (_ count: Int) throws -> [Row]?

  /// Makes blocks of a sequence, which is read while they are requested.
  init<Rows: Sequence>(_ rows: Rows) where Rows.Element == Row {
    var iterator: Rows.Iterator? = rows.makeIterator()
    next = { count in
      var block: [Row] = []
      // After nil, an iterator is not called again.
      while block.count < count, iterator != nil {
        guard let row = iterator?.next() else {
          iterator = nil
          break
        }
        block.append(row)
      }
      return block.isEmpty ? nil : block
    }
  }

  /// Makes blocks of the rows that another task hands over.
  init(_ rows: RowHandover<Row>) where Row: Sendable {
    var rest: [Row] = []
    next = { count in
      while rest.count < count, let more = try rows.take() { rest += more }
      let block = Array(rest.prefix(count))
      rest.removeFirst(block.count)
      return block.isEmpty ? nil : block
    }
  }
}

/// The number of rows of the next block: as many as have some megabytes of values, at most 500.
struct BlockSize {
  private static let bytes = 8 << 20
  private static let rows = 1...500
  /// The first block is small: nothing is known about the rows yet.
  private(set) var count = 64

  /// Notes the size of the values of a block that was written.
  mutating func didWrite(rows: Int, bytes: Int) {
    let fitting = bytes > 0 ? Self.bytes / max(1, bytes / max(1, rows)) : Self.rows.upperBound
    count = min(max(fitting, Self.rows.lowerBound), Self.rows.upperBound)
  }
}
