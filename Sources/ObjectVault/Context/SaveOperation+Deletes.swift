// Deletions in the file: what goes with the marked rows by the delete rules, level by level.
//
// What was marked in memory (SaveOperation+Marks) is written by the normal updates before; here are the rows
// that no object stands for.

internal import CipherSQLite
private import Foundation

extension SaveOperation {
  /// Applies the rules to the rows of the file, then deletes.
  func deleteVictims() throws {
    guard victims.contains(where: { !$0.isEmpty }) else { return }
    try addVictims(related)
    try recordVictims()
    try recordLinksOfVictims()
    try unlinkUnwritten()
    for entity in core.mapping.entities where !victims[entity.index].isEmpty {
      try applyRules(entity, victims[entity.index].sorted())
    }
    try deleteRows()
  }

  /// Adds what cascades reach, level by level.
  /// - Parameter reached: The rows that a relationship of these rows takes along.
  func addVictims(_ reached: (RelationshipMapping, _ ids: [Int64]) throws -> Set<Int64>) throws {
    var fresh = victims
    while fresh.contains(where: { !$0.isEmpty }) {
      var found = core.mapping.entities.map { _ in Set<Int64>() }
      for entity in core.mapping.entities where !fresh[entity.index].isEmpty {
        let ids = fresh[entity.index].sorted()
        for relationship in entity.slots.compactMap(\.relationship) where relationship.deleteRule == .cascade
        {
          found[relationship.destination.index].formUnion(try reached(relationship, ids))
        }
      }
      for index in found.indices {
        found[index].subtract(victims[index])
        victims[index].formUnion(found[index])
        if !found[index].isEmpty { levels.append((index, found[index].sorted())) }
      }
      fresh = found
    }
  }

  /// Deletes the links of objects whose row was never written: no deletion of a row takes them along.
  private func unlinkUnwritten() throws {
    let ends = core.mapping.entities.flatMap { $0.slots.compactMap(\.relationship) }
    let going = core.mapping.entities.flatMap { entity in
      victims[entity.index].compactMap(context.maps[entity.index].find).filter(\.isUnwritten)
    }
    for (entity, objects) in grouped(going) {
      for relationship in ends {
        guard let join = relationship.join else { continue }
        let sides = [
          relationship.owner === entity ? join.isSource : nil,
          relationship.destination === entity ? !join.isSource : nil,
        ]
        for isSource in sides.compactMap({ $0 }) {
          let sql = join.table.unlinkAllSQL(fromSource: isSource)
          for object in objects { try connection.execute(sql: sql, [.integer(object.rowID)]) }
        }
      }
    }
  }

  /// The ids at the other end of a relationship of these rows.
  func related(_ relationship: RelationshipMapping, _ ids: [Int64]) throws -> Set<Int64> {
    try selectIDs(ids, relationship.relatedSQL)
  }

  private func selectIDs(_ ids: [Int64], _ sql: (Int) -> String) throws -> Set<Int64> {
    var found: Set<Int64> = []
    for batch in ids.chunked(batchSize) {
      found.formUnion(
        try connection.query(sql: sql(batch.count), batch.map { .integer($0) }) { $0.int64(0) })
    }
    return found
  }

  private func applyRules(_ entity: EntityMapping, _ ids: [Int64]) throws {
    for relationship in entity.slots.compactMap(\.relationship) {
      switch relationship.deleteRule {
      case .deny:
        let left = try related(relationship, ids).subtracting(victims[relationship.destination.index])
        guard left.isEmpty else {
          throw StoreError.deleteDenied(entity: entity.name, property: relationship.name, count: left.count)
        }
      case .nullify:
        if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany {
          try nullify(relationship.destination, inverse, ids)
        }
      case .cascade: break
      }
    }
    for referrer in entity.danglingReferrers { try nullify(referrer.owner, referrer.slot, ids) }
  }

