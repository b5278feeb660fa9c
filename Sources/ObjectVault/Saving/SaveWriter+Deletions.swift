// Deletions in the file, as planned: who loses a reference, then what goes, level by level.

internal import CipherSQLite

extension SaveWriter {
  func delete() throws {
    guard plan.extent.deletes, !plan.deletion.isEmpty else { return }
    try recordLinksThatGo()
    try unlinkUnwritten()
    for (index, slot, ids) in plan.deletion.released {
      let entity = mapping.entities[index]
      let firesTriggers = try firesTriggers(entity)
      for batch in ids.chunked(batchSize) {
        try recordReleases(entity, slot, batch)
        _ = try naming(entity, batch) { ids in
          let sql = entity.releaseSQL(slot, count: ids.count, undoesAlone: firesTriggers)
          return try connection.execute(sql: sql, ids.map { .integer($0) })
        }
      }
    }
    if !plan.leftOut.isEmpty || !plan.heldBack.isEmpty { try checkNothingElseGoes() }
    try unlinkRowsThatGo()
    try deleteRows()
  }

  /// The engine takes links along with their rows only while it enforces foreign keys, and it does not while steps run.
  private func unlinkRowsThatGo() throws {
    guard try connection.value("PRAGMA foreign_keys") == 0 else { return }
    for (table, side, ids) in endsThatGo {
      for id in ids {
        try connection.execute(sql: table.unlinkAllSQL(fromSource: side), [.integer(id)])
      }
    }
  }

  /// The plan stands for the file as it is when all is written, and a flush leaves things out.
  private func checkNothingElseGoes() throws {
    let reader = ConnectionReader(connection: connection)
    var (isHeld, holds): (Bool, [DeletionHold]) = (false, [])
    func requireGoing(
      _ links: [LinkEnds], to other: EntityMapping, of entity: EntityMapping, _ reason: DeletionHold.Reason?
    ) {
      let staying = links.filter { !plan.deletion.goes($0.other, other) }
      isHeld = isHeld || !staying.isEmpty
      guard let reason else { return }
      holds += DeletionHold.all(of: entity, ids: staying.lazy.map(\.own), reason: reason)
    }
    func requireReferrersGoing(
      _ other: EntityMapping, _ slot: Int, to rows: [Int64], of entity: EntityMapping
    )
      throws
    {
      // Whatever the rule: the engine has one for each column that leads to a row that goes. One that may be empty will be, once
      // what keeps it is put right.
      requireGoing(
        try reader.referrers(other, slot, to: rows), to: other, of: entity,
        other.isRequired[slot] ? .requirement(other, slot: slot) : nil)
    }
    for entity in mapping.entities {
      let rows = plan.deletion.rows(entity)
      guard !rows.isEmpty else { continue }
      for relationship in entity.relationships {
        let (destination, rule) = (relationship.destination, relationship.deleteRule)
        let reason: DeletionHold.Reason? = rule == .deny ? .denial(relationship) : nil
        if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany {
          try requireReferrersGoing(destination, inverse, to: rows, of: entity)
        }
        guard rule != .nullify else { continue }
        switch relationship.storage {
        case .inverseColumn: break
        case .column:
          // What was changed of a row that goes is not written.
          let stored = rows.filter { id in
            maps[entity.index].find(id)?.overlay?.changed.contains(relationship.slot) != true
          }
          let links = try reader.targets(entity, relationship.slot, of: stored)
          requireGoing(links, to: destination, of: entity, reason)
        case .join(let table, let isSource):
          let links = try reader.links(table, fromSource: isSource, of: rows)
          requireGoing(links, to: destination, of: entity, reason)
        }
      }
      for referrer in entity.danglingReferrers {
        try requireReferrersGoing(referrer.owner, referrer.slot, to: rows, of: entity)
      }
    }
    if isHeld { throw DeletionsMustWait(holds: holds) }
  }

  /// Deletes the links of objects whose row was never written: no deletion of a row takes them along.
  private func unlinkUnwritten() throws {
    let unwritten = plan.deletion.unwritten.filter { $0.rowID > 0 }
    guard !unwritten.isEmpty else { return }
    for relationship in mapping.relationships {
      guard case .join(let table, isSource: true) = relationship.storage else { continue }
      let inverse = relationship.inverseSlot.map { relationship.destination.slots[$0].name }
      for (entity, side, name) in [
        (relationship.owner, true, relationship.name), (relationship.destination, false, inverse ?? "id"),
      ] {
        for object in unwritten where entity.includes(object.entity) {
          try connection.execute(sql: table.unlinkAllSQL(fromSource: side), [.integer(object.rowID)])
          let left = try connection.value(
            sql: table.linksSQL(fromSource: side, count: 1), [.integer(object.rowID)])
          if left != nil {
            throw ignored(entity, property: name, object.rowID, "unlinked")
          }
        }
      }
    }
  }

