// A step -> statements, segment by segment: schema operations are folded as far as the next data block.

internal import CipherSQLite

extension MigrationStep {
  /// A run of operations and what runs for it.
  struct Part {
    let operations: [MigrationOperation]
    let statements: [CompiledStatement]
    /// The model after it.
    let model: Schema
    /// The columns that expressions filled, of which nobody knows yet what is in them.
    var filled = TouchedColumns()

    /// Whether it works on rows and not on tables.
    var isData: Bool { operations.allSatisfy(\.isData) }
    var isRequirement: Bool { if case .require = operations.first { true } else { false } }
  }

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

    func part(_ engine: Engine) -> Part {
      let compiler = MigrationCompiler(engine: engine, before: before, after: after, mapping: mapping)
      var part = Part(operations: operations, statements: compiler.statements(), model: after)
      for (entity, attributes) in mapping.expressions {
        for attribute in attributes.keys { part.filled.insert(entity, attribute) }
      }
      return part
    }
  }

  /// - Parameters:
  ///   - model: The model before the step.
  ///   - engine: The engine that will run the statements.
  ///   - format: The format of the file when the run began.
  /// - Returns: The statements, and the model after the step.
  func compiled(
    from model: Schema, engine: Engine, format: Int = StoreHistory.currentFormat
  ) throws -> (parts: [Part], model: Schema) {
    var parts: [Part] = []
    var run = Run(model)

    func flush() {
      if !run.operations.isEmpty { parts.append(run.part(engine)) }
      run = Run(run.after)
    }

    for operation in operations {
      if operation.isData || run.mapping.needsOwnRun(operation) { flush() }
      let model = run.after
      switch operation {
      case .require(let text, let sql):
        let query = try resolved(sql, model, operation, format)
        parts.append(
          Part(operations: [operation], statements: [.require(text: text, query: query)], model: model))
      case .transform(let sql), .seed(let sql):
        let statement = CompiledStatement.data(try resolved(sql, model, operation, format))
        parts.append(Part(operations: [operation], statements: [statement], model: model))
      default:
        do {
          try run.mapping.follow(operation, model)
          try operation.apply(to: &run.after)
        } catch let error as ModelError { throw failed(operation, error.reason) }
        run.operations.append(operation)
      }
    }
    flush()
    let faults = run.after.modelFaults
    guard faults.isEmpty else {
      throw failed(operations.last ?? .seed(""), faults.map { "\($0)" }.joined(separator: " "))
    }
    return (parts, run.after)
  }

  /// `$User` is the table of the entity in the model at this point, `$User.name` its column, `$Status.tags` the
  /// join table of a many-to-many, `$Status.tags.Tag` the column in it with the ids of tags.
  private func resolved(_ sql: String, _ model: Schema, _ operation: MigrationOperation, _ format: Int) throws
    -> String
  {
    let resolved = try SQLTemplate.resolved(sql) { words in
      let names = words.split(separator: ".").map(String.init)
      guard let first = names.first, let entity = model.entity(named: first) else {
        let near = nearest(names.first ?? "", among: model.entities.map(\.name)).first
        throw failed(
          operation,
          "$\(words) names no entity of the model at this point\(near.map { "; did you mean $\($0)?" } ?? ""). "
            + "A dollar sign by itself is written $$")
      }
      guard names.count > 1 else { return quoted(entity.name) }
      if entity.attribute(named: names[1]) != nil || names[1] == "id" { return quoted(names[1]) }
      guard let relationship = entity.relationship(named: names[1]) else {
        let near = nearest(names[1], among: entity.propertyNames).first
        throw failed(
          operation,
          "$\(words) names no property of the model at this point\(near.map { "; did you mean $\(first).\($0)?" } ?? "")"
        )
      }
      guard relationship.isToMany else { return quoted("\(names[1])_id") }
      guard let (join, _) = model.joinTable(of: relationship, in: entity) else {
        throw failed(
          operation, "$\(words) is one to many and has no column here; use the to-one at its other end")
      }
      guard names.count > 2 else { return quoted(join.name) }
      let columns = [join.sourceColumn, join.targetColumn]
      guard names.count == 3, columns.contains("\(names[2])_id") else {
        let known = columns.map { "$\(first).\(names[1]).\($0.dropLast(3))" }
        throw failed(
          operation, "$\(words) names no column of the links; there are \(known.joined(separator: " and "))")
      }
      return quoted("\(names[2])_id")
    }
    return try withLinkColumns(resolved, model, operation, format: format)
  }
}

extension MigrationStep.Part {
  /// The operations that a failure is about: those whose words the engine's message has most of. The changes of
  /// a table run together, so that no statement belongs to one operation alone.
  func blamed(for message: String) -> String {
    let words = Self.words(message)
    let scores = operations.map { Self.words($0.summary).intersection(words).count }
    let best = scores.max() ?? 0
    return zip(operations, scores).filter { $0.1 == best }.map(\.0.summary).joined(separator: "; ")
  }

  private static func words(_ text: String) -> Set<Substring> {
    Set(text.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
  }
}

extension CompiledStatement {
  /// The statement as `plan` shows it.
  var text: String {
    switch self {
    case .sql(let sql): sql + ";"
    case .copy(let from, let to, let columns, let expressions, _):
      "INSERT INTO \(quoted(to)) (\(columns.map { quoted($0) }.joined(separator: ", "))) SELECT "
        + "\(expressions.joined(separator: ", ")) FROM \(quoted(from));"
    case .mustBeEmpty(let query, _, _): "-- must be 0: \(query);"
    case .data(let sql): sql
    case .require(let text, let query): "-- require \(text): \(query)"
    }
  }
}
