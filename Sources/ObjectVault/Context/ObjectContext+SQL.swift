// SQL that a program writes: queries, and changes of rows.

public import CipherSQLite

extension ObjectContext {
  // MARK: Queries

  /// Returns the rows of a query in SQL, for questions that a fetch cannot ask.
  ///
  /// ```swift
  /// let rows = try context.rows(
  ///   "SELECT kind, count(*) AS n FROM Item WHERE bytes > \(1000) GROUP BY kind"
  /// )
  /// let counts: [String: Int] = try Dictionary(
  ///   uniqueKeysWithValues: rows.map { (try $0["kind"], try $0["n"]) })
  /// ```
  ///
  /// Interpolated values are bound. Tables and columns have the names of entities and properties:
  /// <doc:swift-and-sql>. Common table expressions, and views of the schema, can be read. The query reads
  /// what the context's fetches read: in ``Store/read(_:)`` its snapshot, in ``Store/write(_:)`` what
  /// ``save()`` has written. Dates are seconds from 2001-01-01, as in the file, and a `Date` is bound and
  /// read in that form.
  /// - Parameters:
  ///   - sql: One query.
  ///   - includingPending: Whether the result must include the context's pending changes, which SQL cannot
  ///     see. With `true`, the default, the call throws if there are any; with `false` they are ignored.
  /// - Returns: The rows, in the order of the query.
  /// - Throws: ``StoreError/unsavedChanges``; ``StoreError/sqlRefused(sql:reason:)`` for anything but one
  ///   query; ``SQLError``.
  public func rows(_ sql: SQL, includingPending: Bool = true) throws -> [Row] {
    if includingPending, pending.isLive { throw StoreError.unsavedChanges }
    let found = try withConnection { connection in
      connection.noteUnknownRead()
      try core.checkedQueries.check(sql.text) {
        try WrittenSQL(sql.text, writes: false, core.mapping).checkQuery(on: connection)
      }
      return try connection.allRows(sql)
    }
    recordQuery(rows: found.count)
    return found
  }

  /// Returns the rows of a query in SQL as decoded values.
  ///
  /// ```swift
  /// struct Summary: Decodable { var kind: String; var n: Int }
  /// let kinds = try context.rows(
  ///   as: Summary.self,
  ///   "SELECT kind, count(*) AS n FROM Item GROUP BY kind")
  /// ```
  /// - Parameters:
  ///   - type: The type of the values. Each of its keys is a column; an optional is nil if its column is
  ///     missing or NULL. A type of one value, such as `Int`, gets the first column.
  ///   - sql: One query.
  ///   - includingPending: As in ``rows(_:includingPending:)``.
  /// - Returns: The values, in the order of the query.
  /// - Throws: The errors of ``rows(_:includingPending:)``; `DecodingError`, with the column in its path.
  public func rows<Value: Decodable>(
    as type: Value.Type, _ sql: SQL, includingPending: Bool = true
  ) throws -> [Value] {
    try rows(sql, includingPending: includingPending).map { try $0.decode(type) }
  }

  // MARK: Changes

  /// Runs an INSERT, UPDATE or DELETE in SQL, for changes of many rows that no object is needed for.
  ///
  /// ```swift
  /// let count = try await store.write { context in
  ///   try context.execute(
  ///     "UPDATE Item SET kind = 'large' WHERE bytes > \(1_000_000)")
  /// }
  /// ```
  ///
  /// In ``Store/write(_:)`` the statement is part of the transaction; in a context that the program keeps
  /// it is a transaction of its own. As after a save, ``rollback()`` does not undo it. Interpolated values
  /// are bound. What the store does about the change:
  ///
  /// - The changed rows get new versions: a save of an object that another context has read before throws
  ///   ``StoreError/conflicts(_:)``. Objects of this context are read again when they are next used; those
  ///   whose rows were deleted become invalid.
  /// - Listeners get the names of the changed entities: ``ChangeSet/changedBySQL``.
  /// - Foreign keys and constraints of the file are checked, and its triggers run. The rules of classes,
  ///   such as `check`, and the types of values are not checked: `verify()` finds values of other types.
  ///
  /// Refused are statements that change the store's own tables, ids, versions, or the schema, and pragmas,
  /// attached files and transactions; and insertions with an id below 1 or with an unknown entity.
  /// - Parameter sql: One statement.
  /// - Returns: The number of rows that the statement itself changed.
  /// - Throws: ``StoreError/unsavedChanges`` while the context has unsaved changes;
  ///   ``StoreError/sqlRefused(sql:reason:)``; ``StoreError/readOnlyContext``;
  ///   ``StoreError/storeMigratedElsewhere(file:)``; ``SQLError``. Nothing is changed then.
  @discardableResult
  public func execute(_ sql: SQL) throws -> Int {
    try changing(by: sql) { try changeRows(sql, on: $0) }
  }

