// A step -> statements, segment by segment: schema operations are folded as far as the next data block.

internal import CipherSQLite

extension MigrationStep {
  /// One operation's share of a step: what it is called, and what runs for it.
  struct Part {
    let operation: MigrationOperation
    let statements: [CompiledStatement]
  }

  /// - Parameters:
  ///   - model: The model before the step.
  ///   - engine: The engine that will run the statements.
  /// - Returns: The statements, and the model after the step.
  func compiled(from model: Schema, engine: Engine) throws -> (parts: [Part], model: Schema) {
    var parts: [Part] = []
    var model = model
    var segment: [MigrationOperation] = []

    func flush() throws {
      guard let last = segment.last else { return }
      var mapping = SegmentMapping(model)
      var after = model
      for operation in segment {
        mapping.follow(operation, after)
        do { try operation.apply(to: &after) } catch let error as ModelError {
          throw failed(operation, error.reason)
        }
      }
      let compiler = MigrationCompiler(engine: engine, before: model, after: after, mapping: mapping)
      parts.append(Part(operation: segment.count == 1 ? last : segment[0], statements: compiler.statements()))
      model = after
      segment = []
    }

    for operation in operations {
      guard operation.isData else {
        segment.append(operation)
        continue
      }
      try flush()
      let statement: CompiledStatement
      switch operation {
      case .require(let text, let sql):
        statement = .require(text: text, query: try resolved(sql, model, operation))
      case .transform(let sql), .seed(let sql): statement = .data(try resolved(sql, model, operation))
      default: continue
      }
      parts.append(Part(operation: operation, statements: [statement]))
    }
    try flush()
    let faults = model.modelFaults
    guard faults.isEmpty else {
      throw failed(operations.last ?? .seed(""), faults.map { "\($0)" }.joined(separator: " "))
    }
    return (parts, model)
  }

  /// `$User` is the table of the entity in the model at this point, `$User.name` its column, `$Status.tags` the
  /// join table of a many-to-many.
  private func resolved(_ sql: String, _ model: Schema, _ operation: MigrationOperation) throws -> String {
    var result = ""
    var rest = sql[...]
    while let dollar = rest.firstIndex(of: "$") {
      result += rest[..<dollar]
      let words = rest[rest.index(after: dollar)...].prefix {
        $0.isLetter || $0.isNumber || $0 == "_" || $0 == "."
      }
      let names = words.split(separator: ".").map(String.init)
      rest = rest[words.endIndex...]
      guard let first = names.first, let entity = model.entity(named: first) else {
        let near = nearest(names.first ?? "", among: model.entities.map(\.name)).first
        throw failed(
          operation,
          "$\(words) names no entity of the model at this point\(near.map { "; did you mean $\($0)?" } ?? "")"
        )
      }
      guard names.count > 1 else {
        result += quoted(entity.name)
        continue
      }
      if entity.attribute(named: names[1]) != nil || names[1] == "id" {
        result += quoted(names[1])
      } else if let relationship = entity.relationship(named: names[1]) {
        guard relationship.isToMany else {
          result += quoted("\(names[1])_id")
          continue
        }
        guard let (join, _) = model.joinTable(of: relationship, in: entity) else {
          throw failed(
            operation, "$\(words) is one to many and has no column here; use the to-one at its other end")
        }
        result += quoted(join.name)
      } else {
        let near = nearest(names[1], among: entity.propertyNames).first
        throw failed(
          operation,
          "$\(words) names no property of the model at this point\(near.map { "; did you mean $\(first).\($0)?" } ?? "")"
        )
      }
    }
    return result + rest
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
    case .mustBeEmpty(let query, _): "-- must be 0: \(query);"
    case .data(let sql): sql
    case .require(let text, let query): "-- require \(text): \(query)"
    }
  }
}
