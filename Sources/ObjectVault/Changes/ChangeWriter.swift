// Runs a change set on a store: the same rows, values and links, with the same ids.

internal import CipherSQLite
private import Foundation

struct ChangeWriter {
  let mapping: SchemaMapping
  let connection: Connection

  /// Inside a transaction that the caller opened. Everything is compared before anything is written.
  /// - Throws: ``StoreError/changesDoNotFit(entity:rowID:properties:)``, ``StoreError/unknownEntity(name:)``.
  func apply(_ changes: ChangeSet) throws {
    try check(changes)
    for link in changes.unlinked { try write(link, isAdded: false) }
    try freeUniqueValues(changes)
    for row in changes.inserted { try insert(row) }
    for row in changes.updated { try update(row) }
    try checkDependents(of: changes.deleted)
    try delete(changes.deleted)
    for link in changes.linked { try write(link, isAdded: true) }
  }

  // MARK: Whether they fit

  private func check(_ changes: ChangeSet) throws {
    for row in changes.inserted {
      guard try !exists(row.entity, row.rowID) else { throw misfit(row.entity, row.rowID, []) }
      _ = try slots(row.entity, row.rowID, row.values)
    }
    for row in changes.updated {
      let names = Set(row.old.keys).symmetricDifference(row.new.keys)
      guard names.isEmpty else { throw misfit(row.entity, row.rowID, names.sorted()) }
      try check(row.entity, row.rowID, row.old)
    }
    for row in changes.deleted {
      let entity = try entity(row.entity)
      let nils = entity.storedSlots.map { (entity.slots[$0].name, SQLValue.null) }
      try check(row.entity, row.rowID, row.values.merging(nils) { value, _ in value })
    }
  }

  /// What refers or is linked to a row that goes, and is not told to go or to change: the engine would take it along, or
  /// change it, and nobody would hear of it.
  private func checkDependents(of rows: [ChangeSet.Row]) throws {
    let going = Dictionary(grouping: rows, by: \.entity).mapValues { Set($0.map(\.rowID)) }
    for relationship in mapping.entities.flatMap(\.slots).compactMap(\.relationship) {
      switch relationship.storage {
      case .inverseColumn: break
      case .column:
        let owners = going[relationship.owner.name] ?? []
        for batch in (going[relationship.destination.name] ?? []).sorted().chunked(batchSize) {
          let found = try connection.query(
            sql: relationship.owner.referrersSQL(relationship.slot, count: batch.count),
            batch.map { .integer($0) }
          ) { $0.int64(0) }
          if let left = found.first(where: { !owners.contains($0) }) {
            throw misfit(relationship.owner.name, left, [relationship.name])
          }
        }
      case .join(let table, let isSource):
        for (entity, side) in [(relationship.owner, isSource), (relationship.destination, !isSource)] {
          for batch in (going[entity.name] ?? []).sorted().chunked(batchSize) {
            let link = try connection.query(
              sql: table.linksSQL(fromSource: side, count: batch.count), batch.map { .integer($0) }
            ) { $0.int64(0) }.first
            if let link { throw misfit(table.source, link, [table.relationship]) }
          }
        }
      }
    }
  }

  private func exists(_ entity: String, _ rowID: Int64) throws -> Bool {
    guard rowID > 0 else { throw misfit(entity, rowID, []) }
    return try connection.value(sql: self.entity(entity).existenceSQL, [.integer(rowID)]) != nil
  }

  /// Whether a row has these values.
  private func check(_ entity: String, _ rowID: Int64, _ values: ChangeSet.Values) throws {
    let slots = try slots(entity, rowID, values)
    let found = try connection.query(
      sql: self.entity(entity).valuesSQL(slots.map(\.slot)), [.integer(rowID)]
    ) { row in slots.indices.map { row.value($0) } }.first
    guard let found else { throw misfit(entity, rowID, []) }
    let others = zip(slots, found).filter { !$0.value.isStored(as: $1) }.map(\.0.name)
    guard others.isEmpty else { throw misfit(entity, rowID, others) }
  }

