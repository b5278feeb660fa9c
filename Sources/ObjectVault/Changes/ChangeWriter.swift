// Applies a change set to a store: writes its rows, values and links with their ids.

internal import CipherSQLite
private import Foundation

struct ChangeWriter {
  private let names: ChangeNames
  private let connection: Connection
  private let reservedIDs: ReservedIDs

  init(mapping: SchemaMapping, connection: Connection, reservedIDs: ReservedIDs) {
    names = ChangeNames(mapping: mapping)
    self.connection = connection
    self.reservedIDs = reservedIDs
  }

  /// Applies the changes inside a transaction that the caller opened. The whole set is checked against
  /// the file before anything is written.
  /// - Throws: ``StoreError/changesDoNotFit(entity:rowID:properties:)``,
  ///   ``StoreError/unknownEntity(name:)``; ``StoreError/validation(_:)`` if a trigger skips the change
  ///   of a row with RAISE(IGNORE), or if a trigger or constraint that is not part of the model refuses a
  ///   link; ``SQLError``, also if such a trigger or constraint refuses a row.
  func apply(_ changes: ChangeSet) throws {
    var fit = try ChangeSetCheck(changes, names: names, on: connection)
    try fit.check()
    for link in changes.unlinked { try write(link, isAdded: false) }
    try freeUniqueValues(changes)
    try raiseMarks(changes.inserted)
    for row in changes.inserted { try insert(row) }
    for row in changes.updated { try update(row) }
    try checkDependents(of: changes.deleted)
    try delete(changes.deleted)
    for link in changes.linked { try write(link, isAdded: true) }
    for placement in changes.placed { try write(placement) }
  }

  /// Checks that no link and no row that stays refers to a row that will be deleted. Otherwise the engine
  /// would delete or change what refers to it, and no listener would be notified. Called after updates
  /// and removals of links were written.
  private func checkDependents(of rows: [ChangeSet.Row]) throws {
    let byName = Dictionary(grouping: rows, by: \.entity).mapValues { Set($0.map(\.rowID)) }
    func going(_ entity: EntityMapping) -> Set<Int64> {
      entity.branch.reduce(into: []) { $0.formUnion(byName[$1.name] ?? []) }
    }
    for relationship in names.mapping.relationships {
      switch relationship.storage {
      case .inverseColumn: break
      case .column:
        let owners = going(relationship.owner)
        for batch in going(relationship.destination).sorted().chunked(batchSize) {
          let found = try connection.query(
            sql: relationship.owner.referrersSQL(relationship.slot, count: batch.count),
            batch.map { .integer($0) }
          ) { $0.int64(0) }
          if let left = found.first(where: { !owners.contains($0) }) {
            throw names.misfit(relationship.owner.name, rowID: left, properties: [relationship.name])
          }
        }
      case .join(let table, let isSource):
        for (entity, side) in [(relationship.owner, isSource), (relationship.destination, !isSource)] {
          for batch in going(entity).sorted().chunked(batchSize) {
            let link = try connection.query(
              sql: table.linksSQL(fromSource: side, count: batch.count), batch.map { .integer($0) }
            ) { $0.int64(0) }.first
            if let link { throw names.misfit(table.source, rowID: link, properties: [table.relationship]) }
          }
        }
      }
    }
  }

  // MARK: Rows

  /// Raises the high-water marks, so that saves do not assign the ids of the inserted rows.
  private func raiseMarks(_ rows: [ChangeSet.Row]) throws {
    var highest: [String: Int64] = [:]
    for row in rows {
      let root = try names.entity(row.entity).root.name
      highest[root] = max(highest[root] ?? 0, row.rowID)
    }
    let ids = RowIDs(connection: connection, reserved: reservedIDs)
    for (entity, id) in highest { try ids.raise(entity, to: id, endsOtherReservations: true) }
  }

  private func insert(_ row: ChangeSet.Row) throws {
    let entity = try names.entity(row.entity)
    let values = entity.storedSlots.map { row.values[entity.slots[$0].name] ?? .null }
    try write(entity, rowID: row.rowID, sql: entity.insertSQL, values: [.integer(row.rowID)] + values)
    // A row with this id may have existed before. The random version keeps contexts that fetched the
    // former row from mistaking the new row for it.
    try connection.execute(
      sql: entity.versionUpdateSQL, [.integer(RowVersions.unusedVersion()), .integer(row.rowID)])
  }

