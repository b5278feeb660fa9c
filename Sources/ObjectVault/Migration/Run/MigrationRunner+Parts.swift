// Runs the statements of a step, and defines what a data block may do. MigrationRunner+Data runs a
// single block.

internal import CipherSQLite

extension MigrationRunner {
  /// Runs the parts of a step, for new and existing stores. The audit checks rows after each sequence of
  /// data blocks, and after each other part.
  func run(_ parts: [CompiledStep.Part], of step: MigrationStep, _ audit: inout RowAudit) throws {
    var touched = TouchedColumns()
    var writers: [MigrationOperation] = []
    var hasChangedRows = false
    for (index, part) in parts.enumerated() {
      let next = index + 1 < parts.count ? parts[index + 1] : nil
      hasChangedRows = hasChangedRows || part.changesRows
      if part.isData {
        if !part.isRequirement {
          if writers.isEmpty { try audit.willWrite(part.model) }
          writers += part.operations
        }
        try run(part, of: step, &touched)
        if next?.isData != true {
          if !writers.isEmpty { try audit.wrote(touched, part.model, of: step, by: writers) }
          (touched, writers) = (TouchedColumns(), [])
        }
      } else {
        var unseen = part.filled
        try run(part, of: step, &unseen)
        try audit.changedTables(part, of: step, unseen)
      }
      // Issued ids are recorded after each operation, so that the next one issues the ids that it would
      // issue in a step of its own. Otherwise it could issue the ids of rows that this operation deletes or
      // moves to another table.
      if hasChangedRows, next?.operations != part.operations {
        try raiseHighWaterMarks(part.model)
        hasChangedRows = false
      }
    }
  }

  /// Runs the statements of a part.
  /// - Parameter unseen: The columns whose values have to be checked afterwards. Columns that data
  ///   statements wrote are added, and columns that were checked on the way are removed.
  func run(_ part: CompiledStep.Part, of step: MigrationStep, _ unseen: inout TouchedColumns) throws {
    record.meter.beginPart(cost: part.planned.reduce(0) { $0 + $1.statement.cost })
    for planned in part.planned {
      try checkCancelled()
      do {
        do {
          try metered(planned, of: step) { try run(planned.statement, in: part, of: step, unseen: &unseen) }
        } catch let error as SQLError {
          // The error of a function is more informative than the engine's error about the NULL that
          // it returned.
          try failures.rethrow(step)
          throw error
        }
        try failures.rethrow(step)
      } catch let error as SQLError {
        throw failure(error, running: planned, in: part, of: step)
      } catch let failure as TransformFailure {
        throw step.failed(planned.blamed(for: ""), because: failure.reason)
      } catch let error as ModelError {
        throw step.failed(planned.blamed(for: ""), because: error.reason)
      } catch StoreError.idsExhausted(let entity) {
        throw step.failed(planned.blamed(for: ""), because: Self.noIDLeft(entity))
      } catch let error as RowRefusal {
        throw step.refused(planned.blamed(for: ""), because: error.reason)
      }
    }
  }

  /// Updates the progress during a statement: by the rows that the statement counts itself, or by the
  /// engine's instructions.
  private func metered(_ planned: PlannedStatement, of step: MigrationStep, _ body: () throws -> Void) throws
  {
    guard progress != nil else { return try body() }
    let (statement, meter, every) = (planned.statement, record.meter, 50_000)
    meter.beginStatement(cost: statement.cost, "\(numbered(step.number)): \(planned.blamed(for: ""))")
    if !statement.countsRows {
      connection.onProgress(every: every) {
        meter.worked(every, perRow: statement.instructionsPerRow)
        return true
      }
    }
    defer { if !statement.countsRows { connection.onProgress(every: every, nil) } }
    try body()
    meter.endStatement()
  }

  /// The error of a step whose statement the engine refuses. An error of the disk, of memory or of
  /// another process is no failure of the step and is returned unchanged.
  private func failure(
    _ error: SQLError, running planned: PlannedStatement, in part: CompiledStep.Part, of step: MigrationStep
  ) -> any Error {
    switch error {
    case .diskFull: return StoreError.diskFull(file: connection.path)
    case _ where !error.isOfStatement: return error
    case .engine(let code, _, let message, _):
      return step.failed(planned.blamed(for: message), because: "\(error)\(Self.says(code))")
    case .constraint(let message, _, _):
      let operation = planned.blamed(for: message)
      // For a trigger without a message, the line in the step is all the information there is.
      let place = message.isBlank ? planned.operations.first.map { step.atLine(of: $0) } ?? "" : ""
      do {
        if let reason = try missingValues(planned.statement, message) {
          return step.refused(operation, because: reason)
        }
      } catch let asking as SQLError {
        switch asking {
        // When the reason cannot be determined, the engine's own message remains.
        case .engine, .constraint: break
        default: return failure(asking, running: planned, in: part, of: step)
        }
      } catch { return error }
      // If a data block violates a constraint, the block is at fault. If a change of tables does, existing
      // rows are.
      return part.isData
        ? step.failed(operation, because: "\(error)\(place)")
        : step.refused(operation, because: "\(error)\(place)")
    default: return step.failed(planned.blamed(for: ""), because: "\(error)")
    }
  }

