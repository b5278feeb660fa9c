// Makes objects of rows where entities share a table: each row contains its entity, and its object has
// that entity's class.

internal import CipherSQLite

/// Reads rows of an entity in an inheritance hierarchy, and of its subentities. The columns are
/// ``EntityMapping/objectColumns``, or for the entity's own objects alone ``EntityMapping/ownColumns``.
struct HierarchyReader {
  private struct Member {
    let reader: RowReader
    let columns: [Int]
  }
  private let entity: EntityMapping
  /// The reader for each entity. The index is the number of the entity in the row, minus 1.
  private let members: [Member]
  /// Whether rows contain the number of their entity; otherwise all rows are of `entity`.
  private let isMixed: Bool

  /// Prepares the readers.
  /// - Parameters:
  ///   - isBranch: Whether rows of subentities are read, too.
  ///   - slots: The slots that are read; nil for all but lazy ones.
  init(_ entity: EntityMapping, isBranch: Bool, _ maps: IdentityMaps, slots: [Int]? = nil) {
    self.entity = entity
    isMixed = isBranch && entity.hasChildren
    if let slots {
      let first = isMixed ? 3 : 2
      let names = slots.map { entity.slots[$0].name }
      members = (isMixed ? entity.branch : [entity]).map { member in
        Member(
          reader: RowReader(member, maps, slots: names.compactMap(member.slot)),
          columns: slots.indices.map { $0 + first })
      }
    } else if isMixed {
      members = entity.branchColumns.map {
        Member(reader: RowReader($0.entity.entity, maps), columns: $0.columns)
      }
    } else {
      members = [
        Member(
          reader: RowReader(entity, maps), columns: entity.fetchedSlots.indices.map { $0 + 2 })
      ]
    }
  }

  /// Reads the statement's current row into its object.
  func read(_ statement: Statement, _ packer: inout RowPacker) throws -> ManagedObject {
    let (id, version) = (statement.int64(0), statement.int64(1))
    let member = try member(number: isMixed ? statement.int64(2) : 1, id: id)
    let (object, isNewer) = member.reader.relative(id, version: version)
    if isNewer {
      let row = unsafe packer.pack(
        statement, columns: member.columns, slots: member.reader.slots, slotCount: member.reader.slotCount,
        others: member.reader.others)
      unsafe member.reader.fill(object, version: version, row: row, in: &packer)
    }
    return object
  }

  /// Reads a row, which the engine hands over, into the object of the row.
  /// - Throws: For a row of an entity that the model does not have, and when there is no memory for the
  ///   row. The object is unchanged.
  func read(_ row: borrowing TakenRow, _ packer: inout RowPacker) throws -> ManagedObject {
    let (id, version) = (row.int64(0), row.int64(1))
    let member = try member(number: isMixed ? row.int64(2) : 1, id: id)
    let (object, isNewer) = member.reader.relative(id, version: version)
    if isNewer {
      let cells = unsafe try packer.pack(
        row, columns: member.columns, slots: member.reader.slots, slotCount: member.reader.slotCount,
        others: member.reader.others)
      unsafe member.reader.fill(object, version: version, row: cells, in: &packer)
    }
    return object
  }

  /// Returns the reader for a row.
  /// - Throws: ``StoreError/unreadableValue(entity:property:rowID:expected:)`` for a row of an entity
  ///   that the model does not have.
  @inline(__always) private func member(number: Int64, id: Int64) throws -> Member {
    guard members.indices.contains(Int(number) - 1) else {
      throw StoreError.unreadableValue(
        entity: entity.name, property: EntityColumn.name, rowID: id, expected: "entity")
    }
    return members[Int(number) - 1]
  }
}

extension RowReader {
  /// Returns the object of a row of an entity that shares its table, and whether the row is newer than
  /// the object. An object of another entity with the row's id becomes invalid: another writer has
  /// changed the row's entity.
  @inline(__always) func relative(_ id: Int64, version: Int64) -> (ManagedObject, isNewer: Bool) {
    guard let known = map.find(id), known.map !== map else { return object(id, version: version) }
    // The object's pending changes cannot be saved: its row does not exist any more.
    if known.overlay != nil, let entity = known.entity {
      map.host?.note(StoreError.objectGone(entity: entity.name, rowID: id))
    }
    map.host?.didLoseRow(id, table: map.table)
    return (map.add(id), true)
  }
}
