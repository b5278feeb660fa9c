// Data blocks: what a person wrote about rows, statement by statement, behind an authorizer.

internal import CipherSQLite

extension MigrationRunner {
  /// Runs the statements of a data block.
  ///
  /// A row that they insert without an id gets one above all that were given out, and ids that they give
  /// themselves, or change, count as given out.
  /// - Parameter access: What their author says that they read and write.
  /// - Returns: What they wrote.
  func run(data sql: String, _ access: TransformAccess, _ model: Schema) throws -> TouchedColumns {
    var (written, columns) = (TouchedColumns(), [String: [String]]())
    let declared = DeclaredColumns(access, model, sql: sql)
    // Entities with a parent have no table of their own, and no mark.
    let names = EntityNames(model.roots.map(\.name))
    let statements = SQLTemplate.statements(sql)
    // Insertions are grouped only where nothing can notice: without triggers, and where neither the SQL nor a view asks changes().
    let mayGroup =
      try !SQLTemplate.names("changes", in: sql)
      && connection.value(
        "SELECT 1 FROM sqlite_master WHERE type = 'trigger' OR type = 'view' AND sql LIKE '%changes%' LIMIT 1"
      )
        == nil
    var position = 0
    do {
      while let group = try DataStatements(statements, from: &position, names, mayGroup: mayGroup) {
        // The engine looks for a cancellation in long statements alone, and these may be many short ones.
        try checkCancelled()
        if let entity = group.insertion?.entity, columns[entity] == nil {
          columns[entity] = try connection.tableInfo(entity).columns.map(\.name)
        }
        let known = group.insertion.flatMap { columns[$0.entity] } ?? []
        for watch in try run(group, names, declared, columns: known) {
          written.formUnion(watch.written)
          try ids.check()
          for name in watch.changedIDs.sorted() {
            if let entity = names.entity(of: name) { try knowChanged(entity) }
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

  /// Runs a group as one statement. Where that fails, runs each by itself, so that the error names the one that fails.
  private func run(
    _ group: DataStatements, _ names: EntityNames, _ declared: DeclaredColumns?, columns: [String]
  ) throws -> [DataWatch] {
    func run(_ statement: String, _ insertion: NumberedInsert?) throws -> DataWatch {
      let watch = DataWatch(names, insertion, declared?.of(statement))
      try self.run(statement, group.beginning, watch, columns: columns)
      return watch
    }
    guard group.texts.count > 1 else { return [try run(group.texts[0], group.insertion)] }
    do {
      let whole = group.texts.joined(separator: ";")
      return [try ids.undoing { try connection.savepoint { try run(whole, group.insertion) } }]
    } catch {
      // With the transaction all is gone, and no statement can be asked.
      guard !connection.hasLostTransaction else { throw error }
      return try group.texts.map { text in
        try checkCancelled()
        return try run(text, NumberedInsert(text, entities: names))
      }
    }
  }

  /// Runs one of them, or only reads it in a trial.
  /// - Parameters:
  ///   - watch: Sees what it does.
  ///   - columns: Those of the table that it inserts into.
  private func run(
    _ statement: String, _ beginning: String, _ watch: DataWatch, columns: [String]
  ) throws {
    let insertion = watch.insertion
    if let insertion { try know(insertion.entity) }
    let executed = SQLTemplate.namesOnly(insertion?.sql(columns: columns) ?? statement)
    do {
      try connection.withAuthorizer(naming: { watch.allows($0, in: $1) ? .allow : .deny }) {
        // What is told of all that was not declared is asked for before any of it happens.
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
          "the trigger \($0) inserts rows into \(entity), which get no ids that way; drop it, and insert these rows in the step"
        }
          ?? "rows are inserted into \(entity) in a way that gives them no ids; write INSERT INTO $\(entity) (…) VALUES … or "
          + "SELECT …")
    }
  }

  /// What is said of a statement that the engine runs, and that nobody sees anything of.
  static func changesNothing(_ beginning: String) -> ModelError {
    ModelError(
      reason:
        "\(beginning.uppercased()) changes no row, and nobody sees what it finds; take the statement out, or write what has to "
        + "be so as require \"…\" { SELECT … }")
  }

  /// Asks for the mark of an entity.
  private func know(_ entity: String) throws {
    guard !ids.knows(entity) else { return }
    ids.raise(entity, to: try highestID(of: entity))
  }

  /// Asks for it once more, behind a change of ids.
  /// - Throws: As ``InsertedIDs/check()``.
  private func knowChanged(_ entity: String) throws {
    ids.changed(entity, highest: try highestID(of: entity))
    try ids.check()
  }

  private func highestID(of entity: String) throws -> Int64 {
    try connection.value("SELECT \(IdentifierTable.highest(of: entity))")?.int64 ?? 0
  }

  /// Whether a column, as the authorizer names it, is that of ids.
  static func isID(_ column: String) -> Bool { ["id", "rowid"].contains(column.lowercased()) }

  /// Lends SQL the function that gives ids.
  func registerIDs() throws {
    try connection.register(
      function: InsertedIDs.function, argumentCount: 2, isDeterministic: false
    ) { [ids] arguments in
      guard case .text(let entity) = arguments[0] else { return .null }
      return ids.id(of: entity, wanted: arguments[1])
    }
  }
}
