// The rows that the saves of a write have changed in the file, until the write is committed: ids only.
// The earlier values are in the last commit and the new ones in the file, so a write of a million rows
// keeps no values in memory.

internal import CipherSQLite

/// What the saves of a transaction have written.
struct Written {
  /// Whether anything was written.
  var hasAny = false
  /// The changes with all values; nil if no change set is recorded.
  var changes: ChangeCollector?
  /// The history of the transaction so far; nil before the first change, and in a store without a history.
  var history: TransactionRecorder?
  /// The changed rows, without those of the last save: its commit follows at once.
  var rows = WrittenRows()
}

/// The rows and links that a write has changed and not yet committed.
struct WrittenRows {
  /// The ids, by the index of the table's root entity.
  private(set) var ids: [Int: RowIDAccumulator] = [:]
  /// The deleted rows, in the order of their deletion.
  private(set) var deleted: [(entity: Int, ids: [Int64])] = []
  /// The ids at the ends of links, by join table.
  private(set) var links: [String: Set<LinkEnds>] = [:]
  private var movesMembers = false
  /// The names of the entities that SQL of the program has changed.
  var changedBySQL: Set<String> = []

  /// Whether nothing was written.
  var isEmpty: Bool { ids.isEmpty && links.isEmpty && !movesMembers && changedBySQL.isEmpty }

  func contains(_ id: Int64, table: Int) -> Bool { ids[table]?.contains(id) == true }

  /// Adds what was written by a plan, once its objects have their final ids.
  mutating func note(_ plan: SavePlan, _ mapping: SchemaMapping) {
    for (entity, objects) in plan.inserted + plan.updated {
      note(RowIDSet(objects.lazy.map(\.rowID)), entity)
    }
    for (entity, ids) in plan.deletion.levels {
      note(RowIDSet(ids), mapping.entities[entity])
      deleted.append((entity, ids))
    }
    for (entity, _, ids) in plan.deletion.released { note(RowIDSet(ids), mapping.entities[entity]) }
    for planned in plan.links {
      links[planned.link.join.name, default: []].insert(LinkEnds(own: planned.source, other: planned.target))
    }
    if !plan.places.isEmpty { movesMembers = true }
  }

  /// Adds updated rows of an entity.
  mutating func note(_ some: [Int64], of entity: EntityMapping) { note(RowIDSet(some), entity) }

  private mutating func note(_ some: RowIDSet, _ entity: EntityMapping) {
    if !some.isEmpty { ids[entity.root.index, default: RowIDAccumulator()].formUnion(some) }
  }
}