  /// The reason when an entity has no ids left.
  static func noIDLeft(_ entity: String) -> String {
    "no id is left for a row of \(entity): ids end at \(RowIDs.highest), and a new id is above the highest "
      + "one that was issued (last in vault_ids) to this entity, or to one whose rows it takes over; first "
      + "give rows with such ids lower ones, and lower last"
  }

  private func run(
    _ statement: CompiledStatement, in part: CompiledStep.Part, of step: MigrationStep,
    unseen: inout TouchedColumns
  ) throws {
    switch statement {
    case .transform where isTrial: break
    case .transform(let transform): unseen.formUnion(try run(transform, part.model, of: step))
    case .data(let block, let access): unseen.formUnion(try run(data: block.sql, access, part.model))
    case .copy(let rows) where part.onlyCopiesRows:
      let table = MigrationCompiler.finalName(of: rows.target)
      let made = Dictionary(zip(rows.columns, rows.expressions)) { first, _ in first }
      let doubt = try TypeCheck(model: part.model).doubt(
        aboutTable: table, touched: unseen, made: made, in: connection)
      let isSound = try copy(rows, doubt: doubt.condition)
      if isSound || doubt.isNone { unseen.remove(table) }
    default: try run(statement)
    }
  }

  func run(_ statement: CompiledStatement) throws {
    switch statement {
    // These need a model: the function above runs them.
    case .transform, .data: break
    case .sql(let sql) where statement.changesRows:
      // The expression that picks one of several links may be written by a person.
      do { try connection.execute(sql: SQLTemplate.namesOnly(sql)) } catch let error as SQLError {
        throw error.asWritten(sql)
      }
    case .sql(let sql): try connection.execute(sql: sql)
    case .copy(let rows): try copy(rows)
    case .mustBeEmpty(let check):
      let count = try connection.value(sql: check.query)?.int64 ?? 0
      guard count > 0 else { return }
      let ids = try connection.query(sql: check.rows) { "\($0.int64(0))" }.joined(separator: ", ")
      throw RowRefusal(reason: check.reason(Int(count), rows: ids))
    case .raw(let statement): try make(statement)
    case .rawMustFit(let statement): try requireFit(of: statement)
    case .require(let text, let query):
      let value: SQLValue?
      do {
        let executed = SQLTemplate.namesOnly(query)
        value = try connection.withAuthorizer({ Self.reads($0) ? .allow : .deny }) {
          guard !isTrial else {
            try connection.withStatement(sql: executed) { try $0.requireOneColumn() }
            return .integer(1)
          }
          return try connection.onlyValue(sql: executed)
        }
      } catch { throw Self.explained((error as? SQLError)?.asWritten(query) ?? error) }
      guard let value, let number = value.double, number != 0 else {
        throw ModelError(reason: Require.notMet(text))
      }
    }
  }

  // Data blocks reach rows of entities only: no schema, no transactions, no bookkeeping tables.

  static func reads(_ action: AuthorizerAction) -> Bool {
    switch action {
    case .select, .recursive: true
    case .read(let table, _): isOfEntities(table)
    case .function(let name):
      !["load_extension", Conversion.function, InsertedIDs.function].contains(name.lowercased())
    default: false
    }
  }

  static func writes(_ action: AuthorizerAction) -> Bool {
    switch action {
    case .insert(let table), .update(let table, _), .delete(let table): isOfEntities(table)
    default: false
    }
  }

  /// The engine's error about a block, with an explanation of what a block may do.
  static func explained(_ error: any Error) -> any Error {
    guard let error = error as? SQLError else { return error }
    switch error {
    case .engine(_, _, let message, let sql)
    where message.contains("not authorized") || message.contains("prohibited"):
      return ModelError(
        reason:
          "\(message), in: \(sql). A data block may read and write rows of entities, and a require may read "
          + "them; only operations change tables and the store's own rows")
    case .notOneStatement(let sql):
      return ModelError(reason: "its query must be one SELECT, but there are several or none: \(sql)")
    default: return error
    }
  }

  /// The suffix that names the engine, for a message about SQL that another engine may accept. Empty except
  /// for SQLITE_ERROR (1), which concerns the SQL text, or a value that a function of the engine refuses.
  static func says(_ code: Int) -> String { code == 1 ? "; reported by \(Engine.current)" : "" }

  static func isOfEntities(_ table: String) -> Bool {
    !OwnTables.own(table) && !table.lowercased().hasPrefix("sqlite_")
  }

  /// Raises the high-water marks to existing rows, such as those that a data block inserted: their ids are
  /// never issued again.
  func raiseHighWaterMarks(_ model: Schema) throws {
    for entity in model.roots {
      try RowIDs(connection: connection).raiseToRows(of: entity.name)
    }
  }
}

extension Statement {
  fileprivate func requireOneColumn() throws {
    guard columnCount != 1 else { return }
    throw ModelError(reason: "its query has \(columnCount) columns, but must return one value")
  }
}

extension Connection {
  /// The one value of a query that a step requires to be true; nil if there is no row.
  /// - Throws: ``ModelError`` for a query with several columns or rows, the rest of which would be ignored.
  func onlyValue(sql: String) throws -> SQLValue? {
    try withStatement(sql: sql) { statement in
      try statement.requireOneColumn()
      guard try statement.step() else { return nil }
      let value = statement.value(0)
      guard try !statement.step() else {
        throw ModelError(reason: Require.hasManyRows)
      }
      return value
    }
  }
}
