// Changes of many rows by statements: the transaction, the objects in memory, and the listeners.

internal import CipherSQLite

/// What a bulk change has written.
struct BulkEffect {
  /// The number of objects that were changed or deleted.
  var count = 0
  /// The deletions, with all that delete rules have done.
  var plan: SavePlan?
  /// The entity whose rows were updated.
  var updated: EntityMapping?
  /// The ids of the updated rows; empty if nothing needs them.
  var ids: [Int64] = []
  /// The changes with their values; nil if none are recorded.
  var record: ChangeCollector?
  /// The history of the transaction; nil if none is kept.
  var history: TransactionRecorder?
}

extension ObjectContext {
  /// Runs `body`, which changes many objects, after pending changes were saved in a write.
  /// - Throws: ``StoreError/unsavedChanges`` outside of a write, if there are pending changes.
  func savingFirst<Result>(_ body: () throws -> Result) throws -> Result {
    try requireWritable()
    if let hookRun { throw hookRun.error("changes many objects at once, which no hook may") }
    if let byteWriting { throw byteWriting }
    try run?.check()
    if pending.isLive || !deniedDeletions.isEmpty {
      guard access.connection != nil else { throw StoreError.unsavedChanges }
      try save()
    }
    return try notifyingObservers(body)
  }

  /// Runs a bulk change in a transaction, inside of ``savingFirst(_:)``.
  /// - Parameter change: Makes the change. The second argument tells whether to record it.
  private func changeInBulk(_ change: (Connection, _ records: Bool) throws -> BulkEffect) throws -> Int {
    let records = records
    switch access {
    case .reading(let connection, _), .writing(let connection, _, _):
      let effect = try told(connection) { connection in
        try connection.savepoint { try change(connection, records) }
      }
      adopt(effect)
      guard effect.count > 0 else { return 0 }
      written.hasAny = true
      note(effect)
      if let record = effect.record { written.changes?.add(record.changes) }
      if let history = effect.history { written.history = history }
      return effect.count
    case .pooled(let pool):
      let count = try pool.withWriter { connection in
        let effect = try connection.transaction(.immediate) {
          try core.beginWriting(connection)
          let effect = try change(connection, records)
          try endHistory(effect.history, on: connection)
          return effect
        }
        core.reservedIDs.commit()
        adopt(effect)
        if effect.count > 0 { publish(effect.record) }
        return effect.count
      }
      renewPin()
      return count
    }
  }

  /// What a bulk change does with objects.
  enum BulkKind { case updating, deleting }

  /// Whether the objects of some entities must be changed one by one, because their hooks are called or
  /// their changes are recorded.
  func changesOneByOne(_ kind: BulkKind, in entities: [EntityMapping]) -> Bool {
    if undoes != nil || onWillSave != nil || access.isMigrating { return true }
    let hooks: ClassHooks =
      kind == .updating
      ? [.willSave, .didSave, .validateForUpdate] : [.prepareForDeletion, .validateForDelete]
    return !core.hooks.isDisjoint(with: hooks)
      && entities.contains { !maps[$0.index].hooks.isDisjoint(with: hooks) }
  }

  /// Returns the entities of which objects may be deleted when one of an entity is.
  func reachedByDeletions(of entity: EntityMapping) -> [EntityMapping] {
    let start = Set(entity.branch.map(\.index))
    return start.union(entitiesReached(byCascadesFrom: start)).map { core.mapping.entities[$0] }
  }

  /// Whether changing rows of an entity fires triggers.
  func firesTriggers(_ entity: EntityMapping) throws -> Bool {
    try withConnection { try $0.firesTriggers(table: entity.root.name) }
  }

  /// Notes which rows of the write are not committed.
  private func note(_ effect: BulkEffect) {
    guard access.committed != nil else { return }
    if let plan = effect.plan { written.rows.note(plan, core.mapping) }
    guard let entity = effect.updated else { return }
    written.rows.note(effect.ids, of: entity)
  }

  /// Lets the objects in memory show what was written.
  private func adopt(_ effect: BulkEffect) {
    if let plan = effect.plan { adopt(plan) }
    guard let entity = effect.updated else { return }
    for map in entity.branch.map({ maps[$0.index] }) {
      for object in effect.ids.compactMap(map.find) where object.overlay == nil { refresh(object) }
    }
  }