  /// Calls `change`, which changes rows without objects, in the context's transaction or in one of its own;
  /// then discards what it has changed from the objects in memory, and tells listeners.
  /// - Parameter sql: The text that errors have.
  func changing<Result>(
    by sql: SQL, _ change: (Connection) throws -> (Result, RowsChangedBySQL)
  ) throws -> Result {
    try requireWritable()
    if let byteWriting { throw byteWriting }
    guard !pending.isLive else { throw StoreError.unsavedChanges }
    try run?.check()
    return try notifyingObservers { try changeWithoutObjects(by: sql, change) }
  }

  private func changeWithoutObjects<Result>(
    by sql: SQL, _ change: (Connection) throws -> (Result, RowsChangedBySQL)
  ) throws -> Result {
    switch access {
    case .writing(_, nil, _):
      throw StoreError.sqlRefused(
        sql: sql.text, reason: "runs in a migration step; write it as a data block of the step")
    case .reading(let connection, _), .writing(let connection, _, _):
      let (result, changed) = try connection.savepoint { try change(connection) }
      adopt(changed)
      guard !changed.entities.isEmpty else { return result }
      written.hasAny = true
      written.rows.changedBySQL.formUnion(changed.entities)
      written.changes?.changedBySQL.formUnion(changed.entities)
      if keepsHistory {
        var history = try recorder(on: connection)
        try recordSQL(changed, in: &history)
        written.history = history
      }
      return result
    case .pooled(let pool):
      defer { renewPin() }
      return try pool.withWriter { connection in
        let (result, changed) = try naming(sql) {
          try connection.transaction(.immediate) {
            try core.beginWriting(connection)
            let changed = try change(connection)
            var history = try recorder(on: connection)
            try recordSQL(changed.1, in: &history)
            try endHistory(history, on: connection)
            return changed
          }
        }
        core.reservedIDs.commit()
        adopt(changed)
        var collector = ChangeCollector()
        collector.changedBySQL.formUnion(changed.entities)
        publish(collector)
        return result
      }
    }
  }

  private func changeRows(_ sql: SQL, on connection: Connection) throws -> (Int, RowsChangedBySQL) {
    let rules = WrittenSQL(sql.text, writes: true, core.mapping)
    var (versioned, count): (String?, Int) = (nil, 0)
    let changes = try told(connection) { connection in
      try connection.withAuthorizer(naming: rules.answer) {
        try rules.prepare(on: connection)
        var text = sql.text
        // An UPDATE increases the versions itself: another UPDATE would run its triggers again.
        if rules.updated.count == 1, let table = rules.updated.first,
          core.mapping.entity(named: table) != nil,
          let raising = SQLScanner.raisingVersions(text)
        {
          rules.isChecked = true
          (text, versioned) = (raising, table)
        }
        return try connection.changedRows {
          count = try naming(sql) { try connection.execute(sql: text, SQLArguments(sql.values)) }
        }
      }
    }
    var changed = RowsChangedBySQL(
      changes, tables: count > 0 || !changes.isEmpty ? rules.tables : [], core.mapping)
    if let reason = try changed.refusal(on: connection) {
      throw StoreError.sqlRefused(sql: sql.text, reason: reason)
    }
    if rules.mayReplace { try changed.addReplaced(among: maps, on: connection) }
    try changed.finish(on: connection, versioned: versioned, core.reservedIDs)
    return (count, changed)
  }

  /// Runs `body`. An error of the engine has the text that the program wrote.
  private func naming<Result>(_ sql: SQL, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch SQLError.constraint(let message, let code, _) {
      throw SQLError.constraint(message: message, extendedCode: code, sql: sql.text)
    } catch SQLError.engine(let code, let extendedCode, let message, _) {
      throw SQLError.engine(code: code, extendedCode: extendedCode, message: message, sql: sql.text)
    }
  }

  /// Discards what SQL has changed from the objects in memory.
  private func adopt(_ changed: RowsChangedBySQL) {
    guard !changed.entities.isEmpty else { return }
    for (root, rows) in changed.rows {
      let map = maps[root.index]
      for id in rows.updated + rows.inserted { map.find(id).map(refresh) }
      // A row that was deleted and inserted again exists.
      let inserted = RowIDSet(rows.inserted)
      for id in rows.deleted where !inserted.contains(id) {
        guard let object = map.find(id) else { continue }
        forget(object)
        object.loseRow()
      }
    }
    guard !changed.keepsRelationships else { return }
    // Members and targets that were read before may differ now.
    for object in maps.objects {
      object.forgetFetchedMembers(keepsOrders: false)
      observers?.didChange(object)
    }
  }
}
