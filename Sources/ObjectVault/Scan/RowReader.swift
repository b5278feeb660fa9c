// Rows into objects: each row is packed into a page, and has its one object.

internal import CipherSQLite

/// What reading rows of one entity needs, looked up once. Their columns are those of ``EntityMapping/ownColumns``: id,
/// version, stored slots. Where entities share a table, ``FamilyReader`` has one for each of them.
// Constants alone: what cannot change need not be retained for each row.
struct RowReader {
  let map: IdentityMap
  let slots: [Int]
  let slotCount: Int
  /// The one-to-ones whose column the entity has: the slots of both ends, and the map of those that they lead to.
  private let pairs: [(slot: Int, inverse: Int, map: IdentityMap)]
  private let hasPairs: Bool

  init(_ entity: EntityMapping, _ maps: IdentityMaps) {
    map = maps[entity.index]
    slots = entity.storedSlots
    slotCount = entity.slots.count
    pairs = entity.oneToOnes.compactMap { end in
      end.inverseSlot.map { (end.slot, $0, maps[end.destination.index]) }
    }
    hasPairs = !pairs.isEmpty
  }

  /// Puts the statement's present row into its object.
  @inline(__always)
  func read(_ statement: Statement, _ packer: inout RowPacker) -> ManagedObject {
    let version = statement.int64(1)
    let (object, isNews) = object(statement.int64(0), version)
    if isNews {
      let row = unsafe packer.pack(statement, firstColumn: 2, slots: slots, slotCount: slotCount)
      unsafe fill(object, version, row, packer.page)
    }
    return object
  }

  /// Puts a row that is handed over into its object.
  /// - Throws: When there is no memory for it; the object is as it was.
  @inline(__always)
  func read(_ row: borrowing TakenRow, _ packer: inout RowPacker) throws -> ManagedObject {
    let version = row.int64(1)
    let (object, isNews) = object(row.int64(0), version)
    if isNews {
      let row = unsafe try packer.pack(row, firstColumn: 2, slots: slots, slotCount: slotCount)
      unsafe fill(object, version, row, packer.page)
    }
    return object
  }

  /// Puts a row that lies packed in a page into its object.
  func read(_ row: ScanAhead.Row, in page: RowPage) -> ManagedObject {
    let (object, isNews) = object(row.id, row.version)
    if isNews { unsafe fill(object, row.version, row.cells, page) }
    return object
  }

  /// The object of a row, and whether the row says anything new to it.
  @inline(__always)
  func object(_ id: Int64, _ version: Int64) -> (ManagedObject, isNews: Bool) {
    guard let known = map.find(id) else { return (map.add(id), true) }
    // What was changed here, or is the same version, stays as it is.
    let isStale = known.isUnread || known.rowVersion != version
    return (known, isStale && known.overlay == nil && known.state != .deleted)
  }

  /// Gives an object the row that was packed last.
  @inline(__always)
  func fill(_ object: ManagedObject, _ version: Int64, _ row: UnsafeRawPointer, _ page: RowPage) {
    // What was fetched of its relationships is older than the row.
    if object.state != .fault { object.forgetFetchedMembers() }
    object.dropLastRow()
    object.state = .loaded
    object.rowVersion = version
    unsafe object.row = unsafe row
    object.page = page
    if hasPairs { tellPartners(of: object) }
  }

  /// Tells the objects that one-to-ones of the row lead to: they may have been read with another partner.
  @inline(never)
  private func tellPartners(of object: ManagedObject) {
    for pair in pairs {
      if let id = object.rowCell(pair.slot)?.int64 { pair.map.find(id)?.isLedTo(by: object, pair.inverse) }
    }
  }
}
