// Packs rows on a thread other than the context's.

internal import CipherSQLite

/// Receives rows from the engine, packs them into pages, and passes them on in batches.
final class PagePacking: RowReceiver {
  // Safe: packing a row does not call back into this object, so that accesses cannot overlap. Otherwise
  // exclusivity would be checked for each row.
  @safe @exclusivity(unchecked) private var packer: RowPacker
  @safe @exclusivity(unchecked) private var batch: ScanAhead.Batch?
  private let slots: [Int]
  private let slotCount: Int
  private let hand: (ScanAhead.Batch) throws -> Void
  let columnCount: Int

  init(_ entity: EntityMapping, hand: @escaping (ScanAhead.Batch) throws -> Void) {
    packer = RowPacker(firstPageBytes: 65_536)
    slots = entity.storedSlots
    slotCount = entity.slots.count
    columnCount = entity.columnCount
    self.hand = hand
  }

  func take(_ row: borrowing TakenRow) throws {
    let cells = unsafe try packer.pack(row, firstColumn: 2, slots: slots, slotCount: slotCount)
    let packed = unsafe ScanAhead.Row(id: row.int64(0), version: row.int64(1), cells: cells)
    if batch?.page === packer.page, batch?.append(packed) == true { return }
    let former = batch
    try finish()
    // A page has about as many rows as the previous one.
    batch = ScanAhead.Batch(packed, in: packer.page, capacity: former?.count ?? 0)
  }

  /// Passes on the last batch.
  func finish() throws {
    if let batch { try hand(batch) }
    batch = nil
  }
}
