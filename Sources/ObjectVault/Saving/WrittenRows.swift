// What the saves inside a write have changed in the file, until it is committed: ids alone. What the rows held before
// stands in the last commit, and what they hold now in the file, so that a write of a million rows keeps no value of them.

internal import CipherSQLite

/// What the saves of a transaction have written.
struct Written {
  /// Whether anything was.
  var hasAny = false
  /// With all values, while somebody listens; nil otherwise.
  var changes: ChangeCollector?
  /// Which rows, but for those of the last save, which the commit follows.
  var rows = WrittenRows()
}

/// The rows and links that a write has changed and not yet committed.
struct WrittenRows {
  /// By the index of the entity at the root of the table.
  private(set) var ids: [Int: GatheredRowIDs] = [:]
  /// The deleted rows, in the order of their deletion.
  private(set) var deleted: [(entity: Int, ids: [Int64])] = []
  /// The ids at the ends of links, by the table of the links.
  private(set) var links: [String: Set<LinkEnds>] = [:]
  private var movesMembers = false

  /// Whether nothing was written.
  var isEmpty: Bool { ids.isEmpty && links.isEmpty && !movesMembers }

  func contains(_ id: Int64, table: Int) -> Bool { ids[table]?.contains(id) == true }

  /// Notes what was written of a plan, once its objects have their final ids.
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

  private mutating func note(_ some: RowIDSet, _ entity: EntityMapping) {
    if !some.isEmpty { ids[entity.root.index, default: GatheredRowIDs()].formUnion(some) }
  }
}