  private func nullify(_ entity: EntityMapping, _ slot: Int, _ ids: [Int64]) throws {
    let found = try selectIDs(ids) { entity.referrersSQL(slot, count: $0) }
    // Who goes too need not be cut off first, and may have to have a reference.
    let left = found.subtracting(victims[entity.index])
    guard !left.isEmpty else { return }
    released.append((entity.index, slot, left))
    for batch in left.sorted().chunked(batchSize) {
      try recordReleases(entity, slot, batch)
      try connection.execute(
        sql: entity.releaseSQL(slot, count: batch.count), batch.map { .integer($0) })
    }
  }

  /// Rows that were fetched here must not have changed meanwhile.
  func checkVersions() throws {
    for object in context.deleted where object.row != nil && object.rowID > 0 {
      guard let entity = object.entity else { continue }
      let version = try connection.value(sql: entity.versionSQL, [.integer(object.rowID)])?.int64
      // Who deletes what is gone already has no conflict.
      if let version, version != object.rowVersion { throw try conflict(object, []) }
    }
  }

  /// Deletes who is below before who is above: SQLite would else cascade by itself, from row to row, and gives up
  /// a thousand levels down.
  private func deleteRows() throws {
    do { try connection.savepoint(deleteLevels) } catch let error as SQLError {
      guard "\(error)".contains("trigger recursion") else { throw error }
      // The rows of one level hang on each other. Cut them apart first, as far as their columns take NULL.
      try cutApart()
      try deleteLevels()
    }
  }

  private func deleteLevels() throws {
    for level in levels.reversed() {
      let entity = core.mapping.entities[level.entity]
      for batch in level.ids.chunked(batchSize) {
        try connection.execute(
          sql: entity.deleteSQL(count: batch.count), batch.map { .integer($0) })
      }
    }
  }

  private func cutApart() throws {
    for entity in core.mapping.entities where !victims[entity.index].isEmpty {
      let slots = entity.storedSlots.filter { entity.isToOne[$0] && !entity.isRequired[$0] }
      guard !slots.isEmpty else { continue }
      for batch in victims[entity.index].sorted().chunked(batchSize) {
        try connection.execute(
          sql: entity.clearSQL(slots, count: batch.count), batch.map { .integer($0) })
      }
    }
  }

  // MARK: After the commit

  /// Objects of rows that lost a reference by SQL are fetched again when they are next needed: what they hold,
  /// and their version, is older than the row.
  func forgetReleased() {
    for (entity, slot, ids) in released {
      for object in inMemory(entity, ids) where object.state == .loaded {
        if let overlay = object.overlay {
          object.rowVersion = RowVersions.next(object.rowVersion)
          guard !overlay.changed.contains(slot) else { continue }
          overlay.values[slot] = .null
          overlay.changed.insert(slot)
        } else {
          context.refresh(object)
        }
      }
    }
  }

  /// Objects of deleted rows become invalid and leave the sets they are in.
  func forgetVictims() {
    for entity in core.mapping.entities where !victims[entity.index].isEmpty {
      for object in inMemory(entity.index, victims[entity.index]) {
        leaveSets(object, entity)
        context.discard(object)
      }
    }
  }

  /// Takes an object that is going out of the sets of those it refers to. Who has it by a link looks for itself,
  /// when its set is read after a deletion.
  private func leaveSets(_ object: ManagedObject, _ entity: EntityMapping) {
    if entity.isInJoins { context.deletions.append(object) }
    for relationship in entity.slots.compactMap(\.relationship) where !relationship.isToMany {
      guard let inverse = relationship.inverseSlot, relationship.inverseIsToMany,
        object.row != nil || object.overlay != nil,
        case .integer(let id) = object.storedValue(relationship.slot) ?? .null,
        let state = context.maps[relationship.destination.index].find(id)?.toMany[inverse]
      else { continue }
      state.members?.remove(object)
      state.typed?.remove(object)
    }
  }

  /// The objects of these rows that there are.
  private func inMemory(_ entity: Int, _ ids: Set<Int64>) -> [ManagedObject] {
    ids.compactMap(context.maps[entity].find)
  }
}
