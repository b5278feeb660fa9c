// Deletions in the file, as planned: who loses a reference, then what goes, level by level.

internal import CipherSQLite

extension SaveWriter {
  func delete() throws {
    guard !plan.deletion.isEmpty else { return }
    try recordLinksThatGo()
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
      if !isOfModel(message, code) {
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