  private func update(_ row: ChangeSet.Update) throws {
    let entity = try names.entity(row.entity)
    let slots = try names.slots(of: entity, rowID: row.rowID, values: row.new)
    try write(
      entity, rowID: row.rowID, sql: entity.rewriteSQL(slots.map(\.slot)),
      values: slots.map(\.value) + [.integer(row.rowID)])
  }

  /// Writes a row. If another row has one of its unique values, the error names the row that was to be
  /// written.
  private func write(_ entity: EntityMapping, rowID: Int64, sql: String, values: [SQLValue]) throws {
    do {
      let count = try connection.execute(sql: sql, values)
      guard count == 1 else { throw StoreError.ignored(entity, id: rowID, what: "written") }
    } catch let error as SQLError {
      guard case .constraint(let message, _, _) = error, let broken = names.mapping.brokenColumns(message)
      else { throw error }
      throw names.misfit(entity.name, rowID: rowID, properties: broken.columns.map(\.property))
    }
  }

  /// Deletes rows. References between them are cleared first: otherwise the engine would cascade from row
  /// to row, and it fails beyond a thousand levels. A required reference gets an id that no row has.
  /// Foreign keys are deferred, so this is allowed until the commit, and the row is deleted before the
  /// commit.
  private func delete(_ rows: [ChangeSet.Row]) throws {
    for row in rows {
      let entity = try names.entity(row.entity)
      let slots = entity.storedSlots.filter { entity.isToOne[$0] }
      guard !slots.isEmpty else { continue }
      let ends = slots.map { entity.isRequired[$0] ? SQLValue.integer(-row.rowID) : .null }
      try connection.execute(sql: entity.overwriteSQL(slots), ends + [.integer(row.rowID)])
    }
    for row in rows {
      let entity = try names.entity(row.entity)
      try connection.execute(sql: entity.deleteSQL(count: 1), [.integer(row.rowID)])
      // The row may already have been deleted by a cascade.
      guard try connection.value(sql: entity.existenceSQL, [.integer(row.rowID)]) == nil else {
        throw StoreError.ignored(entity, id: row.rowID, what: "deleted")
      }
    }
  }

  /// Frees unique values of the changed and deleted rows, because another row of the set may get them.
  private func freeUniqueValues(_ changes: ChangeSet) throws {
    for row in changes.updated { try setAside(row.entity, row.rowID) { row.new[$0] != nil } }
    for row in changes.deleted { try setAside(row.entity, row.rowID) { _ in true } }
  }

  private func setAside(_ name: String, _ rowID: Int64, where changes: (String) -> Bool) throws {
    let entity = try names.entity(name)
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
    let (entity, relationship) = try names.end(of: link)
    guard let (table, isSource) = relationship.join else { return }
    let ids = isSource ? [link.source, link.target] : [link.target, link.source]
    let ends = ids.map { SQLValue.integer($0) }
    do {
      let isWritten =
        try isAdded
        ? connection.write(link: ends, in: table, besideTriggers: connection.firesTriggers(table: table.name))
        : connection.execute(sql: table.unlinkSQL, ends) == 1
      guard isWritten else {
        throw names.misfit(link.entity, rowID: link.source, properties: [link.relationship])
      }
    } catch SQLError.constraint(let message, _, _) {
      let what = "\(isAdded ? "linked to" : "unlinked from") \(relationship.destination.name) \(link.target)"
      throw StoreError.refused(
        entity, property: link.relationship, id: link.source, message: message, what: what)
    }
  }

  /// Writes the place of a member. An object that is no member any more has no row to change: it lost its
  /// place with its reference or link.
  private func write(_ placement: ChangeSet.Placement) throws {
    let relationship = try names.relationship(of: placement)
    try connection.execute(
      sql: relationship.placeSQL,
      [placement.new.map { .integer($0) } ?? .null, .integer(placement.member), .integer(placement.owner)])
    guard placement.new == nil || connection.changes == 1 else {
      throw names.misfit(placement.entity, rowID: placement.owner, properties: [placement.relationship])
    }
  }
}