  /// Deletes the rows that a query finds, with all that their delete rules concern.
  /// - Parameter find: Returns the ids of the rows, in the transaction.
  func deleteRows(of entity: EntityMapping, _ find: (Connection) throws -> [Int64]) throws -> Int {
    try changeInBulk { connection, records in
      let ids = try find(connection)
      guard !ids.isEmpty else { return BulkEffect(record: records ? ChangeCollector() : nil) }
      var deletion = PendingChanges()
      let reader = ConnectionReader(connection: connection, reservedIDs: reservedIDs)
      if entity.isInHierarchy {
        let owners = Dictionary(grouping: try reader.entities(of: ids, entity), by: { $0.entity.index })
        deletion.deletedRows = owners.mapValues { RowIDSet($0.map(\.id)) }
      } else {
        deletion.deletedRows = [entity.index: RowIDSet(ids)]
      }
      var planner = SavePlanner(
        deletion, mapping: core.mapping, maps: maps, reader: reader,
        recordsEveryRow: records || keepsHistory || access.committed != nil)
      // Rows count as they are in the file, not as objects in memory have read them.
      planner.isMerging = true
      let writer = SaveWriter(
        try planner.make(), mapping: core.mapping, maps: maps, connection: connection, records: records,
        history: try recorder(on: connection))
      try writer.write(reservedIDs: reservedIDs, isLast: false)
      return BulkEffect(
        count: ids.count, plan: writer.plan, record: writer.record, history: writer.history)
    }
  }
}

extension StoreError {
  /// The error for an increment whose sum the property cannot hold.
  static func sumOutOfRange(_ entity: String, property: String, rowID: Int64) -> StoreError {
    .validation([
      ValidationFailure(
        entity: entity, property: property, rowID: rowID,
        reason: "would be out of range: the value in the store and the increment have no sum of its type")
    ])
  }
}

/// The rows that a bulk update concerns, and the new values.
struct BulkUpdate {
  /// A new value of a slot.
  enum Value {
    case constant(SQLValue)
    /// The present value and an amount. The property can hold a sum if `fits` is true for it.
    case sum(SQLValue, fits: (SQLValue) -> Bool)
  }

  let entity: EntityMapping
  let values: [(slot: Int, value: Value)]
  /// The query for the ids, and its bindings.
  let ids: String
  let bindings: [SQLValue]

  private var columns: [SQLName] { values.compactMap { entity.slots[$0.slot].columnName } }

  /// The condition for rows that would change, with its bindings.
  private var condition: (text: String, bindings: [SQLValue]) {
    var (parts, bound): ([String], [SQLValue]) = ([], [])
    for ((_, value), column) in zip(values, columns) {
      switch value {
      case .constant(let constant):
        parts.append("\(column) IS NOT ?")
        bound.append(constant)
      case .sum: parts.append("\(column) NOT NULL")
      }
    }
    return ("\"id\" IN (\(ids)) AND (\(parts.joined(separator: " OR ")))", bindings + bound)
  }

  /// Checks that no sum exceeds what its property can hold.
  /// - Throws: ``StoreError/validation(_:)`` with the object whose value is the highest or the lowest.
  private func checkSums(_ connection: Connection) throws {
    for ((slot, value), column) in zip(values, columns) {
      guard case .sum(let amount, let fits) = value else { continue }
      for order in ["ASC", "DESC"] {
        let sql =
          "SELECT \"id\", \(column) FROM \(entity.table) WHERE \"id\" IN (\(ids)) AND \(column) NOT NULL "
          + "ORDER BY \(column) \(order) LIMIT 1"
        guard let row = try connection.query(sql: sql, bindings, { ($0.int64(0), $0.value(1)) }).first else {
          continue
        }
        let sum = ValueArithmetic.calculate(row.1, .add, with: amount)
        if !sum.isNull, fits(sum) { continue }
        throw StoreError.sumOutOfRange(
          entity.name, property: entity.slots[slot].name, rowID: row.0)
      }
    }
  }

