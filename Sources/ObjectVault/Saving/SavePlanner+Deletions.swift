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
    // Of entities of which something goes, and of no others: a chain of entities has as many levels as it has entities.
    var level = pending.deletedIDs()
    while !level.isEmpty {
      let going = level.sorted { $0.key < $1.key }.map { (entity: mapping.entities[$0.key], ids: $0.value) }
      for (entity, ids) in going { plan.deletion.add(ids, of: entity) }
      var next: [Int: RowIDSet] = [:]
      for (entity, ids) in going {
        for relationship in entity.relationships
        where relationship.deleteRule == .cascade && !left.contains(ObjectIdentifier(relationship)) {
          let ids = try relatedIDs(relationship, ids)
          // The rules of whoever goes are those of its own entity.
          let destination = relationship.destination
          for (entity, some) in try related.byEntity(staying(ids, destination), destination) {
            if !some.isEmpty { next[entity.index, default: RowIDSet()].formUnion(some) }
          }
        }
      }
      level = next
    }
    let going = mapping.entities.map(plan.deletion.going)
    for entity in mapping.entities {
      for id in going[entity.index] {
        if let object = maps[entity.index].find(id), object.isUnwritten {
          plan.deletion.unwritten.append(object)
        }
      }
    }
    for entity in mapping.entities where !going[entity.index].isEmpty {
      try applyRules(entity, going[entity.index])
    }
  }

  private mutating func applyRules(_ entity: EntityMapping, _ ids: RowIDSet) throws {
    for relationship in entity.relationships {
      switch relationship.deleteRule {
      case .deny:
        guard denial == nil || plan.extent.isPartial else { continue }
        let links = try related.links(relationship, of: ids)
        let left = staying(RowIDSet(links.lazy.map(\.other)), relationship.destination)
        let holding = links.filter { left.contains($0.other) }
        hold(entity, ids: holding.lazy.map(\.own), .denial(relationship))
        guard denial == nil, let owner = holding.lazy.map(\.own).min() else { continue }
        denial = StoreError.deleteDenied(
          entity: entity.name, rowID: owner, property: relationship.name,
          count: Set(holding.lazy.filter { $0.own == owner }.map(\.other)).count)
      case .nullify:
        if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany {
          try releaseReferrers(relationship.destination, inverse, of: entity, ids)
        }
      case .cascade: break
      }
    }
    for referrer in entity.danglingReferrers {
      try releaseReferrers(referrer.owner, referrer.slot, of: entity, ids)
    }
  }

  private mutating func hold(
    _ entity: EntityMapping, ids: some Sequence<Int64>, _ reason: DeletionHold.Reason
  ) {
    guard plan.extent.isPartial else { return }
    holds += DeletionHold.all(of: entity, ids: ids, reason: reason)
  }

  /// Sets the to-ones that lead to what goes to nil: of objects in memory by an update, with their versions compared, of
  /// the others by a statement of its own.
  private mutating func releaseReferrers(
    _ entity: EntityMapping, _ slot: Int, of target: EntityMapping, _ ids: RowIDSet
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
      let holding = Set(rows)
      hold(
        target, ids: links.lazy.filter { holding.contains($0.other) }.map(\.own),
        .requirement(entity, slot: slot))
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

  /// The ids at the other end of a relationship of some objects.
  private mutating func relatedIDs(_ relationship: RelationshipMapping, _ ids: RowIDSet) throws -> RowIDSet {
    RowIDSet(try related.links(relationship, of: ids).lazy.map(\.other))
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
