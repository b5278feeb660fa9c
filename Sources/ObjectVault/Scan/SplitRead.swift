// A read of all rows of a large table by two connections, if a second one is free. This thread reads the
// rows with the lower ids; another thread reads the rows with the higher ids and hands them over.

internal import CipherSQLite

/// One read by two connections.
struct SplitRead {
  // For a smaller range of ids, or if the last read found fewer than half as many rows, starting a thread
  // costs more than it saves.
  private static let fewest: Int64 = 20_000
  /// Whether this process may use more than one processor; determined once.
  private static let isUseful = usableProcessors() > 1

  let split: SplitQuery
  let entity: EntityMapping
  let context: any ScanContext
  /// The part of the ids whose rows this thread reads.
  let ownShare: Double
  /// The number of rows that the last read of the whole table found.
  var lastCount: Locked<Int?> { context.lastCount(of: entity) }

  /// Reads the rows, if two connections need less time than one.
  /// - Parameters:
  ///   - connection: The connection of this thread, on which no row has been read.
  ///   - state: The state of the file before the read began; nil if it is unknown.
  ///   - isWorthwhile: Returns whether the rows between two ids are worth a second thread.
  ///   - read: Runs a text that hands over rows, with its values, on the connection of this thread.
  ///   - handing: Creates the receiver of the second thread from the function that takes its batches.
  ///   - take: Takes a batch, on this thread, after the rows that `read` has read.
  /// - Returns: Whether the rows were read. If not, nothing was read.
  /// - Throws: The errors of the reads; ``CancellationError``.
  func run<Batch: Sendable>(
    on connection: Connection, state: SharedState?,
    isWorthwhile: (_ lowest: Int64, _ highest: Int64) -> Bool = { _, _ in true },
    read: (_ text: String, _ values: [SQLValue]) throws -> Void,
    handing: @escaping @Sendable (_ hand: @escaping (Batch) throws -> Void) -> any RowHanding,
    take: (Batch) -> Void
  ) throws -> Bool {
    guard Self.isUseful, let state, let pool = context.pool,
      let middle = try middle(connection, isWorthwhile)
    else { return false }
    let found: Void? = try pool.withFreeReader { other in
      let ahead = ScanAhead<Batch>(on: other) {
        [split, check = context.generationCheck] other, begin, hand in
        try other.reading {
          try check(other)
        } _: {
          // Both connections have begun to read. If the file has not changed since before the first read
          // began, both see the same state.
          guard other.sharedState == state else { return }
          try begin()
          let receiver = handing(hand)
          try other.deliverRows(to: receiver) {
            _ = try other.execute(sql: split.above, [.integer(middle)])
          }
          try receiver.finish()
        }
      }
      // Also after an error, the thread must not read on when the fetch has ended.
      defer { ahead.finish() }
      try read(split.below, [.integer(middle)])
      while true {
        let event = try ahead.next()
        try context.run?.check()
        switch event {
        case .batches(var batches): while let batch = batches.popLast() { take(batch) }
        case .end: return
        case .undone: return try read(split.above, [.integer(middle)])
        }
      }
    }
    return found != nil
  }

  /// Returns the id up to which this thread reads; nil when dividing the table costs more than it saves.
  private func middle(
    _ connection: Connection, _ isWorthwhile: (_ lowest: Int64, _ highest: Int64) -> Bool
  ) throws -> Int64? {
    // The range of ids limits the number of rows; the last count is more exact.
    guard lastCount.withLock({ $0 ?? .max }) >= Self.fewest / 2,
      let highest = try connection.value(sql: split.highest)?.int64,
      let lowest = try connection.value(sql: split.lowest)?.int64, lowest >= 0,
      highest - lowest >= Self.fewest, isWorthwhile(lowest, highest)
    else { return nil }
    return lowest + Int64(Double(highest - lowest) * ownShare)
  }
}
