// Makes objects of rows: each row is packed into a page and assigned to its object.

internal import CipherSQLite

/// Reads rows of one entity. The columns are ``EntityMapping/ownColumns``: id, version, stored slots. If
/// entities share a table, ``HierarchyReader`` has a reader for each of them.
// All properties are constants, because constants need not be retained for each row.
struct RowReader {
  let map: IdentityMap
  let slots: [Int]
  let slotCount: Int
  /// The one-to-ones whose column the entity has: the slot of the to-one and of its inverse, and the map
  /// of the target's entity.
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

  /// Reads the statement's current row into its object.
  @inline(__always)
  func read(_ statement: Statement, _ packer: inout RowPacker) -> ManagedObject {
    let version = statement.int64(1)
    let (object, isNewer) = object(statement.int64(0), version: version)
    if isNewer {
      let row = unsafe packer.pack(statement, firstColumn: 2, slots: slots, slotCount: slotCount)
      unsafe fill(object, version: version, row: row, in: packer.page)
    }
    return object
  }

  /// Reads a row, which the engine hands over, into the object of the row.
  /// - Throws: When there is no memory for the row; the object is unchanged.
  @inline(__always)
  func read(_ row: borrowing TakenRow, _ packer: inout RowPacker) throws -> ManagedObject {
    let version = row.int64(1)
    let (object, isNewer) = object(row.int64(0), version: version)
    if isNewer {
      let row = unsafe try packer.pack(row, firstColumn: 2, slots: slots, slotCount: slotCount)
      unsafe fill(object, version: version, row: row, in: packer.page)
    }
    return object
  }

  /// Assigns a row that is packed in a page to its object.
  func read(_ row: ScanAhead.Row, in page: RowPage) -> ManagedObject {
    let (object, isNewer) = object(row.id, version: row.version)
    if isNewer { unsafe fill(object, version: row.version, row: row.cells, in: page) }
    return object
  }

  /// Returns the object of a row, and whether the row is newer than the object.
  @inline(__always)
  func object(_ id: Int64, version: Int64) -> (ManagedObject, isNewer: Bool) {
    guard let known = map.find(id) else { return (map.add(id), true) }
    // Objects with pending changes, deleted objects, and those with the row's version stay as they are.
    let isStale = known.isUnread || known.rowVersion != version
    return (known, isStale && known.overlay == nil && known.state != .deleted)
  }

  /// Assigns a packed row to an object.
  @inline(__always)
  func fill(_ object: ManagedObject, version: Int64, row: UnsafeRawPointer, in page: RowPage) {
    // Members that were fetched before may be outdated.
    if object.state != .fault { object.forgetFetchedMembers() }
    object.dropLastRow()
    object.state = .loaded
    object.rowVersion = version
    unsafe object.row = unsafe row
    object.page = page
    if hasPairs { notifyPartners(of: object) }
  }

  /// Notifies the objects that the row's one-to-ones refer to: these objects may have been read with
  /// another partner.
  @inline(never)
  private func notifyPartners(of object: ManagedObject) {
    for pair in pairs {
      if let id = object.rowCell(pair.slot)?.int64 {
        pair.map.find(id)?.noteReference(by: object, pair.inverse)
      }
    }
  }
}
