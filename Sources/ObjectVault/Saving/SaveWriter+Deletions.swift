// Executes planned deletions: clears references, then deletes rows level by level.

internal import CipherSQLite

extension SaveWriter {
  func delete() throws {
    guard !plan.deletion.isEmpty else { return }
    try recordDeletedLinks()
    for (index, slot, ids) in plan.deletion.released {
      let entity = mapping.entities[index]
      let firesTriggers = try firesTriggers(entity)
      for batch in ids.chunked(batchSize) {
        try recordReleases(entity, slot: slot, ids: batch)
        _ = try naming(entity, ids: batch) { ids in
          let sql = entity.nullifySQL(slot, count: ids.count, failureUndoesStatement: firesTriggers)
          return try connection.execute(sql: sql, ids.map { .integer($0) })
        }
      }
    }
    try unlinkDeletedRows()
    try deleteRows()
  }

  /// Deletes the links of deleted rows. The engine does so itself while it enforces foreign keys; while
  /// migration steps run, it does not enforce them.
  private func unlinkDeletedRows() throws {
    guard try connection.value("PRAGMA foreign_keys") == 0 else { return }
    for (table, side, ids) in endsOfDeletedRows {
      for id in ids {
        try connection.execute(sql: table.unlinkAllSQL(fromSource: side), [.integer(id)])
      }
    }
  }

  /// Deletes members before their owners. Otherwise SQLite would cascade from row to row itself, which
  /// fails if the cascade is a thousand levels deep.
  private func deleteRows() throws {
    // Without a savepoint, a cascade that fails would stay half done. But in a savepoint the engine
    // copies each page, so one is used only if needed.
    guard mayRecurse else { return try deleteLevels() }
    do { try connection.savepoint(deleteLevels) } catch let error as SQLError {
      guard "\(error)".contains("trigger recursion") else { throw error }
      // Rows of one level refer to each other. Their references are cleared first. Foreign keys are
      // checked at the commit.
      try clearReferencesWithinLevels()
      try deleteLevels()
    }
  }

  /// Whether rows may refer to each other in chains deeper than the engine's limit.
  private var mayRecurse: Bool {
    plan.deletion.levels.reduce(0) { $0 + $1.ids.count } > 500 && mapping.cascadesInCircles
  }

  private func deleteLevels() throws {
    for level in plan.deletion.levels.reversed() {
      let entity = mapping.entities[level.entity]
      for batch in level.ids.chunked(Self.deletedAtOnce) {
        let count = try naming(entity, ids: batch) { try deleteRows($0, entity) }
        guard count < batch.count else { continue }
        for few in batch.chunked(batchSize) { try requireDeleted(few, entity) }
      }
    }
  }

  /// The number of rows that one statement deletes. In a savepoint the engine copies each page once per
  /// statement that changes it, so few statements are better; but the copies of one statement stay in
  /// memory until it ends.
  private static let deletedAtOnce = 20_000

  /// Deletes rows in one statement.
  /// - Returns: The number of rows that existed.
  private func deleteRows(_ ids: ArraySlice<Int64>, _ entity: EntityMapping) throws -> Int {
    guard ids.count > batchSize else {
      return try connection.execute(sql: entity.deleteSQL(count: ids.count), ids.map { .integer($0) })
    }
    try connection.run(RowFeed(ids: ids), from: 0, sql: entity.fedDeleteSQL)
    return connection.changes
  }

  /// Runs one statement for rows of an entity. If the engine refuses a row, the error names the row; the
  /// engine's own error does not.
  private func naming(
    _ entity: EntityMapping, ids: [Int64], run: (ArraySlice<Int64>) throws -> Int
  ) throws -> Int {
    // RAISE(FAIL) in a trigger keeps the changes that were made before it.
    let fires = try firesTriggers(entity)
    func attempt(_ ids: ArraySlice<Int64>) throws -> Int {
      try fires ? connection.savepoint { try run(ids) } : run(ids)
    }
    do { return try attempt(ids[...]) } catch SQLError.constraint(let message, let code, let sql) {
      if !isOfModel(message, code) {
        if ids.count == 1 { throw try refused(entity, id: ids[0], message: message) }
        try findRefused(entity, among: ids[...], attempt: attempt)
      }
      throw SQLError.constraint(message: message, extendedCode: code, sql: sql)
    }
  }

  /// Finds the refused row by bisection: runs the statement for each half, which fires triggers again.
  /// The rollback of the save undoes all of it.
  ///
  /// A row of a table outside the model may have immediate foreign keys to two of these rows. If only one
  /// of the two is in a half, the engine may refuse it, although it would accept the deletion of both.
  /// The error then names that row and not the one that was refused at first.
  /// - Throws: The error that names the row.
  private func findRefused(
    _ entity: EntityMapping, among ids: ArraySlice<Int64>, attempt: (ArraySlice<Int64>) throws -> Int
  ) throws {
    var rest = ids
    // If the engine has rolled back the transaction, there is nothing to search.
    while let id = rest.first, !connection.hasLostTransaction {
      let half = rest.prefix(max(1, rest.count / 2))
      do {
        _ = try attempt(half)
        rest = rest[half.endIndex...]
      } catch SQLError.constraint(let message, let code, _)
        where !isOfModel(message, code) && !connection.hasLostTransaction
      {
        if half.count == 1 { throw try refused(entity, id: id, message: message) }
        rest = half
      }
    }
  }

  /// Returns the error for a refused row, with the name of the row's own entity.
  private func refused(_ entity: EntityMapping, id: Int64, message: String) throws -> StoreError {
    guard entity.isInHierarchy, !connection.hasLostTransaction else {
      return .refused(entity, id: id, message: message)
    }
    let own = try ConnectionReader(connection: connection).entities(of: [id], entity).first?.entity
    return .refused(own ?? entity, id: id, message: message)
  }

  /// Checks that rows no longer exist. If a row was missing, it was deleted along with another one. If a
  /// row still exists, a trigger kept it.
  private func requireDeleted(_ ids: [Int64], _ entity: EntityMapping) throws {
    let left = try connection.value(
      sql: entity.lowestExistingIDSQL(count: ids.count), ids.map { .integer($0) })
    if let id = left?.int64 { throw ignored(entity, id: id, what: "deleted") }
  }

  private func clearReferencesWithinLevels() throws {
    for entity in mapping.entities {
      let slots = entity.storedSlots.filter { entity.isToOne[$0] }
      guard !slots.isEmpty else { continue }
      for batch in plan.deletion.rows(entity).chunked(batchSize) {
        try connection.execute(
          sql: entity.clearToOnesSQL(slots, count: batch.count), batch.map { .integer($0) })
      }
    }
  }
}
