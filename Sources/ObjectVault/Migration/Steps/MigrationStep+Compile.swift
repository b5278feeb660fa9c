// Compiles a step to statements, segment by segment: consecutive operations on tables are combined up to
// the next data block.

internal import CipherSQLite

/// A step, compiled for the model before it.
struct CompiledStep {
  /// A part of a compiled step: one segment of operations, or one data block, with its statements.
  struct Part {
    fileprivate(set) var operations: [MigrationOperation]
    fileprivate(set) var planned: [PlannedStatement]
    /// The model before the part.
    let before: Schema
    /// The model after the part.
    let model: Schema
    /// What the part loses for good, such as `User.city`.
    var losses: [String] = []
    /// The to-manys that lose all their members, by the loss that causes it.
    var emptied: [String: [String]] = [:]
    /// The columns that expressions or a composite operation filled, and whose values have not been
    /// checked yet.
    var filled = TouchedColumns()
    fileprivate var trail = OperationLog()
    /// The compiler that made the part; nil for data blocks, and for SQL and checks of composite
    /// operations.
    fileprivate(set) var compiler: MigrationCompiler?

    /// The statements, in order.
    var statements: [CompiledStatement] { planned.map(\.statement) }

    /// Whether the part works on rows and not on tables.
    var isData: Bool { operations.allSatisfy(\.isData) }
    var isRequirement: Bool { operations.first?.isRequirement == true }

    /// Whether its tables get rows by copies alone, so that the values are those that a copy wrote.
    var onlyCopiesRows: Bool { !statements.contains(where: \.changesRows) }

    /// Whether it may insert, delete or change rows other than by copies.
    var changesRows: Bool { !isRequirement && !onlyCopiesRows }

    /// Makes this a part of a composite operation. Errors then name that operation, because the step's
    /// author wrote it.
    fileprivate mutating func stand(for operation: MigrationOperation, keeping kept: Set<String>) {
      operations = [operation]
      losses.removeAll(where: kept.contains)
      trail = OperationLog()
      for index in planned.indices {
        planned[index].operations = [operation]
        planned[index].columns = [:]
      }
    }

    /// The operations that may be responsible for a wrong value in a column, as text.
    func blamed(entity: String, property: String) -> String {
      let found = trail.operations(of: [entity], column: property)
      return (found.isEmpty ? operations : found).map(\.summary).joined(separator: "; ")
    }
  }

  let step: MigrationStep
  let parts: [Part]
  /// The model after the step.
  let model: Schema

  /// What the step loses for good, such as `User.city`.
  var losses: [String] {
    var seen: Set<String> = []
    return parts.flatMap(\.losses).filter { seen.insert($0).inserted }
  }

  /// The to-manys that stay but lose all their members, by the loss that causes it.
  var emptied: [String: [String]] {
    let losses = Set(losses)
    return parts.reduce(into: [:]) { emptied, part in
      for (loss, names) in part.emptied where part.losses.contains(loss) {
        // A to-many that also loses its order is a loss itself.
        let names = names.filter { !losses.contains($0) }
        if !names.isEmpty { emptied[loss, default: []] += names }
      }
    }
  }

  /// What the step loses without its author's `allow`.
  var unallowedLosses: [String] { losses.filter { !step.allowed.contains("lossy:\($0)") } }

  /// Whether the step requests a copy of an existing store before it runs.
  var wantsBackup: Bool {
    switch step.backup {
    case .always: true
    case .never: false
    case .auto: !losses.isEmpty || step.operations.contains(where: \.rewritesValues)
    }
  }
}

extension OperationSubject {
  /// Whether the operation drops a subentity, so that rows are deleted from a table that stays.
  fileprivate func dropsChild(in model: Schema) -> Bool {
    guard case .droppedEntity(let name) = self else { return false }
    return model.entity(named: name)?.parent != nil
  }
}

extension MigrationStep {
  /// A segment: operations on tables that are compiled together.
  private struct Run {
    let before: Schema
    private(set) var after: Schema
    private(set) var mapping: SegmentMapping
    private(set) var operations: [MigrationOperation] = []
    /// Whether its operations change only attributes and, for relationships, only where the links are
    /// stored.
    private var leavesLinks = true

    init(_ model: Schema) {
      (before, after) = (model, model)
      mapping = SegmentMapping(model)
    }

    /// Whether an operation can be appended to the segment.
    func takes(_ rules: any OperationRules) -> Bool {
      guard !rules.subject.movesRows, !rules.needsOwnSegment(after: mapping, in: after),
        !mapping.hasAddedInverse(of: rules.subject, in: after)
      else { return false }
      // Links are read where they are before the segment. So no other operation of the segment may change
      // where they are stored, or read them after they move.
      if rules.subject.movesLinks { return leavesLinks }
      return mapping.moves.isEmpty
        || !rules.traits.hasForeignSQL && rules.subject.isOfAttributes(in: after)
    }

    mutating func append(_ operation: MigrationOperation) throws(ModelError) {
      let (rules, model) = (operation.rules, after)
      leavesLinks = leavesLinks && (rules.subject.movesLinks || rules.subject.isOfAttributes(in: model))
      try operation.apply(to: &after)
      try mapping.follow(operation, model)
      operations.append(operation)
    }

    /// Checks the declarations of a data block against the model, and leaves the segment unchanged.
    func check(_ operation: MigrationOperation) throws(ModelError) {
      var model = after
      try operation.apply(to: &model)
    }

