// A fetch of all objects of a large table by two connections. Most of the work of a scan is decryption
// and unpacking, which need no context: the second thread packs its rows, and the context's thread makes
// objects of them.

internal import CipherSQLite

/// One fetch by two connections.
struct SplitScan {
  // Less than half, because this thread makes the objects of all rows. With this share, both threads were
  // measured to end at about the same time.
  private static let ownShare = 0.3

  let whole: String
  let split: SplitQuery
  let entity: EntityMapping
  /// The slots that are read; nil for all but lazy ones.
  let slots: [Int]?
  let context: any ScanContext

  /// Returns the objects of all rows, in the order of their ids.
  func objects() throws -> [ManagedObject] {
    try context.withState { connection, state in
      let collector = RowCollector(entity, context.maps, slots: slots)
      let read = SplitRead(split: split, entity: entity, context: context, ownShare: Self.ownShare)
      let isRead = try read.run(on: connection, state: state) { lowest, highest in
        // Objects that are in memory need no packing on this thread; the other thread would pack all rows.
        let known = context.maps[entity.index]
        return known.find(lowest) == nil || known.find(highest) == nil
      } read: { text, values in
        _ = try collector.all(.handedOver(text), values, on: connection)
      } handing: { [entity, slots] hand in
        PagePacking(entity, slots: slots, hand: hand)
      } take: { (batch: RowBatch) in
        collector.take(batch)
        context.countReadAhead(batch.count)
      }
      if !isRead { _ = try collector.all(.handedOver(whole), [], on: connection) }
      read.lastCount.withLock { $0 = collector.found.count }
      return collector.found
    }
  }
}
