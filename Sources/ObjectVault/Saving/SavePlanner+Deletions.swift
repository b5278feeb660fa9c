// Delete rules: which objects are deleted along with others, and which lose a reference.
//
// RelatedRows combines the links in the file with those in memory, so all deletions are known before
// anything is written.

internal import CipherSQLite

extension SavePlanner {
  /// Plans all deletions: the deleted objects, those that cascades delete with them, level by level, and
  /// the other delete rules.
  mutating func planDeletions() throws {
    guard !pending.deleted.isEmpty || !pending.deletedRows.isEmpty else { return }
    let ids = pending.deletedIDs()
    let left = try relationshipsLeftToEngine(owners: Set(ids.keys))
    try related.followCascades(of: ids, in: mapping, but: left, into: &plan.deletion)
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

  /// Sets to-ones that refer to deleted objects to nil. For objects in memory, an update that compares
  /// versions does this; for all other rows, a separate statement.
  private mutating func releaseReferrers(
    _ entity: EntityMapping, _ slot: Int, to ids: RowIDSet
  ) throws {
    let changed = staying(RowIDSet(related.changedReferrers(entity, slot, to: ids).lazy.map(\.other)), entity)
    // A referrer that is also deleted keeps its reference, because the reference may be required.
    let links = try related.storedReferrers(entity, slot, to: ids)
    let stored = staying(RowIDSet(links.lazy.map(\.other)), entity)
    var rows: [Int64] = []
    for id in changed.union(stored) {
      // An object in memory whose target is not in `ids` was read before its row last changed: objects
      // whose to-one was changed in memory are not in `stored`. An object of a related entity without
      // this property does not have the column. In both cases SQL updates the row.
      if let object = maps[entity.index].find(id), entity.includes(object.entity),
        object.state == .loaded || object.state == .inserted, !isMerging || object.overlay != nil,
        let target = related.target(of: object, slot), ids.contains(target)
      {
        setToNil(object, slot)
      } else {
        rows.append(id)
      }
    }
    guard let first = rows.first else { return }
    // If several entities share a column, the column allows NULL even if one of them requires a value. So
    // the engine would not refuse the NULL.
    if entity.isRequired[slot] {
      denial =
        denial
        ?? StoreError.validation([
          ValidationFailure(
            entity: entity.name, property: entity.slots[slot].name, rowID: first,
            reason: "is required, but the object that it refers to is deleted")
        ])
    }
    plan.deletion.released.append((entity.index, slot, rows))
  }

  /// Returns the ids whose objects are not deleted.
  private func staying(_ ids: RowIDSet, _ entity: EntityMapping) -> RowIDSet {
    ids.filter { !plan.deletion.contains($0, entity) }
  }

  // MARK: Versions

  /// Checks that the rows to be deleted have not changed since they were fetched by this context.
  func checkVersions() throws {
    guard !plan.deletion.isEmpty else { return }
    for entity in mapping.entities {
      let known = plan.deletion.rows(entity).compactMap(maps[entity.index].find).filter {
        $0.hasRow && $0.state != .invalid && (!isMerging || $0.state == .deleted)
      }
      guard !known.isEmpty else { continue }
      let versions = try reader.versions(entity, of: known.map(\.rowID))
      for object in known {
        // Deleting a row that no longer exists is no conflict.
        guard let version = versions[object.rowID], version != object.rowVersion else { continue }
        throw StoreError.conflicts([
          Conflict(
            entity: entity.name, rowID: object.rowID, fetchedVersion: object.rowVersion,
            storedVersion: version, properties: [])
        ])
      }
    }
  }
}