    func part(_ engine: Engine) -> CompiledStep.Part {
      let compiler = MigrationCompiler(engine: engine, before: before, after: after, mapping: mapping)
      let statements = compiler.statements().map { statement in
        var statement = statement
        // A statement without an operation follows from the segment as a whole.
        if statement.operations.isEmpty { statement.operations = operations }
        return statement
      }
      var part = CompiledStep.Part(
        operations: operations, planned: statements, before: before, model: after, losses: compiler.losses(),
        emptied: compiler.emptied(), trail: mapping.trail, compiler: compiler)
      for (entity, properties) in mapping.expressions {
        for property in properties.keys { part.filled.insert(after.root(of: entity), column: property) }
      }
      return part
    }
  }

  /// A step during compilation: the finished parts, and the segment that becomes the next part.
  private struct Compilation {
    let step: MigrationStep
    let engine: Engine
    private(set) var parts: [CompiledStep.Part] = []
    private(set) var run: Run

    init(_ step: MigrationStep, from model: Schema, engine: Engine) {
      (self.step, self.engine) = (step, engine)
      run = Run(model)
    }

    mutating func add(_ operation: MigrationOperation) throws {
      let (rules, model) = (operation.rules, run.after)
      switch rules.work {
      case .require(let text, let query):
        flush()
        append(
          .require(
            text: text.isBlank ? step.words(for: query, of: operation) : text,
            query: try step.resolved(query, in: model, of: operation)), operation)
      case .transform(let transform):
        flush()
        do { try run.check(operation) } catch { throw step.failed(operation, because: error.reason) }
        // The function works with objects, which need a model without faults.
        let faults = run.after.modelFaults
        guard faults.isEmpty else { throw step.failed(operation, faults, in: run.after) }
        append(.transform(transform), operation)
      case .data(let sql, let access):
        flush()
        do { try run.check(operation) } catch { throw step.failed(operation, because: error.reason) }
        let resolved = try step.resolved(sql, in: model, of: operation)
        append(.data(DataBlock(resolved, among: model.tables.map(\.name)), access), operation)
      case .parts(let composite): try add(composite, operation)
      case .tables:
        if !run.takes(rules) { flush() }
        do { try run.append(operation) } catch { throw step.failed(operation, because: error.reason) }
        // Later operations of a segment would read rows that are no longer there.
        if rules.subject.movesRows || rules.subject.dropsChild(in: model) { flush() }
      }
    }

    /// Adds the parts of a composite operation. Errors name the composite operation.
    private mutating func add(_ composite: any CompositeOperation, _ operation: MigrationOperation) throws {
      flush()
      let (first, before) = (parts.count, run.after)
      do {
        for part in try composite.parts(in: before) { try add(part, of: operation) }
      } catch let error as ModelError {
        throw step.failed(operation, because: error.reason)
      } catch StoreError.migrationFailed(_, _, _, let reason) {
        throw step.failed(operation, because: reason)
      }
      flush()
      for index in first..<parts.count {
        parts[index].stand(for: operation, keeping: composite.kept(in: before))
      }
      guard parts.count > first else { return }
      parts[parts.count - 1].losses += composite.losses(in: before)
      for place in composite.filled(in: before) {
        if let property = place.property {
          parts[parts.count - 1].filled.insert(run.after.root(of: place.entity), column: property)
        }
      }
    }

    private mutating func add(_ part: CompositePart, of operation: MigrationOperation) throws {
      switch part {
      case .operation(let operation): try add(operation)
      case .check(let check):
        flush()
        append(check, operation)
      case .sql(let sql):
        flush()
        let triggers = run.after.withoutTriggers
        for statement in triggers.before + [.sql(sql.text)] + triggers.after { append(statement, operation) }
      }
    }

    private mutating func append(_ statement: CompiledStatement, _ operation: MigrationOperation) {
      let planned = PlannedStatement(statement: statement, operations: [operation])
      parts.append(
        CompiledStep.Part(operations: [operation], planned: [planned], before: run.after, model: run.after))
    }

    /// Makes a part of the segment and begins a new one.
    mutating func flush() {
      // Without operations the model is unchanged.
      guard !run.operations.isEmpty else { return }
      parts.append(run.part(engine))
      run = Run(run.after)
    }
  }

  /// Compiles the step.
  /// - Parameters:
  ///   - model: The model before the step.
  ///   - engine: The engine that will run the statements.
  ///   - known: The model after the step, when it was already made and checked for faults.
  /// - Returns: The compiled step.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` when an operation does not fit
  ///   the model.
  func compiled(
    from model: Schema, engine: Engine, to known: Schema? = nil
  ) throws -> CompiledStep {
    var compilation = Compilation(self, from: model, engine: engine)
    for operation in operations { try compilation.add(operation) }
    compilation.flush()
    let after = compilation.run.after
    let isKnown = known.map { $0.entities == after.entities } ?? false
    let faults = isKnown ? [] : after.modelFaults(after: model)
    guard faults.isEmpty else { throw failed(faults, from: model, to: after) }
    return CompiledStep(step: self, parts: compilation.parts, model: after)
  }

  private func resolved(_ sql: String, in model: Schema, of operation: MigrationOperation) throws -> String {
    do { return try SQLNames(model: model).resolved(sql) } catch {
      throw failed(operation, because: error.reason)
    }
  }
}
