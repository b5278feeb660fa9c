// Runs data blocks: SQL on rows that a person wrote, statement by statement, under an authorizer.

internal import CipherSQLite

extension MigrationRunner {
  /// Runs the statements of a data block.
  ///
  /// A row that is inserted without an id gets one above all ids issued so far. Ids that a statement sets
  /// or changes count as issued.
  /// - Parameter access: The declared reads and writes of the block.
  /// - Returns: The columns that the statements wrote.
  func run(data sql: String, _ access: TransformAccess, _ model: Schema) throws -> TouchedColumns {
    var (written, columns) = (TouchedColumns(), [String: [String]]())
    let declared = DeclaredColumns(access, model, sql: sql)
    // Entities with a parent have no table of their own and no high-water mark.
    let names = EntityNames(model.roots.map(\.name))
    let statements = SQLTemplate.statements(sql)
    // Insertions are grouped only where the difference is not observable: there are no triggers, and
    // neither the SQL nor a view uses changes().
    let mayGroup =
      try !SQLTemplate.names("changes", in: sql)
      && connection.value(
        "SELECT 1 FROM sqlite_master WHERE type = 'trigger' OR type = 'view' AND sql LIKE '%changes%' LIMIT 1"
      )
        == nil
    var position = 0
    do {
      while let group = try DataStatements(statements, from: &position, names, mayGroup: mayGroup) {
        // The engine checks for cancellation only within long statements, and these may be many short ones.
        try checkCancelled()
        if let entity = group.insertion?.entity, columns[entity] == nil {
          columns[entity] = try connection.tableInfo(entity).columns.map(\.name)
        }
        let known = group.insertion.flatMap { columns[$0.entity] } ?? []
        for watch in try run(group, entities: names, declared: declared, columns: known) {
          written.formUnion(watch.written)
          try ids.check()
          for name in watch.changedIDs.sorted() {
            if let entity = names.entity(of: name) { try rereadHighWaterMark(entity) }
          }
        }
        record.meter.reached(Double(position) / Double(statements.count))
      }
    } catch {
      try ids.check()
      throw error
    }
    try ids.settle(connection)
    return written
  }

  /// Runs a group as one statement. If that fails, runs each statement alone, so that the error names the
  /// one that fails.
  private func run(
    _ group: DataStatements, entities names: EntityNames, declared: DeclaredColumns?, columns: [String]
  ) throws -> [DataWatch] {
    func run(_ statement: String, _ insertion: NumberedInsert?) throws -> DataWatch {
      let watch = DataWatch(names, insertion: insertion, declared: declared?.of(statement))
      try self.run(statement, beginning: group.beginning, watch: watch, columns: columns)
      return watch
    }
    guard group.texts.count > 1 else { return [try run(group.texts[0], group.insertion)] }
    do {
      let whole = group.texts.joined(separator: ";")
      return [try ids.undoing { try connection.savepoint { try run(whole, group.insertion) } }]
    } catch {
      // If the transaction is lost, nothing can be run any more.
      guard !connection.hasLostTransaction else { throw error }
      return try group.texts.map { text in
        try checkCancelled()
        return try run(text, NumberedInsert(text, entities: names))
      }
    }
  }

  /// Runs one statement, or only prepares it in a trial.
  /// - Parameters:
  ///   - watch: Records what it does.
  ///   - columns: The columns of the table that it inserts into.
  private func run(
    _ statement: String, beginning: String, watch: DataWatch, columns: [String]
  ) throws {
    let insertion = watch.insertion
    if let insertion { try know(insertion.entity) }
    let executed = SQLTemplate.namesOnly(insertion?.sql(columns: columns) ?? statement)
    do {
      try connection.withAuthorizer(naming: { watch.allows($0, in: $1) ? .allow : .deny }) {
        // Preparing the statement reports every undeclared access before anything is written.
        if isTrial || watch.declared != nil { try connection.validate(sql: executed) }
        if let refusal = watch.declared?.refusal { throw refusal }
        if !isTrial {
          try connection.executeScript(executed)
        }
      }
      if !watch.changesRows { throw Self.changesNothing(beginning) }
    } catch let error as SQLError {
      let error = error.asWritten(statement)
      guard let unread = watch.unnumbered else {
        throw Self.explained(insertion?.asWritten(error, columns: columns) ?? error)
      }
      let entity = unread.entity
      throw ModelError(
        reason: unread.trigger.map {
          "the trigger \($0) inserts rows into \(entity), which get no ids that way; drop the trigger, and "
            + "insert these rows in the step"
        }
          ?? "rows are inserted into \(entity) in a way that gives them no ids; write INSERT INTO $\(entity) (…) VALUES … or "
          + "SELECT …")
    }
  }

  /// The error for a statement that changes no row: its result would be ignored.
  static func changesNothing(_ beginning: String) -> ModelError {
    ModelError(
      reason:
        "\(beginning.uppercased()) changes no row, and its result is ignored; remove the statement, or check "
        + "a condition with require \"…\" { SELECT … }")
  }

  /// Reads the high-water mark of an entity, once.
  private func know(_ entity: String) throws {
    guard !ids.knows(entity) else { return }
    ids.raise(entity, to: try highestID(of: entity))
  }

  /// Reads the high-water mark again after a change of ids.
  /// - Throws: The errors of ``InsertedIDs/check()``.
  private func rereadHighWaterMark(_ entity: String) throws {
    ids.changed(entity, highest: try highestID(of: entity))
    try ids.check()
  }

  private func highestID(of entity: String) throws -> Int64 {
    try connection.value("SELECT \(IdentifierTable.highest(of: entity))")?.int64 ?? 0
  }

  /// Whether a column, as the authorizer names it, stores ids.
  static func isID(_ column: String) -> Bool { ["id", "rowid"].contains(column.lowercased()) }

  /// Registers the SQL function that issues ids.
  func registerIDs() throws {
    try connection.register(
      function: InsertedIDs.function, argumentCount: 2, isDeterministic: false
    ) { [ids] arguments in
      guard case .text(let entity) = arguments[0] else { return .null }
      return ids.id(of: entity, wanted: arguments[1])
    }
  }
}
