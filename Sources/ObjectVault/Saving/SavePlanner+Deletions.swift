// Delete rules: what goes with the deleted objects, and who loses a reference.
//
// What the file says of a relationship is corrected by what was changed in memory: such an object refers to whom it says,
// whatever its row holds until the save. An object that was not changed may be older than its row, which counts then. So
// all that goes is known before anything is written.

internal import CipherSQLite

extension SavePlanner {
  /// Level by level: who goes, who goes with them, and so on.
  mutating func planDeletions() throws {
    guard !pending.deleted.isEmpty else { return }
    var level = mapping.entities.map { _ in Set<Int64>() }
    for object in pending.deleted where object.state == .deleted {
      if let entity = object.entity { level[entity.index].insert(object.rowID) }
    }
    while level.contains(where: { !$0.isEmpty }) {
      for entity in mapping.entities { plan.deletion.add(level[entity.index], of: entity) }
      var next = mapping.entities.map { _ in Set<Int64>() }
      for entity in mapping.entities where !level[entity.index].isEmpty {
        for relationship in entity.relationships where relationship.deleteRule == .cascade {
          let related = try related(relationship, level[entity.index])
          next[relationship.destination.index].formUnion(staying(related, relationship.destination))
        }
      }
      level = next
    }
    for entity in mapping.entities {
      for id in plan.deletion.going[entity.index].sorted() {
        if let object = maps[entity.index].find(id), object.isUnwritten {
          plan.deletion.unwritten.append(object)
        }
      }
    }
    for entity in mapping.entities where !plan.deletion.going[entity.index].isEmpty {
      try applyRules(entity, plan.deletion.going[entity.index])
    }
  }

  private mutating func applyRules(_ entity: EntityMapping, _ ids: Set<Int64>) throws {
    for relationship in entity.relationships {
      switch relationship.deleteRule {
      case .deny:
        let left = staying(try related(relationship, ids), relationship.destination)
        guard !left.isEmpty, denial == nil else { continue }
        denial = StoreError.deleteDenied(
          entity: entity.name, property: relationship.name, count: left.count)
      case .nullify:
        if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany {
          try releaseReferrers(relationship.destination, inverse, ids)
        }
      case .cascade: break
      }
    }
    for referrer in entity.danglingReferrers { try releaseReferrers(referrer.owner, referrer.slot, ids) }
  }

  /// Sets the to-ones that lead to what goes to nil: of objects in memory by an update, with their versions compared, of
  /// the others by a statement of its own.
  private mutating func releaseReferrers(_ entity: EntityMapping, _ slot: Int, _ ids: Set<Int64>) throws {
    let changed = staying(Set(changedReferrers(entity, slot, ids).map(\.rowID)), entity)
    // Who goes too need not be cut off first, and may have to have a reference.
    let stored = staying(try storedReferrers(entity, slot, ids), entity)
    var rows: [Int64] = []
    for id in changed.union(stored).sorted() {
      // One that does not know that it refers to what goes is older than its row.
      if let object = maps[entity.index].find(id), object.state == .loaded || object.state == .inserted,
        let target = target(of: object, slot), ids.contains(target)
      {
        release(object, slot)
      } else {
        rows.append(id)
      }
    }
    if !rows.isEmpty { plan.deletion.released.append((entity.index, slot, rows)) }
  }

  /// Those of some ids that do not go.
  private func staying(_ ids: Set<Int64>, _ entity: EntityMapping) -> Set<Int64> {
    // Not subtracting(_:), which walks through all that goes.
    ids.filter { !plan.deletion.going[entity.index].contains($0) }
  }

  // MARK: Memory and file

  /// The ids at the other end of a relationship of some objects.
  private mutating func related(_ relationship: RelationshipMapping, _ ids: Set<Int64>) throws -> Set<Int64> {
    switch relationship.storage {
    case .column: try targets(relationship, ids)
    case .inverseColumn:
      if let inverse = relationship.inverseSlot {
        try storedReferrers(relationship.destination, inverse, ids).union(
          changedReferrers(relationship.destination, inverse, ids).lazy.map(\.rowID))
      } else {
        []
      }
    case .join(let table, let isSource): try linked(table, isSource, ids)
    }
  }

