// Makes objects of rows: each row is packed into a page and assigned to its object.

internal import CipherSQLite

/// Reads rows of one entity. The columns are the id, the version and ``EntityMapping/fetchedSlots``, or the
/// slots that a fetch names. If entities share a table, ``HierarchyReader`` has a reader for each of them.
// All properties are constants, because constants need not be retained for each row.
struct RowReader {
  let map: IdentityMap
  /// The slots of the columns.
  let slots: [Int]
  let slotCount: Int
  /// Whether rows lack stored slots.
  private let isPartial: Bool
  /// The tag of the slots without a column.
  let others: UInt8
  /// The one-to-ones whose column the entity has: the slot of the to-one and of its inverse, and the map
  /// of the target's entity.
  private let pairs: [(slot: Int, inverse: Int, map: IdentityMap)]
  private let hasPairs: Bool
  /// Whether the class has a hook for fetches.
  private let wakes: Bool

  /// Prepares reading.
  /// - Parameter slots: The slots that are read; nil for ``EntityMapping/fetchedSlots``.
  init(_ entity: EntityMapping, _ maps: IdentityMaps, slots: [Int]? = nil) {
    map = maps[entity.index]
    self.slots = slots ?? entity.fetchedSlots
    isPartial = self.slots.count < entity.storedSlots.count
    others = isPartial ? RowCell.absent : 0
    slotCount = entity.slots.count
    pairs = entity.oneToOnes.compactMap { end in
      end.inverseSlot.map { (end.slot, $0, maps[end.destination.index]) }
    }
    hasPairs = !pairs.isEmpty
    wakes = map.hooks.contains(.awakeFromFetch)
  }

  /// Reads the statement's current row into its object.
  @inline(__always)
  func read(_ statement: Statement, _ packer: inout RowPacker) -> ManagedObject {
    let version = statement.int64(1)
    let (object, isNewer) = object(statement.int64(0), version: version)
    if isNewer {
      let row = unsafe packer.pack(
        statement, firstColumn: 2, slots: slots, slotCount: slotCount, others: others)
      unsafe fill(object, version: version, row: row, in: &packer)
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
      let row = unsafe try packer.pack(
        row, firstColumn: 2, slots: slots, slotCount: slotCount, others: others)
      unsafe fill(object, version: version, row: row, in: &packer)
    }
    return object
  }

  /// Assigns a row that is packed in a page to its object.
  func read(_ row: BatchRow, in page: RowPage, _ packer: inout RowPacker) -> ManagedObject {
    let (object, isNewer) = object(row.id, version: row.version)
    guard isNewer else { return object }
    if canJoin(object, version: row.version) {
      // The page outlives this call: the caller has the batch.
      unsafe join(object, row: row.cells, &packer)
    } else {
      unsafe fill(object, version: row.version, row: row.cells, in: page)
    }
    return object
  }

  /// Returns the object of a row, and whether the row is newer than the object, or has slots that the
  /// object lacks.
  @inline(__always)
  func object(_ id: Int64, version: Int64) -> (ManagedObject, isNewer: Bool) {
    guard let known = map.find(id) else { return (map.add(id), true) }
    // Objects with pending changes, deleted objects, and those with the row's version stay as they are.
    let isStale = known.isUnread || known.rowVersion != version || (known.isPartial && lacksSlot(known))
    return (known, isStale && known.overlay == nil && known.state != .deleted)
  }

  /// Returns whether an object lacks a slot that the rows have.
  private func lacksSlot(_ object: ManagedObject) -> Bool {
    slots.contains { object.packedCell($0)?.isAbsent ?? true }
  }

  /// Assigns a packed row to an object. If the object has other slots of the same version, it keeps them.
  @inline(__always)
  func fill(_ object: ManagedObject, version: Int64, row: UnsafeRawPointer, in packer: inout RowPacker) {
    guard canJoin(object, version: version) else {
      return unsafe fill(object, version: version, row: row, in: packer.page)
    }
    unsafe join(object, row: row, &packer)
  }

  /// Returns whether an object has other slots of the same version of its row.
  @inline(__always)
  private func canJoin(_ object: ManagedObject, version: Int64) -> Bool {
    isPartial && object.isPartial && object.state == .loaded && object.rowVersion == version
  }

  /// Replaces the row of an object by its cells and those of a row that was just packed.
  @inline(never)
  private func join(_ object: ManagedObject, row: UnsafeRawPointer, _ packer: inout RowPacker) {
    // Retains the page: the packer may begin another one.
    let page = packer.page
    let joined = packer.pack(slotCount: slotCount) { slot in
      let cell = unsafe RowCell(row: row, slot: slot)
      return cell.isAbsent ? object.packedCell(slot) : cell
    }
    withExtendedLifetime(page) {}
    unsafe object.row = unsafe joined.cells
    object.page = joined.page
    if hasPairs { notifyPartners(of: object) }
  }

  /// Assigns a packed row to an object.
  @inline(__always)
  func fill(_ object: ManagedObject, version: Int64, row: UnsafeRawPointer, in page: RowPage) {
    // Members that were fetched before may be outdated.
    if object.state != .fault, object.state == .invalid || !object.isPartial || object.rowVersion != version {
      object.forgetFetchedMembers()
      // A row that was missing may exist again with the version that it had.
      if object.state == .invalid || object.rowVersion != version { map.host?.didRefresh(object) }
    }
    object.dropLastRow()
    object.state = .loaded
    object.rowVersion = version
    object.isPartial = isPartial
    unsafe object.row = unsafe row
    object.page = page
    if hasPairs { notifyPartners(of: object) }
    if wakes { map.host?.didFetch(object) }
  }

  /// Notifies the objects that the row's one-to-ones refer to: these objects may have been read with
  /// another partner.
  @inline(never)
  private func notifyPartners(of object: ManagedObject) {
    for pair in pairs {
      // A subentity's own one-to-one may not have been fetched; it notifies when it is read.
      if let id = object.packedCell(pair.slot)?.int64 {
        pair.map.find(id)?.noteReference(by: object, pair.inverse)
      }
    }
  }
}
