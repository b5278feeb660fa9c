// Deletions: what is marked, what goes with it by the delete rules, in memory and in the file.
//
// In memory first, so that objects that are moved or lose a reference are written by the normal updates;
// then by SQL, level by level, for the rows that no object stands for.

internal import CipherSQLite

extension SaveOperation {
  /// Marks every loaded object that goes with a deleted one, and sets references of the others to nil.
  ///
  /// Level by level, so that each level looks through the loaded objects once, however many it deletes.
  func markVictimsInMemory() {
    var level = context.deleted
    while !level.isEmpty {
      var next: [ManagedObject] = []
      for (entity, objects) in grouped(level) {
        let ids = Set(objects.map(\.rowID))
        victims[entity.index].formUnion(ids.filter { $0 > 0 })
        for relationship in entity.slots.compactMap(\.relationship) where relationship.deleteRule != .deny {
          for member in membersInMemory(objects, ids, relationship) {
            if relationship.deleteRule == .nullify {
              release(member, from: relationship)
            } else if take(member) {
              next.append(member)
            }
          }
        }
        for referrer in entity.danglingReferrers {
          for member in referring(referrer.owner, referrer.slot, ids) {
            member.setStored(.null, referrer.slot)
          }
        }
      }
      level = next
    }
  }

  /// Objects in memory at the other end of a relationship of deleted objects.
  private func membersInMemory(
    _ objects: [ManagedObject], _ ids: Set<Int64>, _ relationship: RelationshipRuntime
  ) -> [ManagedObject] {
    if !relationship.isToMany {
      return objects.compactMap { object in
        guard let row = object.row, let id = RowCell(row: row, slot: relationship.slot).int64 else {
          return nil
        }
        return context.maps[relationship.destination.index].find(id)
      }
    }
    if relationship.join != nil { return objects.flatMap { $0.toMany[relationship.slot]?.members ?? [] } }
    return relationship.inverseSlot.map { referring(relationship.destination, $0, ids) } ?? []
  }

  /// The loaded objects whose to-one leads to one of `ids`. Fetches nothing.
  private func referring(_ entity: EntityRuntime, _ slot: Int, _ ids: Set<Int64>) -> [ManagedObject] {
    context.maps[entity.index].all.filter { object in
      guard object.state == .loaded || object.state == .inserted,
        case .integer(let id) = object.storedValue(slot) ?? .null
      else { return false }
      return ids.contains(id)
    }
  }

  /// Marks an object for deletion; false when it is marked already.
  private func take(_ object: ManagedObject) -> Bool {
    switch object.state {
    case .inserted:
      context.inserted.removeAll { $0 === object }
      context.discard(object)
      return false
    case .loaded, .fault:
      object.state = .deleted
      context.deleted.append(object)
      return true
    case .deleted, .invalid, .detached: return false
    }
  }

  private func release(_ member: ManagedObject, from relationship: RelationshipRuntime) {
    guard let inverse = relationship.inverseSlot, !relationship.inverseIsToMany, member.state != .deleted
    else {
      return
    }
    member.setStored(.null, inverse)
  }

  /// Applies the rules to the rows of the file, then deletes.
  func deleteVictims() throws {
    guard victims.contains(where: { !$0.isEmpty }) else { return }
    try checkVersions()
    var fresh = victims
    while fresh.contains(where: { !$0.isEmpty }) {
      var found = core.runtime.entities.map { _ in Set<Int64>() }
      for entity in core.runtime.entities where !fresh[entity.index].isEmpty {
        let ids = fresh[entity.index].sorted()
        for relationship in entity.slots.compactMap(\.relationship) where relationship.deleteRule == .cascade
        {
          found[relationship.destination.index].formUnion(try related(relationship, ids))
        }
      }
      for index in found.indices {
        found[index].subtract(victims[index])
        victims[index].formUnion(found[index])
      }
      fresh = found
    }
    for entity in core.runtime.entities where !victims[entity.index].isEmpty {
      try applyRules(entity, victims[entity.index].sorted())
    }
    try deleteRows()
  }