  private func targets(_ relationship: RelationshipMapping, _ ids: Set<Int64>) throws -> Set<Int64> {
    let (slot, destination) = (relationship.slot, maps[relationship.destination.index])
    var found: Set<Int64> = []
    var stored: [Int64] = []
    for id in ids {
      if let object = maps[relationship.owner.index].find(id), isChanged(object, slot) {
        // A new object that was deleted again has left its temporary id behind.
        if let target = target(of: object, slot), target > 0 || destination.find(target) != nil {
          found.insert(target)
        }
      } else if id > 0 {
        stored.append(id)
      }
    }
    for target in try reader.targets(relationship.owner, slot, of: stored.sorted()) {
      // The partner of a one-to-one may have another one by now, which an owner that is deleted is not told.
      if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany,
        let partner = destination.find(target), isChanged(partner, inverse),
        self.target(of: partner, inverse).map(ids.contains) != true
      {
        continue
      }
      found.insert(target)
    }
    return found
  }

  private func storedReferrers(_ entity: EntityMapping, _ slot: Int, _ ids: Set<Int64>) throws -> Set<Int64> {
    let map = maps[entity.index]
    return try reader.referrers(entity, slot, to: ids.filter { $0 > 0 }.sorted()).filter { id in
      map.find(id).map { isChanged($0, slot) } != true
    }
  }

  /// New and changed objects whose to-one leads to one of `ids`.
  private mutating func changedReferrers(
    _ entity: EntityMapping, _ slot: Int, _ ids: Set<Int64>
  ) -> [ManagedObject] {
    let place = SlotPlace(entity: entity.index, slot: slot)
    if let known = referrers[place] { return ids.sorted().flatMap { known[$0] ?? [] } }
    // Of a deep hierarchy each level asks: looking through all of them each time would be quadratic.
    var known: [Int64: [ManagedObject]] = [:]
    for object in [pending.inserted, pending.updated].joined()
    where object.entity === entity && (object.state == .loaded || object.state == .inserted)
      && isChanged(object, slot)
    {
      if let id = target(of: object, slot) { known[id, default: []].append(object) }
    }
    referrers[place] = known
    return ids.sorted().flatMap { known[$0] ?? [] }
  }

  private mutating func linked(_ table: JoinTable, _ isSource: Bool, _ ids: Set<Int64>) throws -> Set<Int64> {
    let links = linksByTable ?? Dictionary(grouping: pending.links.values.filter(\.isLive), by: \.join.name)
    linksByTable = links
    var (found, removed): (Set<Int64>, Set<LinkEnds>) = ([], [])
    for link in links[table.name] ?? [] {
      let (own, other) = isSource ? (link.source, link.target) : (link.target, link.source)
      guard ids.contains(own.rowID) else { continue }
      if link.isAdded {
        found.insert(other.rowID)
      } else {
        removed.insert(LinkEnds(own: own.rowID, other: other.rowID))
      }
    }
    for (own, other) in try reader.links(table, fromSource: isSource, of: ids.filter { $0 > 0 }.sorted())
    where removed.isEmpty || !removed.contains(LinkEnds(own: own, other: other)) { found.insert(other) }
    return found
  }

  private struct LinkEnds: Hashable {
    let own: Int64
    let other: Int64
  }

  /// Whom a to-one leads to, as far as it is known without a fetch.
  private func target(of object: ManagedObject, _ slot: Int) -> Int64? {
    let value: SQLValue? =
      if let overlay = plan.overlay(of: object), overlay.changed.contains(slot) {
        overlay.values[slot]
      } else {
        object.row.map { RowCell(row: $0, slot: slot).value }
      }
    if case .integer(let id)? = value { return id }
    return nil
  }

  /// Whether memory alone says whom a to-one leads to.
  private func isChanged(_ object: ManagedObject, _ slot: Int) -> Bool {
    plan.overlay(of: object)?.changed.contains(slot) == true
  }

  // MARK: Versions

  /// Rows that were fetched here must not have changed meanwhile.
  func checkVersions() throws {
    for entity in mapping.entities {
      let known = plan.deletion.rows(entity).compactMap(maps[entity.index].find).filter { $0.row != nil }
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