  private func misfit(_ entity: String, _ rowID: Int64, _ properties: [String]) -> StoreError {
    .changesDoNotFit(entity: entity, rowID: rowID, properties: properties)
  }

  // MARK: Rows

  private func insert(_ row: ChangeSet.Row) throws {
    let entity = try entity(row.entity)
    let values = entity.storedSlots.map { row.values[entity.slots[$0].name] ?? .null }
    try RowIDs(connection: connection).raise(row.entity, to: row.rowID)
    try connection.execute(sql: entity.insertSQL, [.integer(row.rowID)] + values)
    // The row may have been here before: whoever fetched it then must not take it for the same.
    try connection.execute(
      sql: entity.versionUpdateSQL, [.integer(RowVersions.unheardOf()), .integer(row.rowID)])
  }

  private func update(_ row: ChangeSet.Update) throws {
    let entity = try entity(row.entity)
    let slots = try slots(row.entity, row.rowID, row.new)
    try connection.execute(
      sql: entity.rewriteSQL(slots.map(\.slot)), slots.map(\.value) + [.integer(row.rowID)])
  }

  /// Who is below goes first, and none hangs on another of the same level: the engine would cascade by itself, from row to
  /// row, and gives up a thousand levels down.
  private func delete(_ rows: [ChangeSet.Row]) throws {
    for row in rows {
      let entity = try entity(row.entity)
      let slots = entity.storedSlots.filter { entity.isToOne[$0] && !entity.isRequired[$0] }
      guard !slots.isEmpty else { continue }
      try connection.execute(sql: entity.clearSQL(slots, count: 1), [.integer(row.rowID)])
    }
    for row in rows.reversed() {
      try connection.execute(sql: try entity(row.entity).deleteSQL(count: 1), [.integer(row.rowID)])
    }
  }

  /// A value that one row gives up may be what another one gets.
  private func freeUniqueValues(_ changes: ChangeSet) throws {
    for row in changes.updated { try setAside(row.entity, row.rowID) { row.new[$0] != nil } }
    for row in changes.deleted { try setAside(row.entity, row.rowID) { _ in true } }
  }

  private func setAside(_ name: String, _ rowID: Int64, where changes: (String) -> Bool) throws {
    let entity = try entity(name)
    let slots = entity.uniqueKeys.compactMap { key in
      let changed = key.filter { changes(entity.slots[$0].name) }
      return changed.first { !entity.isToOne[$0] } ?? changed.first
    }
    guard !slots.isEmpty else { return }
    let value = SQLValue.blob(Data("vault: set aside \(rowID)".utf8))
    let unique = Set(slots).sorted()
    try connection.execute(
      sql: entity.overwriteSQL(unique), unique.map { _ in value } + [.integer(rowID)])
  }

  // MARK: Links

  private func write(_ link: ChangeSet.Link, isAdded: Bool) throws {
    let entity = try entity(link.entity)
    guard let slot = entity.slot(named: link.relationship),
      case .join(let table, let isSource)? = entity.slots[slot].relationship?.storage
    else { throw misfit(link.entity, link.source, [link.relationship]) }
    let ids = isSource ? [link.source, link.target] : [link.target, link.source]
    try connection.execute(sql: isAdded ? table.linkSQL : table.unlinkSQL, ids.map { .integer($0) })
    guard connection.changes == 1 else { throw misfit(link.entity, link.source, [link.relationship]) }
  }

  // MARK: Names

  private func entity(_ name: String) throws -> EntityMapping {
    guard let entity = mapping.entity(named: name) else { throw StoreError.unknownEntity(name: name) }
    return entity
  }

  private func slots(_ entity: String, _ rowID: Int64, _ values: ChangeSet.Values) throws
    -> [(slot: Int, name: String, value: SQLValue)]
  {
    let entity = try self.entity(entity)
    return try values.sorted { $0.key < $1.key }.map { name, value in
      guard let slot = entity.slot(named: name), !entity.slots[slot].column.isEmpty else {
        throw misfit(entity.name, rowID, [name])
      }
      return (slot, name, value)
    }
  }
}