  /// The ids at the other end of a relationship of these rows.
  private func related(_ relationship: RelationshipRuntime, _ ids: [Int64]) throws -> Set<Int64> {
    let owner = relationship.owner.table
    let destination = relationship.destination.table
    return try selectIDs(ids) { marks in
      if let join = relationship.join {
        let (own, other) = join.isSource ? ("source_id", "target_id") : ("target_id", "source_id")
        return "SELECT \(other) FROM \(quoted(join.table.name)) WHERE \(own) IN (\(marks))"
      }
      if !relationship.isToMany {
        return
          "SELECT \(relationship.column) FROM \(owner) WHERE \"id\" IN (\(marks)) AND \(relationship.column) NOT NULL"
      }
      return "SELECT \"id\" FROM \(destination) WHERE \(relationship.inverseColumn ?? "NULL") IN (\(marks))"
    }
  }

  private func selectIDs(_ ids: [Int64], _ sql: (String) -> String) throws -> Set<Int64> {
    var found: Set<Int64> = []
    for batch in ids.chunked(core.batchSize) {
      found.formUnion(
        try connection.query(sql: sql(core.marks(batch.count)), batch.map { .integer($0) }) { $0.int64(0) })
    }
    return found
  }

  private func applyRules(_ entity: EntityRuntime, _ ids: [Int64]) throws {
    for relationship in entity.slots.compactMap(\.relationship) {
      switch relationship.deleteRule {
      case .deny:
        let left = try related(relationship, ids).subtracting(victims[relationship.destination.index])
        guard left.isEmpty else {
          throw StoreError.deleteDenied(entity: entity.name, property: relationship.name, count: left.count)
        }
      case .nullify:
        if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany {
          try nullify(relationship.destination, relationship.destination.slots[inverse].column, ids)
        }
      case .cascade: break
      }
    }
    for referrer in entity.danglingReferrers { try nullify(referrer.owner, referrer.column, ids) }
  }

  private func nullify(_ entity: EntityRuntime, _ column: String, _ ids: [Int64]) throws {
    for batch in ids.chunked(core.batchSize) {
      let rows = "\(column) IN (\(core.marks(batch.count)))"
      try connection.execute(
        sql: "UPDATE \(entity.table) SET \(column) = NULL, \"_version\" = \"_version\" + 1 WHERE \(rows)",
        batch.map { .integer($0) })
    }
  }

  /// Rows that were fetched here must not have changed meanwhile.
  private func checkVersions() throws {
    for object in context.deleted where object.row != nil && object.rowID > 0 {
      guard let entity = object.entity else { continue }
      let sql = "SELECT \"_version\" FROM \(entity.table) WHERE \"id\" = ?"
      let version = try connection.value(sql: sql, [.integer(object.rowID)])?.int64
      if version != object.rowVersion { throw try conflict(object, []) }
    }
  }

  private func deleteRows() throws {
    for entity in core.runtime.entities {
      for batch in victims[entity.index].sorted().chunked(core.batchSize) {
        try connection.execute(
          sql: "DELETE FROM \(entity.table) WHERE \"id\" IN (\(core.marks(batch.count)))",
          batch.map { .integer($0) })
      }
    }
  }

  /// After the commit: objects of deleted rows become invalid and leave the sets they are in.
  func forgetVictims() {
    for entity in core.runtime.entities where !victims[entity.index].isEmpty {
      for object in context.maps[entity.index].all where victims[entity.index].contains(object.rowID) {
        object.state = .invalid
      }
    }
    guard victims.contains(where: { !$0.isEmpty }) else { return }
    for entity in core.runtime.entities {
      for owner in context.maps[entity.index].all {
        for state in owner.toMany.values
        where state.members?.contains(where: { $0.state == .invalid }) == true {
          state.members = state.members?.filter { $0.state != .invalid }
          state.typed = nil
        }
      }
    }
    for entity in core.runtime.entities where !victims[entity.index].isEmpty {
      for object in context.maps[entity.index].all where object.state == .invalid { context.discard(object) }
    }
  }
}
