// Delete rules: what goes with the deleted objects, and who loses a reference.
//
// What the file says of a relationship is corrected by what memory has: an object that was changed refers to whom it says,
// whatever its row holds until the save. So all that goes is known before anything is written.

internal import CipherSQLite

extension SavePlanner {
  enum Referrers {
    case askedOnce
    case known([Int64: [ManagedObject]])
  }

  /// Level by level, so that each level looks through the loaded objects once, however many it deletes.
  mutating func planDeletions() throws {
    guard !pending.deleted.isEmpty else { return }
    var level = mapping.entities.map { _ in Set<Int64>() }
    for object in pending.deleted where object.state == .deleted {
      if let entity = object.entity { level[entity.index].insert(object.rowID) }
    }
    while level.contains(where: { !$0.isEmpty }) {
      for entity in mapping.entities where !level[entity.index].isEmpty {
        plan.deletion.going[entity.index].formUnion(level[entity.index])
        let rows = level[entity.index].filter { $0 > 0 }.sorted()
        if !rows.isEmpty { plan.deletion.levels.append((entity.index, rows)) }
      }
      var next = mapping.entities.map { _ in Set<Int64>() }
      for entity in mapping.entities where !level[entity.index].isEmpty {
        for relationship in entity.relationships where relationship.deleteRule == .cascade {
          let index = relationship.destination.index
          next[index].formUnion(
            try related(relationship, level[entity.index]).subtracting(plan.deletion.going[index]))
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
        let left = try related(relationship, ids).subtracting(
          plan.deletion.going[relationship.destination.index])
        guard left.isEmpty else {
          throw StoreError.deleteDenied(entity: entity.name, property: relationship.name, count: left.count)
        }
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
    let going = plan.deletion.going[entity.index]
    var known: Set<Int64> = []
    for object in referring(entity, slot, ids) where !going.contains(object.rowID) {
      known.insert(object.rowID)
      release(object, slot)
    }
    // Who goes too need not be cut off first, and may have to have a reference.
    let rows = try referrersInFile(entity, slot, ids).subtracting(going).subtracting(known)
    if !rows.isEmpty { plan.deletion.released.append((entity.index, slot, rows.sorted())) }
  }

  // MARK: Memory and file

  /// The ids at the other end of a relationship of some objects.
  private mutating func related(_ relationship: RelationshipMapping, _ ids: Set<Int64>) throws -> Set<Int64> {
    switch relationship.storage {
    case .column: try targets(relationship, ids)
    case .inverseColumn:
      if let inverse = relationship.inverseSlot {
        try referrersInFile(relationship.destination, inverse, ids).union(
          referring(relationship.destination, inverse, ids).lazy.map(\.rowID))
      } else {
        []
      }
    case .join(let table, let isSource): try linked(table, isSource, ids)
    }
  }

  private func targets(_ relationship: RelationshipMapping, _ ids: Set<Int64>) throws -> Set<Int64> {
    let slot = relationship.slot
    var found: Set<Int64> = []
    var unsaid: [Int64] = []
    for id in ids {
      let object = maps[relationship.owner.index].find(id)
      if let object, let target = target(of: object, slot) { found.insert(target) }
      if id > 0, object.map({ isChanged($0, slot) }) != true { unsaid.append(id) }
    }
    found.formUnion(try reader.targets(relationship.owner, slot, of: unsaid.sorted()))
    // A new object that was deleted again has left its temporary id behind.
    return found.filter { $0 > 0 || maps[relationship.destination.index].find($0) != nil }
  }

  private func referrersInFile(_ entity: EntityMapping, _ slot: Int, _ ids: Set<Int64>) throws -> Set<Int64> {
    let map = maps[entity.index]
    return try reader.referrers(entity, slot, to: ids.filter { $0 > 0 }.sorted()).filter { id in
      map.find(id).map { isChanged($0, slot) } != true
    }
  }

  private mutating func linked(_ table: JoinTable, _ isSource: Bool, _ ids: Set<Int64>) throws -> Set<Int64> {
    let links = linksByTable ?? Dictionary(grouping: pending.links.values.filter(\.isLive), by: \.join.name)
    linksByTable = links
    var (added, removed): (Set<Int64>, Set<[Int64]>) = ([], [])
    for link in links[table.name] ?? [] {
      let (own, other) = isSource ? (link.source, link.target) : (link.target, link.source)
      guard ids.contains(own.rowID) else { continue }
      if link.isAdded { added.insert(other.rowID) } else { removed.insert([own.rowID, other.rowID]) }
    }
    for (own, other) in try reader.links(table, fromSource: isSource, of: ids.filter { $0 > 0 }.sorted())
    where removed.isEmpty || !removed.contains([own, other]) { added.insert(other) }
    return added
  }

  /// The loaded objects whose to-one leads to one of `ids`. Fetches nothing.
  private mutating func referring(
    _ entity: EntityMapping, _ slot: Int, _ ids: Set<Int64>
  ) -> [ManagedObject] {
    switch referrers[ObjectIdentifier(entity)]?[slot] {
    case nil:
      referrers[ObjectIdentifier(entity), default: [:]][slot] = .askedOnce
      return maps[entity.index].all.filter { targetOfPresent($0, slot).map(ids.contains) ?? false }
    case .askedOnce:
      // A deep hierarchy asks once for each level: looking through all objects each time would be quadratic.
      var known: [Int64: [ManagedObject]] = [:]
      for object in maps[entity.index].all {
        if let id = targetOfPresent(object, slot) { known[id, default: []].append(object) }
      }
      referrers[ObjectIdentifier(entity)]?[slot] = .known(known)
      return ids.flatMap { known[$0] ?? [] }
    case .known(let known): return ids.flatMap { known[$0] ?? [] }
    }
  }

  private func targetOfPresent(_ object: ManagedObject, _ slot: Int) -> Int64? {
    object.state == .loaded || object.state == .inserted ? target(of: object, slot) : nil
  }

  /// Whom a to-one leads to, as far as memory knows.
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
    object.state != .fault && plan.overlay(of: object)?.changed.contains(slot) == true
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
