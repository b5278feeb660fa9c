// A fetch of all rows of a large table by two connections at once, where a second one is free: this thread goes through
// the rows of the lower ids and makes objects of them, while another packs the rows of the higher ones. Most of a scan is
// decrypting and unpacking, which needs nothing of the context.

internal import CipherSQLite

/// One such fetch.
struct SplitScan {
  // Below these, beginning a thread costs more than it takes off.
  private static let fewest: Int64 = 20_000
  // This thread makes objects of all rows beside reading its own: measured, both then end at about the same time.
  private static let ownShare = 0.3
  /// Whether this process may use more than one processor; asked once.
  private static let isUseful = usableProcessors() > 1

  let whole: String
  let split: SplitQuery
  let entity: EntityMapping
  let ground: any ScanGround
  private var lastCount: Locked<Int?> { ground.lastCount(of: entity) }

  /// The objects of all rows, in the order of their ids.
  func objects() throws -> [ManagedObject] {
    try ground.withState { connection, state in
      let collector = RowCollector(entity, ground.maps)
      let found =
        if Self.isUseful, let state, let pool = ground.pool, let middle = try middle(connection) {
          try pool.withFreeReader { try halves(collector, middle, state, connection, $0) }
            ?? collector.all(.handedOver(whole), [], on: connection)
        } else {
          try collector.all(.handedOver(whole), [], on: connection)
        }
      lastCount.withLock { $0 = found.count }
      return found
    }
  }

  private func halves(
    _ collector: RowCollector, _ middle: Int64, _ state: SharedState, _ connection: Connection,
    _ other: Connection
  ) throws -> [ManagedObject] {
    let ahead = ScanAhead(on: other) { [split, entity, check = ground.generationCheck] other, begin, hand in
      try other.reading {
        try check(other)
      } _: {
        // The state was the same before the first read began and now that both have: so it is that of both.
        guard other.sharedState == state else { return }
        try begin()
        let packing = PagePacking(entity, hand: hand)
        try other.handRows(to: packing) { _ = try other.execute(sql: split.above, [.integer(middle)]) }
        try packing.finish()
      }
    }
    // Whatever happens, nobody reads on when the fetch has ended.
    defer { ahead.finish() }
    _ = try collector.all(.handedOver(split.below), [.integer(middle)], on: connection)
    while true {
      let event = try ahead.next()
      try ground.run?.check()
      switch event {
      case .batches(var batches): while let batch = batches.popLast() { take(batch, collector) }
      case .end: return collector.found
      case .undone: return try collector.all(.handedOver(split.above), [.integer(middle)], on: connection)
      }
    }
  }

  private func take(_ batch: ScanAhead.Batch, _ collector: RowCollector) {
    collector.take(batch)
    ground.countReadAhead(batch.count)
  }

  /// The id up to which this thread reads; nil when the table is too small to be split.
  private func middle(_ connection: Connection) throws -> Int64? {
    // Ids tell how many rows there may be; how many there were the last time, tells more.
    guard lastCount.withLock({ $0 ?? .max }) >= Self.fewest / 2,
      let highest = try connection.value(sql: split.highest)?.int64,
      let lowest = try connection.value(sql: split.lowest)?.int64, lowest >= 0,
      highest - lowest >= Self.fewest
    else { return nil }
    // Whom the context knows already, it finds without packing a row; the other thread would pack all of them.
    let known = ground.maps[entity.index]
    guard known.find(lowest) == nil || known.find(highest) == nil else { return nil }
    return lowest + Int64(Double(highest - lowest) * Self.ownShare)
  }
}