  /// Deletes who is below before who is above: SQLite would else cascade by itself, from row to row, and gives up
  /// a thousand levels down.
  private func deleteRows() throws {
    // A savepoint makes the engine keep a copy of each page. Without one its cascades stay half done where it gives up.
    guard mayRecurse else { return try deleteLevels() }
    do { try connection.savepoint(deleteLevels) } catch let error as SQLError {
      guard "\(error)".contains("trigger recursion") else { throw error }
      // The rows of one level hang on each other. Cut them apart first: references are compared at the commit.
      try cutApart()
      try deleteLevels()
    }
  }

  /// Whether rows may hang on each other further down than the engine goes.
  private var mayRecurse: Bool {
    plan.deletion.levels.reduce(0) { $0 + $1.ids.count } > 500 && mapping.cascadesInCircles
  }

  private func deleteLevels() throws {
    for level in plan.deletion.levels.reversed() {
      let entity = mapping.entities[level.entity]
      for batch in level.ids.chunked(Self.deletedAtOnce) {
        let count = try naming(entity, batch) { try deleteRows($0, entity) }
        guard count < batch.count else { continue }
        for few in batch.chunked(batchSize) { try requireGone(few, entity) }
      }
    }
  }

  /// How many rows one statement deletes. In a savepoint the engine copies each page once for each statement that changes it, so that
  /// they should be few; but what one has copied for itself it keeps in memory until it ends.
  private static let deletedAtOnce = 20_000

  /// Deletes rows in one statement.
  /// - Returns: How many of them there were.
  private func deleteRows(_ ids: ArraySlice<Int64>, _ entity: EntityMapping) throws -> Int {
    guard ids.count > batchSize else {
      return try connection.execute(sql: entity.deleteSQL(count: ids.count), ids.map { .integer($0) })
    }
    try connection.run(RowFeed(ids: ids), from: 0, sql: entity.fedDeleteSQL)
    return connection.changes
  }

  /// Runs one statement for rows of an entity. Where the engine refuses one of them, the error names it: the engine does not.
  private func naming(
    _ entity: EntityMapping, _ ids: [Int64], _ run: (ArraySlice<Int64>) throws -> Int
  ) throws -> Int {
    // A trigger's RAISE(FAIL) leaves what stands before it done.
    let fires = try firesTriggers(entity)
    func attempt(_ ids: ArraySlice<Int64>) throws -> Int {
      try fires ? connection.savepoint { try run(ids) } : run(ids)
    }
    do { return try attempt(ids[...]) } catch SQLError.constraint(let message, let code, let sql) {
      // A flush takes no notice of who it was, and leaves all deletions to the save.
      if !plan.extent.isPartial, !isOfModel(message, code) {
        if ids.count == 1 { throw try refused(entity, ids[0], message) }
        try findRefused(entity, ids[...], attempt)
      }
      throw SQLError.constraint(message: message, extendedCode: code, sql: sql)
    }
  }

  /// Looks for the row that is refused, half by half: runs the statement for each, so that triggers are fired once more. All of it
  /// is undone with the save.
  ///
  /// A table of somebody's own with references that are compared at once may have another row refused in a part than in the whole, of
  /// those that it holds together.
  /// - Throws: What is said of that row.
  private func findRefused(
    _ entity: EntityMapping, _ ids: ArraySlice<Int64>, _ attempt: (ArraySlice<Int64>) throws -> Int
  ) throws {
    var rest = ids
    // Where the engine has taken all back there is nothing to look through.
    while let id = rest.first, !connection.hasLostTransaction {
      let half = rest.prefix(max(1, rest.count / 2))
      do {
        _ = try attempt(half)
        rest = rest[half.endIndex...]
      } catch SQLError.constraint(let message, let code, _)
        where !isOfModel(message, code) && !connection.hasLostTransaction
      {
        if half.count == 1 { throw try refused(entity, id, message) }
        rest = half
      }
    }
  }

  /// What is said of a row, by the name of the entity of the family that it is of.
  private func refused(_ entity: EntityMapping, _ id: Int64, _ message: String) throws -> StoreError {
    guard entity.isInFamily, !connection.hasLostTransaction else { return .refused(entity, id, message) }
    let own = try ConnectionReader(connection: connection).entities(of: [id], entity).first?.entity
    return .refused(own ?? entity, id, message)
  }

  /// Rows that are gone already went with others; one that is still there a trigger holds.
  private func requireGone(_ ids: [Int64], _ entity: EntityMapping) throws {
    let left = try connection.value(sql: entity.presentSQL(count: ids.count), ids.map { .integer($0) })
    if let id = left?.int64 { throw ignored(entity, id, "deleted") }
  }

  private func cutApart() throws {
    for entity in mapping.entities {
      let slots = entity.storedSlots.filter { entity.isToOne[$0] }
      guard !slots.isEmpty else { continue }
      for batch in plan.deletion.rows(entity).chunked(batchSize) {
        try connection.execute(
          sql: entity.cutSQL(slots, count: batch.count), batch.map { .integer($0) })
      }
    }
  }
}
