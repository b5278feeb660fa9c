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
        if !found[index].isEmpty { levels.append((index, found[index].sorted())) }
      }
      fresh = found
    }
    for entity in core.runtime.entities where !victims[entity.index].isEmpty {
      try applyRules(entity, victims[entity.index].sorted())
    }
    try deleteRows()
  }

  /// The ids at the other end of a relationship of these rows.
  func related(_ relationship: RelationshipRuntime, _ ids: [Int64]) throws -> Set<Int64> {
    let owner = relationship.owner.table
    let destination = relationship.destination.table
    return try selectIDs(ids) { marks in
      if let join = relationship.join {
        let (own, other) = join.table.columns(from: join.isSource)
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
          try nullify(relationship.destination, inverse, ids)
        }
      case .cascade: break
      }
    }
    for referrer in entity.danglingReferrers { try nullify(referrer.owner, referrer.slot, ids) }
  }

  private func nullify(_ entity: EntityRuntime, _ slot: Int, _ ids: [Int64]) throws {
    let column = entity.slots[slot].column
    let isInMemory = !context.maps[entity.index].all.isEmpty
    for batch in ids.chunked(core.batchSize) {
      let rows = "\(column) IN (\(core.marks(batch.count)))"
      let values = batch.map { SQLValue.integer($0) }
      if isInMemory {
        let found = try connection.query(
          sql: "SELECT \"id\" FROM \(entity.table) WHERE \(rows)", values, { $0.int64(0) })
        if !found.isEmpty { released.append((entity.index, slot, Set(found))) }
      }
      try connection.execute(
        sql: "UPDATE \(entity.table) SET \(column) = NULL, \"_version\" = \"_version\" + 1 WHERE \(rows)",
        values)
    }
  }

  /// Rows that were fetched here must not have changed meanwhile.
  func checkVersions() throws {
    for object in context.deleted where object.row != nil && object.rowID > 0 {
      guard let entity = object.entity else { continue }
      let sql = "SELECT \"_version\" FROM \(entity.table) WHERE \"id\" = ?"
      let version = try connection.value(sql: sql, [.integer(object.rowID)])?.int64
      if version != object.rowVersion { throw try conflict(object, []) }
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
      let table = core.runtime.entities[level.entity].table
      for batch in level.ids.chunked(core.batchSize) {
        try connection.execute(
          sql: "DELETE FROM \(table) WHERE \"id\" IN (\(core.marks(batch.count)))", batch.map { .integer($0) }
        )
      }
    }
  }

  private func cutApart() throws {
    for entity in core.runtime.entities where !victims[entity.index].isEmpty {
      let slots = entity.storedSlots.filter { entity.isToOne[$0] && !entity.isRequired[$0] }
      guard !slots.isEmpty else { continue }
      let columns = slots.map { "\(entity.slots[$0].column) = NULL" }.joined(separator: ", ")
      for batch in victims[entity.index].sorted().chunked(core.batchSize) {
        try connection.execute(
          sql: "UPDATE \(entity.table) SET \(columns) WHERE \"id\" IN (\(core.marks(batch.count)))",
          batch.map { .integer($0) })
      }
    }
  }

  // MARK: After the commit

  /// Objects of rows that lost a reference by SQL are fetched again when they are next needed: what they hold,
  /// and their version, is older than the row.
  func forgetReleased() {
    for (entity, slot, ids) in released {
      for object in context.maps[entity].all where object.state == .loaded && ids.contains(object.rowID) {
        if let overlay = object.overlay {
          object.rowVersion += 1
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
