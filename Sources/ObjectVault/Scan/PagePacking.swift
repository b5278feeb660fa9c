// Packs rows on a thread other than the context's.

internal import CipherSQLite

/// Receives rows from the engine, packs them into pages, and passes them on in batches.
final class PagePacking: RowHanding {
  // Safe: packing a row does not call back into this object, so that accesses cannot overlap. Otherwise
  // exclusivity would be checked for each row.
  @safe @exclusivity(unchecked) private var packer: RowPacker
  @safe @exclusivity(unchecked) private var batch: RowBatch?
  private let slots: [Int]
  private let slotCount: Int
  /// The tag of the slots that are not read.
  private let others: UInt8
  private let hand: (RowBatch) throws -> Void
  let columnCount: Int

  /// Prepares packing.
  /// - Parameter slots: The slots that the rows have; nil for all but lazy ones.
  init(_ entity: EntityMapping, slots: [Int]?, hand: @escaping (RowBatch) throws -> Void) {
    packer = RowPacker(firstPageBytes: 65_536)
    self.slots = slots ?? entity.fetchedSlots
    others = self.slots.count < entity.storedSlots.count ? RowCell.absent : 0
    slotCount = entity.slots.count
    columnCount = entity.columnCount(of: slots)
    self.hand = hand
  }

  func take(_ row: borrowing TakenRow) throws {
    let cells = unsafe try packer.pack(
      row, firstColumn: 2, slots: slots, slotCount: slotCount, others: others)
    let packed = unsafe BatchRow(id: row.int64(0), version: row.int64(1), cells: cells)
    if batch?.page === packer.page, batch?.append(packed) == true { return }
    let former = batch
    try finish()
    // A page has about as many rows as the previous one.
    batch = RowBatch(packed, in: packer.page, capacity: former?.count ?? 0)
  }

  /// Hands over the last batch.
  func finish() throws {
    if let batch { try hand(batch) }
    batch = nil
  }
}
