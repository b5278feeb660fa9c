// Applies steps and operations to a model. Pure: replaying all steps gives the model at any version.

extension MigrationStep {
  /// Returns the model after this step.
  func applied(to schema: Schema) throws -> Schema {
    let former = schema
    var schema = schema
    for operation in operations {
      do { try operation.apply(to: &schema) } catch { throw failed(operation, because: error.reason) }
    }
    let faults = schema.modelFaults(after: former)
    guard faults.isEmpty else { throw failed(faults, from: former, to: schema) }
    return schema
  }

  /// An error that reports the faults of the model after the step and names the operations that caused them.
  /// - Parameters:
  ///   - former: The model before the step.
  ///   - later: The model after the step, which has the faults.
  func failed(_ faults: [SchemaFault], from former: Schema, to later: Schema) -> StoreError {
    var (model, present, names): (Schema, Set<SchemaFault>, [SchemaFault: String]) = (former, [], [:])
    let reach = FaultReach(of: faults, in: later)
    for operation in operations {
      guard (try? operation.apply(to: &model)) != nil else { break }
      // Only operations that may have caused the faults are checked. A check takes time in proportion to
      // the size of the model, and a step may have an operation for each entity.
      guard reach.contains(operation.rules.subject) else { continue }
      let found = Set(model.modelFaults.map(Self.kind))
      for fault in found.subtracting(present) { names[fault] = operation.summary }
      present = found
    }
    var makers: [String] = []
    for name in faults.compactMap({ names[Self.kind(of: $0)] }) where !makers.contains(name) {
      makers.append(name)
    }
    return failed(
      makers.isEmpty ? operations.last?.summary ?? "" : makers.joined(separator: "; "),
      because: faults.map { Self.sentence($0, later) }.joined(separator: " "))
  }

  /// An error for an operation that needs a model without faults in the middle of the step.
  func failed(_ operation: MigrationOperation, _ faults: [SchemaFault], in model: Schema) -> StoreError {
    failed(
      operation,
      because: "the model is incomplete before this line: "
        + faults.map { Self.sentence($0, model) }.joined(separator: " ")
        + " Write it after the lines that complete the model")
  }

  /// A fault without the details that later operations change. So the error names the operation that
  /// exceeds the limit of properties, and not the last one that adds a property.
  private static func kind(of fault: SchemaFault) -> SchemaFault {
    if case .tooManyProperties(let entity, _) = fault {
      .tooManyProperties(entity: entity, count: 0)
    } else {
      fault
    }
  }

  /// The text of a fault, with a similar name if there is one.
  private static func sentence(_ fault: SchemaFault, _ model: Schema) -> String {
    switch fault {
    case .unknownProperty(let entity, let property, _):
      guard let known = model.flattenedEntity(named: entity)?.propertyNames, !known.contains(property),
        let hint = didYouMean(nearest(property, among: known))
      else { break }
      return "there is no property \(entity).\(property); \(hint)"
    case .unknownDestination(let entity, let relationship, let destination):
      guard let hint = didYouMean(nearest(destination, among: model.entities.map(\.name))) else { break }
      return "\(entity).\(relationship) refers to \(destination), which does not exist; \(hint)"
    default: break
    }
    return "\(fault)"
  }

  func failed(_ operation: MigrationOperation, because reason: String) -> StoreError {
    failed(operation.summary, because: reason)
  }

  func failed(_ operation: String, because reason: String) -> StoreError {
    .migrationFailed(step: number, name: name, operation: operation, reason: Self.withoutStop(reason))
  }

  /// An error for rows that the step refuses. A plan reports it before the run, if it can check the rows.
  func refused(_ operation: String, because reason: String) -> StoreError {
    .rowsRefused(step: number, name: name, operation: operation, reason: Self.withoutStop(reason))
  }

  private static func withoutStop(_ reason: String) -> String {
    reason.hasSuffix(".") ? String(reason.dropLast()) : reason
  }
}

extension MigrationOperation {
  func apply(to schema: inout Schema) throws(ModelError) {
    let rules = rules
    guard !schema.rawObjects.isEmpty || rules.subject.isRawObject else { return try rules.apply(to: &schema) }
    let former = schema
    try rules.apply(to: &schema)
    schema.renameInRawObjects(rules.subject, former)
    try schema.requireRawNames(after: former)
  }
}

extension OperationRules {
  fileprivate func apply(to schema: inout Schema) throws(ModelError) {
    if schema.hasHierarchies { try subject.checkHierarchy(in: schema) }
    try change(&schema)
    if traits.completesInverses { schema.completeInverses() }
  }
}

extension Schema {
  /// The operations that create the schema from nothing.
  package var creation: [MigrationOperation] {
    canonical.parentsFirst.map { .createEntity(written($0)) } + rawObjects.map { .createRawObject($0) }
  }
}
