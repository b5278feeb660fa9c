// Records what a save does, for change sets and for the history. Does nothing unless one of them is kept.

internal import CipherSQLite

extension SaveWriter {
  func recordInsertion(of object: ManagedObject, _ entity: EntityMapping, _ overlay: Overlay) {
    if history != nil {
      history?.insert(entity, id: plan.ids.final(object.rowID)) {
        put(overlay, slot: $1, of: entity, in: &$0)
      }
    }
    guard record != nil else { return }
    var values: ChangeSet.Values = [:]
    for slot in entity.storedSlots {
      values[entity.slots[slot].name] = resolved(overlay[slot], of: entity, slot: slot)
    }
    record?.insert(entity.name, rowID: plan.ids.final(object.rowID), values: values)
  }

  func recordUpdate(
    of object: ManagedObject, entity: EntityMapping, slots: [Int], overlay: Overlay
  ) {
    guard records, object.hasRow else { return }
    if history != nil {
      history?.update(entity, id: object.rowID, slots: slots) {
        if let cell = object.packedCell($1) { $0.put(cell) } else { $0.put(.null) }
      } new: {
        put(overlay, slot: $1, of: entity, in: &$0)
      }
    }
    guard record != nil else { return }
    var (old, new): (ChangeSet.Values, ChangeSet.Values) = ([:], [:])
    for slot in slots {
      let name = entity.slots[slot].name
      // The row in memory is that before the save, and has all written properties: see
      // ManagedObject.overwrite, and for lazy attributes ObjectContext.write.
      old[name] = object.packedCell(slot)?.value
      new[name] = resolved(overlay[slot], of: entity, slot: slot)
    }
    record?.update(entity.name, rowID: object.rowID, old: old, new: new)
  }

  @inline(__always) private func put(
    _ overlay: Overlay, slot: Int, of entity: EntityMapping, in writer: inout ByteWriter
  ) {
    if entity.isToOne[slot], let id = overlay.int64(slot) {
      writer.put(.integer(plan.ids.final(id)))
    } else {
      writer.put(overlay.values.cell(slot))
    }
  }

  private func resolved(_ value: SQLValue, of entity: EntityMapping, slot: Int) -> SQLValue {
    entity.isToOne[slot] ? plan.resolved(value) : value
  }

  /// Records a link.
  /// - Parameter isChange: Whether a statement changed the link. If the link already was as planned,
  ///   nothing is recorded.
  func recordLink(_ planned: PlannedLink, isChange: Bool) {
    guard isChange else { return }
    history?.link(
      planned.link.join, from: planned.source, to: planned.target, isAdded: planned.link.isAdded)
    let link = planned.link.join.link(from: planned.source, to: planned.target)
    if planned.link.isAdded { record?.link(link) } else { record?.unlink(link) }
  }

  /// Records the references that a delete rule is about to set to nil.
  func recordReleases(_ entity: EntityMapping, slot: Int, ids: [Int64]) throws {
    let keepsHistory = history.map { recorder in
      entity.branch.contains { recorder.numbers.detail($0) != nil }
    }
    guard record != nil || keepsHistory == true else { return }
    let name = entity.slots[slot].name
    let rows = try connection.query(
      sql: entity.columnSQL(slot, count: ids.count), ids.map { .integer($0) }
    ) { ($0.int64(0), $0.value(1)) }
    let entities =
      entity.hasChildren
      ? Dictionary(
        uniqueKeysWithValues: try ConnectionReader(connection: connection).entities(of: ids, entity)
          .map { ($0.id, $0.entity) }) : [:]
    for (id, value) in rows {
      let entity = entities[id] ?? entity
      record?.update(entity.name, rowID: id, old: [name: value], new: [name: .null])
      history?.update(entity, id: id, slots: [slot]) { writer, _ in
        writer.put(value)
      } new: { writer, _ in
        writer.put(.null)
      }
    }
    try history?.store(connection)
  }

  /// Records the rows that are to be deleted, before anything is written.
  func recordDeletedRows() throws {
    guard records else { return }
    for level in plan.deletion.levels {
      let entity = mapping.entities[level.entity]
      guard record != nil || history?.numbers.detail(entity) != nil else { continue }
      let names = entity.storedSlots.map { entity.slots[$0].name }
      for batch in level.ids.chunked(batchSize) {
        var rows: [(id: Int64, values: [SQLValue])] = []
        try connection.withStatement(sql: entity.wholeRowsSQL(count: batch.count)) { row in
          try row.bind(batch.map { .integer($0) })
          while try row.step() {
            if record != nil {
              rows.append((row.int64(0), names.indices.map { row.value($0 + 1) }))
            }
            // One by one: a row may have large values.
            var column = 0
            history?.delete(entity, id: row.int64(0)) { writer, _ in
              column += 1
              writer.put(row.value(column))
            }
            try history?.store(connection)
          }
        }
        for (id, values) in rows.sorted(by: { $0.id < $1.id }) {
          record?.delete(entity.name, rowID: id, values: Dictionary(uniqueKeysWithValues: zip(names, values)))
        }
      }
    }
  }

  /// Records the links of the rows that are to be deleted.
  func recordDeletedLinks() throws {
    guard records else { return }
    var gone: [ChangeSet.Link: JoinTable] = [:]
    for (table, side, ids) in endsOfDeletedRows
    where record != nil || history?.numbers.number(of: table) != nil {
      for batch in ids.chunked(batchSize) {
        let links = try connection.query(
          sql: table.linksSQL(fromSource: side, count: batch.count), batch.map { .integer($0) }
        ) { table.link(from: $0.int64(0), to: $0.int64(1)) }
        for link in links { gone[link] = table }
      }
    }
    let sorted = gone.sorted {
      ($0.key.entity, $0.key.source, $0.key.target) < ($1.key.entity, $1.key.source, $1.key.target)
    }
    for (link, table) in sorted {
      record?.unlink(link)
      history?.link(table, from: link.source, to: link.target, isAdded: false)
    }
    try history?.store(connection)
  }
}

extension SaveWriter {
  /// The ids of the deleted rows, for each join table and each end (source or target) at which they may
  /// be.
  var endsOfDeletedRows: [(table: JoinTable, isSource: Bool, ids: [Int64])] {
    var ends: [(table: JoinTable, isSource: Bool, ids: [Int64])] = []
    for relationship in mapping.relationships {
      // Each table once: the inverse of the relationship has the same table.
      guard let (table, isSource) = relationship.join, isSource else { continue }
      for (entity, side) in [(relationship.owner, true), (relationship.destination, false)] {
        let ids = plan.deletion.branchRows(entity)
        if !ids.isEmpty { ends.append((table, side, ids)) }
      }
    }
    return ends
  }
}

extension JoinTable {
  func link(from source: Int64, to target: Int64) -> ChangeSet.Link {
    ChangeSet.Link(entity: self.source, relationship: relationship, source: source, target: target)
  }
}
