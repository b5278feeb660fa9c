// The uncommitted changes of a write, as a value: compares the rows and links of the last commit, which
// another connection still sees, with those that the write's connection sees.

internal import CipherSQLite

/// Compares the rows that a write has changed with the last commit.
struct UncommittedChanges {
  private typealias Row = (entity: EntityMapping, values: ChangeSet.Values)

  let written: WrittenRows
  let mapping: SchemaMapping
  /// A connection that sees the last commit.
  let before: Connection
  /// The connection of the write.
  let now: Connection

  /// Returns all differences as a change set. A value that was changed and changed back is not included.
  func collected() throws -> ChangeCollector {
    var collector = ChangeCollector()
    collector.changedBySQL = written.changedBySQL
    var gone: [Int: [Int64: Row]] = [:]
    for (table, ids) in written.ids.sorted(by: { $0.key < $1.key }) {
      let (root, all) = (mapping.entities[table], ids.all)
      let (old, new) = (try Self.rows(all, of: root, on: before), try Self.rows(all, of: root, on: now))
      for id in all {
        if let new = new[id] {
          if let old = old[id] {
            collector.update(new.entity.name, rowID: id, old: old.values, new: new.values)
          } else {
            collector.insert(new.entity.name, rowID: id, values: new.values)
          }
        } else if let old = old[id] {
          gone[table, default: [:]][id] = old
        }
      }
    }
    try collectLinks(gone, &collector)
    // An object comes before those that its deletion cascaded to.
    for (entity, ids) in written.deleted {
      let table = mapping.entities[entity].root.index
      for id in ids {
        guard let row = gone[table]?.removeValue(forKey: id) else { continue }
        collector.delete(row.entity.name, rowID: id, values: row.values)
      }
    }
    return collector
  }

  /// Returns the present values of one row, for the properties that differ from the last commit.
  func values(of id: Int64, table: Int) throws -> ChangeSet.Values {
    let (root, ids) = (mapping.entities[table], RowIDSet([id]))
    guard let new = try Self.rows(ids, of: root, on: now)[id] else { return [:] }
    guard let old = try Self.rows(ids, of: root, on: before)[id] else { return new.values }
    return new.values.filter { name, value in old.values[name]?.isStored(as: value) != true }
  }

  /// Returns one row of an entity's table, of its own entity; nil if there is none.
  static func row(_ id: Int64, of root: EntityMapping, on connection: Connection) throws -> ChangeSet.Row? {
    try rows(RowIDSet([id]), of: root, on: connection)[id].map { row in
      ChangeSet.Row(entity: row.entity.name, rowID: id, values: row.values.filter { !$0.value.isNull })
    }
  }

  private static func rows(
    _ ids: RowIDSet, of root: EntityMapping, on connection: Connection
  ) throws -> [Int64: Row] {
    var byEntity = [(entity: root, ids: ids.ids)]
    if root.hasChildren {
      let entities = try ConnectionReader(connection: connection).entities(of: ids.ids, root)
      byEntity = Dictionary(grouping: entities, by: { $0.entity.index }).values.map { rows in
        (rows[0].entity, rows.map(\.id))
      }
    }
    var found: [Int64: Row] = [:]
    for (entity, some) in byEntity {
      let names = entity.storedSlots.map { entity.slots[$0].name }
      for batch in some.chunked(batchSize) {
        let rows = try connection.query(
          sql: entity.wholeRowsSQL(count: batch.count), batch.map { .integer($0) }
        ) { row in (row.int64(0), names.indices.map { row.value($0 + 1) }) }
        for (id, values) in rows {
          found[id] = (entity, Dictionary(uniqueKeysWithValues: zip(names, values)))
        }
      }
    }
    return found
  }

  /// Adds the links that the write has added or removed, and the links of deleted rows.
  private func collectLinks(_ gone: [Int: [Int64: Row]], _ collector: inout ChangeCollector) throws {
    for relationship in mapping.relationships {
      guard let (table, isSource) = relationship.join, isSource else { continue }
      let known = written.links[table.name] ?? []
      let sources = RowIDSet(known.lazy.map(\.own))
      var old = try links(table, fromSource: true, of: sources, before).intersection(known)
      let new = try links(table, fromSource: true, of: sources, now).intersection(known)
      for (entity, side) in [(relationship.owner, true), (relationship.destination, false)] {
        guard let lost = gone[entity.root.index] else { continue }
        old.formUnion(try links(table, fromSource: side, of: RowIDSet(lost.keys), before))
      }
      for ends in sorted(old.subtracting(new)) {
        collector.unlink(table.link(from: ends.own, to: ends.other))
      }
      for ends in sorted(new.subtracting(old)) { collector.link(table.link(from: ends.own, to: ends.other)) }
    }
  }

  /// Returns links, with the source as `own`.
  private func links(
    _ table: JoinTable, fromSource: Bool, of ids: RowIDSet, _ connection: Connection
  ) throws -> Set<LinkEnds> {
    guard !ids.isEmpty else { return [] }
    let found = try ConnectionReader(connection: connection).links(table, fromSource: fromSource, of: ids.ids)
    return Set(fromSource ? found : found.map { LinkEnds(own: $0.other, other: $0.own) })
  }

  private func sorted(_ links: Set<LinkEnds>) -> [LinkEnds] {
    links.sorted { ($0.own, $0.other) < ($1.own, $1.other) }
  }
}

extension ObjectContext {
  /// Returns whether the write has changed the row of an object in the file and not yet committed it.
  func isUncommitted(_ object: ManagedObject) -> Bool {
    guard !written.rows.isEmpty, let table = object.map?.table else { return false }
    return written.rows.contains(object.rowID, table: table)
  }

  /// Returns the uncommitted values that the write has written to the row of an object.
  func uncommittedValues(of object: ManagedObject) -> [String: SQLValue] {
    guard isUncommitted(object), let table = object.map?.table else { return [:] }
    do {
      return try withUncommitted { try $0.values(of: object.rowID, table: table) } ?? [:]
    } catch {
      note(error)
      return [:]
    }
  }

  /// Calls `body` with the uncommitted changes of the write; returns nil when there are none.
  func withUncommitted<Result>(_ body: (UncommittedChanges) throws -> Result) throws -> Result? {
    guard !written.rows.isEmpty, let committed = access.committed, let connection = access.connection else {
      return nil
    }
    let (rows, mapping) = (written.rows, core.mapping)
    return try committed.withReader { before in
      try body(UncommittedChanges(written: rows, mapping: mapping, before: before, now: connection))
    }
  }
}
