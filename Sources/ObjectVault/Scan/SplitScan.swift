// A fetch of all rows of a large table by two connections, if a second one is free. This thread reads the
// rows with the lower ids and makes objects of them; another thread packs the rows with the higher ids.
// Most of the work of a scan is decryption and unpacking, which need no context.

internal import CipherSQLite

/// One fetch by two connections.
struct SplitScan {
  // For a smaller range of ids, or if the last fetch found fewer than half as many rows, starting a
  // thread costs more than it saves.
  private static let fewest: Int64 = 20_000
  // The share is less than half, because this thread makes the objects of all rows. With this share, both
  // threads were measured to end at about the same time.
  private static let ownShare = 0.3
  /// Whether this process may use more than one processor; determined once.
  private static let isUseful = usableProcessors() > 1

  let whole: String
  let split: SplitQuery
  let entity: EntityMapping
  let context: any ScanContext
  private var lastCount: Locked<Int?> { context.lastCount(of: entity) }

  /// Returns the objects of all rows, in the order of their ids.
  func objects() throws -> [ManagedObject] {
    try context.withState { connection, state in
      let collector = RowCollector(entity, context.maps)
      let found =
        if Self.isUseful, let state, let pool = context.pool, let middle = try middle(connection) {
          try pool.withFreeReader {
            try halves(into: collector, splitAt: middle, state: state, on: connection, and: $0)
          }
            ?? collector.all(.handedOver(whole), [], on: connection)
        } else {
          try collector.all(.handedOver(whole), [], on: connection)
        }
      lastCount.withLock { $0 = found.count }
      return found
    }
  }

  private func halves(
    into collector: RowCollector, splitAt middle: Int64, state: SharedState, on connection: Connection,
    and other: Connection
  ) throws -> [ManagedObject] {
    let ahead = ScanAhead(on: other) { [split, entity, check = context.generationCheck] other, begin, hand in
      try other.reading {
        try check(other)
      } _: {
        // Both connections have begun to read. If the file has not changed since before the first read
        // began, both see the same state.
        guard other.sharedState == state else { return }
        try begin()
        let packing = PagePacking(entity, hand: hand)
        try other.deliverRows(to: packing) { _ = try other.execute(sql: split.above, [.integer(middle)]) }
        try packing.finish()
      }
    }
    // Also after an error, the thread must not read on when the fetch has ended.
    defer { ahead.finish() }
    _ = try collector.all(.handedOver(split.below), [.integer(middle)], on: connection)
    while true {
      let event = try ahead.next()
      try context.run?.check()
      switch event {
      case .batches(var batches): while let batch = batches.popLast() { take(batch, collector) }
      case .end: return collector.found
      case .undone: return try collector.all(.handedOver(split.above), [.integer(middle)], on: connection)
      }
    }
  }

  private func take(_ batch: ScanAhead.Batch, _ collector: RowCollector) {
    collector.take(batch)
    context.countReadAhead(batch.count)
  }

  /// Returns the id up to which this thread reads; nil when dividing the table costs more than it saves:
  /// the table is too small, or its objects seem to be in memory already.
  private func middle(_ connection: Connection) throws -> Int64? {
    // The range of ids limits the number of rows; the last count is more exact.
    guard lastCount.withLock({ $0 ?? .max }) >= Self.fewest / 2,
      let highest = try connection.value(sql: split.highest)?.int64,
      let lowest = try connection.value(sql: split.lowest)?.int64, lowest >= 0,
      highest - lowest >= Self.fewest
    else { return nil }
    // Objects that are in memory need no packing on this thread; the other thread would pack all rows.
    let known = context.maps[entity.index]
    guard known.find(lowest) == nil || known.find(highest) == nil else { return nil }
    return lowest + Int64(Double(highest - lowest) * Self.ownShare)
  }
}
