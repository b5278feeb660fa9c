// Rows into objects where entities share a table: each row says of which entity it is, and its object is of that class.

internal import CipherSQLite

/// What reading rows of one entity of a family needs, and of those below it, looked up once. Their columns are those of
/// ``EntityMapping/objectColumns``; or, for the entity's own objects alone, of ``EntityMapping/ownColumns``.
struct FamilyReader {
  private struct Member {
    let reader: RowReader
    let columns: [Int]
  }
  private let entity: EntityMapping
  /// By the number of the row's entity, less one.
  private let members: [Member]
  /// Whether rows say of which entity they are: all are of the first one otherwise.
  private let isMixed: Bool

  /// - Parameter isBranch: Whether rows of the entities below are among those that are read.
  init(_ entity: EntityMapping, isBranch: Bool, _ maps: IdentityMaps) {
    self.entity = entity
    isMixed = isBranch && entity.hasChildren
    if isMixed {
      members = entity.branchColumns.map {
        Member(reader: RowReader($0.entity.entity, maps), columns: $0.columns)
      }
    } else {
      members = [
        Member(
          reader: RowReader(entity, maps), columns: entity.storedSlots.indices.map { $0 + 2 })
      ]
    }
  }

  /// Puts the statement's present row into its object.
  func read(_ statement: Statement, _ packer: inout RowPacker) throws -> ManagedObject {
    let (id, version) = (statement.int64(0), statement.int64(1))
    let member = try member(isMixed ? statement.int64(2) : 1, id)
    let (object, isNews) = member.reader.relative(id, version)
    if isNews {
      let row = unsafe packer.pack(
        statement, columns: member.columns, slots: member.reader.slots, slotCount: member.reader.slotCount)
      unsafe member.reader.fill(object, version, row, packer.page)
    }
    return object
  }

  /// Puts a row that is handed over into its object.
  /// - Throws: When there is no memory for it; the object is as it was.
  func read(_ row: borrowing TakenRow, _ packer: inout RowPacker) throws -> ManagedObject {
    let (id, version) = (row.int64(0), row.int64(1))
    let member = try member(isMixed ? row.int64(2) : 1, id)
    let (object, isNews) = member.reader.relative(id, version)
    if isNews {
      let cells = unsafe try packer.pack(
        row, columns: member.columns, slots: member.reader.slots, slotCount: member.reader.slotCount)
      unsafe member.reader.fill(object, version, cells, packer.page)
    }
    return object
  }

  /// - Throws: ``StoreError/unreadableValue(entity:property:rowID:expected:)`` for a row of an entity that the model has not.
  @inline(__always) private func member(_ number: Int64, _ id: Int64) throws -> Member {
    guard members.indices.contains(Int(number) - 1) else {
      throw StoreError.unreadableValue(
        entity: entity.name, property: EntityColumn.name, rowID: id, expected: "entity")
    }
    return members[Int(number) - 1]
  }
}

extension RowReader {
  /// The object of a row of an entity that shares its table, and whether the row says anything new to it. One of another
  /// entity that has the row's id is invalid from then on: somebody else has made the row another one.
  @inline(__always) func relative(_ id: Int64, _ version: Int64) -> (ManagedObject, isNews: Bool) {
    guard let known = map.find(id), known.map !== map else { return object(id, version) }
    // What was written to it has no row any more.
    if known.overlay != nil, let entity = known.entity {
      map.host?.note(StoreError.objectGone(entity: entity.name, rowID: id))
    }
    map.host?.didLoseRow(id, table: map.table)
    return (map.add(id), true)
  }
}
