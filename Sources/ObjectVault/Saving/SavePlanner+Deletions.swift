// Delete rules: what goes with the deleted objects, and who loses a reference.
//
// Who is related to whom, RelatedRows says of file and memory at once. So all that goes is known before anything is
// written.

internal import CipherSQLite

extension SavePlanner {
  /// Level by level: who goes, who goes with them, and so on.
  mutating func planDeletions() throws {
    guard !pending.deleted.isEmpty else { return }
    let left = try relationshipsLeftToEngine()
    try related.followCascades(of: pending.deletedIDs(), in: mapping, but: left, into: &plan.deletion)
    let going = mapping.entities.map(plan.deletion.going)
    for entity in mapping.entities where !going[entity.index].isEmpty {
      try applyRules(entity, going[entity.index])
    }
  }

  private mutating func applyRules(_ entity: EntityMapping, _ ids: RowIDSet) throws {
    for relationship in entity.relationships {
      switch relationship.deleteRule {
      case .deny:
        guard denial == nil else { continue }
        let links = try related.links(relationship, of: ids)
        let left = staying(RowIDSet(links.lazy.map(\.other)), relationship.destination)
        let holding = links.filter { left.contains($0.other) }
        guard let owner = holding.lazy.map(\.own).min() else { continue }
        denial = StoreError.deleteDenied(
          entity: entity.name, rowID: owner, property: relationship.name,
          count: Set(holding.lazy.filter { $0.own == owner }.map(\.other)).count)
      case .nullify:
        if let inverse = relationship.inverseSlot, relationship.inverseHasColumn {
          try releaseReferrers(relationship.destination, inverse, to: ids)
        }
      case .cascade: break
      }
    }
    for referrer in entity.danglingReferrers {
      try releaseReferrers(referrer.owner, referrer.slot, to: ids)
    }
  }

  /// Sets the to-ones that lead to what goes to nil: of objects in memory by an update, with their versions compared, of
  /// the others by a statement of its own.
  private mutating func releaseReferrers(
    _ entity: EntityMapping, _ slot: Int, to ids: RowIDSet
  ) throws {
    let changed = staying(RowIDSet(related.changedReferrers(entity, slot, to: ids).lazy.map(\.other)), entity)
    // Who goes too need not be cut off first, and may have to have a reference.
    let links = try related.storedReferrers(entity, slot, to: ids)
    let stored = staying(RowIDSet(links.lazy.map(\.other)), entity)
    var rows: [Int64] = []
    for id in changed.union(stored) {
      // One that does not know that it refers to what goes is older than its row. One of a relative without this property
      // has a column that is none of its own.
      if let object = maps[entity.index].find(id), entity.includes(object.entity),
        object.state == .loaded || object.state == .inserted,
        let target = related.target(of: object, slot), ids.contains(target)
      {
        release(object, slot)
      } else {
        rows.append(id)
      }
    }
    guard let first = rows.first else { return }
    // A column that entities share takes NULL, whoever of them requires it: the engine would not refuse.
    if entity.isRequired[slot] {
      denial =
        denial
        ?? StoreError.validation([
          ValidationFailure(
            entity: entity.name, property: entity.slots[slot].name, rowID: first,
            reason: "is required, and what it leads to is deleted")
        ])
    }
    plan.deletion.released.append((entity.index, slot, rows))
  }

  /// Those of some ids that do not go.
  private func staying(_ ids: RowIDSet, _ entity: EntityMapping) -> RowIDSet {
    ids.filter { !plan.deletion.goes($0, entity) }
  }

  // MARK: Versions

  /// Rows that were fetched here must not have changed meanwhile.
  func checkVersions() throws {
    guard !plan.deletion.isEmpty else { return }
    for entity in mapping.entities {
      let known = plan.deletion.rows(entity).compactMap(maps[entity.index].find).filter {
        $0.hasRow && $0.state != .invalid
      }
      guard !known.isEmpty else { continue }
      let versions = try reader.versions(entity, of: known.map(\.rowID))
      for object in known {
        // Who deletes what is gone already has no conflict.
        guard let version = versions[object.rowID], version != object.rowVersion else { continue }
        throw StoreError.conflict(
          Conflict(
            entity: entity.name, rowID: object.rowID, fetchedVersion: object.rowVersion,
            storedVersion: version, properties: []))
      }
    }
  }
}