  /// Calls `body` with each row that will change, with its own entity and its values.
  private func forEachFormer(
    _ connection: Connection, _ body: (FormerRow) throws -> Void
  ) throws {
    let (text, bound) = condition
    let kind = entity.isInHierarchy ? ", \(EntityMapping.entityColumn)" : ""
    let names = columns.map(\.description).joined(separator: ", ")
    let sql = "SELECT \"id\", \(names)\(kind) FROM \(entity.table) WHERE \(text)"
    let count = columns.count
    let isInHierarchy = entity.isInHierarchy
    let owners = Dictionary(
      entity.branch.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    try connection.withStatement(sql: sql) { row in
      try row.bind(SQLArguments(bound))
      while try row.step() {
        let owner = isInHierarchy ? row.value(count + 1).string.flatMap { owners[$0] } : nil
        try body(
          FormerRow(entity: owner ?? entity, id: row.int64(0), values: (1...count).map { row.value($0) }))
      }
    }
  }

  /// A row that will change.
  private struct FormerRow {
    let entity: EntityMapping
    let id: Int64
    let values: [SQLValue]
  }

  /// Returns the new value of one of the properties.
  private func new(at index: Int, from old: SQLValue) -> SQLValue {
    switch values[index].value {
    case .constant(let constant): constant
    case .sum(let amount, _): ValueArithmetic.calculate(old, .add, with: amount)
    }
  }

  /// Changes the rows.
  /// - Parameters:
  ///   - records: Whether to record the changes for listeners.
  ///   - history: Records the changes in the history; nil if none is kept.
  ///   - notesIDs: Whether to note which rows were changed.
  func run(
    _ connection: Connection, records: Bool, history: TransactionRecorder?, notesIDs: Bool
  ) throws -> BulkEffect {
    try checkSums(connection)
    var effect = BulkEffect(updated: entity, record: records ? ChangeCollector() : nil, history: history)
    let keepsHistory =
      history.map { recorder in entity.branch.contains { recorder.numbers.detail($0) != nil } } ?? false
    // Read before they change, and stored row by row, so that the rows are not in memory at once.
    if records || keepsHistory {
      try forEachFormer(connection) { row in
        if notesIDs || records { effect.ids.append(row.id) }
        try note(row, in: &effect, connection)
      }
    }
    let (text, bound) = condition
    var settings: [String] = []
    var new: [SQLValue] = []
    for ((_, value), column) in zip(values, columns) {
      switch value {
      case .constant(let constant):
        settings.append("\(column) = ?")
        new.append(constant)
      case .sum(let amount, _):
        settings.append("\(column) = \(column) + ?")
        new.append(amount)
      }
    }
    // FAIL: the transaction undoes the change, so the engine need not keep the former pages for that.
    let sql =
      "UPDATE OR FAIL \(entity.table) SET \(settings.joined(separator: ", ")), "
      + "\(quoted(RowVersions.column)) = \(quoted(RowVersions.column)) + 1 WHERE \(text)"
    guard notesIDs, !records, !keepsHistory else {
      effect.count = try connection.execute(sql: sql, SQLArguments(new + bound))
      return effect
    }
    let rows = try connection.changedRows {
      effect.count = try connection.execute(sql: sql, SQLArguments(new + bound))
    }
    effect.ids = rows.filter { $0.table == entity.root.name && $0.kind == .update }.map(\.rowID)
    return effect
  }

  /// Records the change of a row for listeners and in the history.
  private func note(_ row: FormerRow, in effect: inout BulkEffect, _ connection: Connection) throws {
    let slots = values.map(\.slot)
    var (old, new) = (row.values[...], row.values.indices.map { self.new(at: $0, from: row.values[$0]) }[...])
    if effect.record != nil {
      let names = slots.map { entity.slots[$0].name }
      effect.record?.update(
        row.entity.name, rowID: row.id, old: Dictionary(uniqueKeysWithValues: zip(names, old)),
        new: Dictionary(uniqueKeysWithValues: zip(names, new)))
    }
    effect.history?.update(row.entity, id: row.id, slots: slots) { writer, _ in
      writer.put(old.popFirst() ?? .null)
    } new: { writer, _ in
      writer.put(new.popFirst() ?? .null)
    }
    try effect.history?.store(connection)
  }
}

extension ObjectContext {
  /// Changes values of the rows that a query finds.
  func updateRows(_ update: BulkUpdate) throws -> Int {
    // The objects in memory that were changed are read again, and no others.
    let isInMemory = update.entity.branch.contains { !maps[$0.index].isEmpty }
    return try changeInBulk { connection, records in
      try update.run(
        connection, records: records, history: recorder(on: connection),
        notesIDs: isInMemory || access.committed != nil)
    }
  }
}
