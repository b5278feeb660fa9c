// A step -> statements, segment by segment: schema operations are folded as far as the next data block.

internal import CipherSQLite

/// A step, compiled for the model that it meets.
struct CompiledStep {
  /// A run of operations and what runs for it.
  struct Part {
    let operations: [MigrationOperation]
    let planned: [PlannedStatement]
    /// The model after it.
    let model: Schema
    /// What it loses for good, such as `User.city`.
    var losses: [String] = []
    /// The columns that expressions filled, of which nobody knows yet what is in them.
    var filled = TouchedColumns()
    fileprivate var trail = OperationTrail()

    /// The statements, in order.
    var statements: [CompiledStatement] { planned.map(\.statement) }

    var isRequirement: Bool { if case .require = operations.first { true } else { false } }

    /// The operations that a wrong value in a column is about, as text.
    func blamed(entity: String, property: String) -> String {
      let found = trail.operations(of: entity, column: property)
      return (found.isEmpty ? operations : found).map(\.summary).joined(separator: "; ")
    }
  }

  let step: MigrationStep
  let parts: [Part]
  /// The model after it.
  let model: Schema

  /// What it loses for good, such as `User.city`.
  var losses: [String] { parts.flatMap(\.losses) }

  /// What it loses without its author's `allow`.
  var unallowedLosses: [String] { losses.filter { !step.allowed.contains("lossy:\($0)") } }

  /// Whether a copy of an existing store is made before the step runs.
  var wantsBackup: Bool {
    switch step.backup {
    case .always: true
    case .never: false
    case .auto: !losses.isEmpty || step.operations.contains(where: \.rewritesValues)
    }
  }
}

extension MigrationStep {
  /// Schema operations on their way to a part.
  private struct Run {
    let before: Schema
    var after: Schema
    var mapping: SegmentMapping
    var operations: [MigrationOperation] = []

    init(_ model: Schema) {
      (before, after) = (model, model)
      mapping = SegmentMapping(model)
    }

    func part(_ engine: Engine) -> CompiledStep.Part {
      let compiler = MigrationCompiler(engine: engine, before: before, after: after, mapping: mapping)
      let statements = compiler.statements().map { statement in
        var statement = statement
        // A statement that follows from what is done elsewhere stands for the whole run.
        if statement.operations.isEmpty { statement.operations = operations }
        return statement
      }
      var part = CompiledStep.Part(
        operations: operations, planned: statements, model: after, losses: compiler.losses(),
        trail: mapping.trail)
      for (entity, properties) in mapping.expressions {
        for property in properties.keys { part.filled.insert(entity, property) }
      }
      return part
    }
  }

  /// - Parameters:
  ///   - model: The model before the step.
  ///   - engine: The engine that will run the statements.
  func compiled(from model: Schema, engine: Engine) throws -> CompiledStep {
    var parts: [CompiledStep.Part] = []
    var run = Run(model)

    func flush() {
      if !run.operations.isEmpty { parts.append(run.part(engine)) }
      run = Run(run.after)
    }
    func append(_ statement: CompiledStatement, _ operation: MigrationOperation) {
      let planned = PlannedStatement(statement: statement, operations: [operation])
      parts.append(CompiledStep.Part(operations: [operation], planned: [planned], model: run.after))
    }

    for operation in operations {
      if operation.isData || run.mapping.needsOwnRun(operation) { flush() }
      let model = run.after
      switch operation {
      case .require(let text, let sql):
        append(.require(text: text, query: try resolved(sql, model, operation)), operation)
      case .transform(let sql), .seed(let sql): append(.data(try resolved(sql, model, operation)), operation)
      default:
        do {
          try operation.apply(to: &run.after)
          try run.mapping.follow(operation, model)
        } catch let error as ModelError { throw failed(operation, error.reason) }
        run.operations.append(operation)
      }
    }
    flush()
    let faults = run.after.modelFaults
    guard faults.isEmpty else {
      throw failed(operations.last ?? .seed(""), faults.map { "\($0)" }.joined(separator: " "))
    }
    return CompiledStep(step: self, parts: parts, model: run.after)
  }

  private func resolved(_ sql: String, _ model: Schema, _ operation: MigrationOperation) throws -> String {
    do {
      return Self.withLinkColumns(try SQLNames(model: model).resolved(sql), model)
    } catch let error as ModelError { throw failed(operation, error.reason) }
  }

  /// Steps that were released before links had columns of their own names say `source_id` and `target_id`. They
  /// mean those of the only join table that the statement names.
  private static func withLinkColumns(_ sql: String, _ model: Schema) -> String {
    guard sql.contains(JoinTable.formerColumns.source) || sql.contains(JoinTable.formerColumns.target) else {
      return sql
    }
    return SQLTemplate.statements(sql).map { statement in
      let words = Set(statement.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
      let joins = model.joinTables.filter { words.contains($0.name[...]) }
      guard joins.count == 1 else { return statement }
      return SQLTemplate.replaced(
        statement,
        [
          JoinTable.formerColumns.source: quoted(joins[0].sourceColumn),
          JoinTable.formerColumns.target: quoted(joins[0].targetColumn),
        ])
    }.joined(separator: ";")
  }
}
