// What steps do to a model, operation by operation. Pure: replaying all steps gives the model at any version.

extension MigrationStep {
  /// The model after this step.
  func applied(to schema: Schema) throws -> Schema {
    let former = schema
    var schema = schema
    for operation in operations {
      do { try operation.apply(to: &schema) } catch { throw failed(operation, error.reason) }
    }
    let faults = schema.modelFaults(after: former)
    guard faults.isEmpty else { throw failed(faults, from: former, to: schema) }
    return schema
  }

  /// A failure with what is wrong in the model behind the step, laid to the operations that made it so.
  /// - Parameters:
  ///   - former: The model before it.
  ///   - later: That behind it, which has them.
  func failed(_ faults: [SchemaFault], from former: Schema, to later: Schema) -> StoreError {
    var (model, present, names): (Schema, Set<SchemaFault>, [SchemaFault: String]) = (former, [], [:])
    let reach = FaultReach(of: faults, in: later)
    for operation in operations {
      guard (try? operation.apply(to: &model)) != nil else { break }
      // All that is asked of a model takes as long as the model is large, and a step may have an operation for each entity.
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
      faults.map { Self.sentence($0, later) }.joined(separator: " "))
  }

  /// A failure of an operation that meets a model with faults in the middle of the step.
  func failed(_ operation: MigrationOperation, _ faults: [SchemaFault], in model: Schema) -> StoreError {
    failed(
      operation,
      "the model is not whole in front of it: "
        + faults.map { Self.sentence($0, model) }.joined(separator: " ")
        + " Write it behind the lines that make it so")
  }

  /// A fault without what each operation makes of it: whoever adds one property too many is to blame, and not who adds the
  /// last of a hundred.
  private static func kind(of fault: SchemaFault) -> SchemaFault {
    if case .tooManyProperties(let entity, _) = fault {
      .tooManyProperties(entity: entity, count: 0)
    } else {
      fault
    }
  }

  /// What is wrong, with the name that may have been meant.
  private static func sentence(_ fault: SchemaFault, _ model: Schema) -> String {
    switch fault {
    case .unknownProperty(let entity, let property, _):
      guard let known = model.flattenedEntity(named: entity)?.propertyNames, !known.contains(property),
        let hint = didYouMean(nearest(property, among: known))
      else { break }
      return "there is no property \(entity).\(property); \(hint)"
    case .unknownDestination(let entity, let relationship, let destination):
      guard let hint = didYouMean(nearest(destination, among: model.entities.map(\.name))) else { break }
      return "\(entity).\(relationship) leads to \(destination), and there is no such entity; \(hint)"
    default: break
    }
    return "\(fault)"
  }

  func failed(_ operation: MigrationOperation, _ reason: String) -> StoreError {
    failed(operation.summary, reason)
  }

  func failed(_ operation: String, _ reason: String) -> StoreError {
    .migrationFailed(step: number, name: name, operation: operation, reason: Self.withoutStop(reason))
  }

  /// What a plan tells before, where it can.
  func refused(_ operation: String, _ reason: String) -> StoreError {
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
    if schema.hasFamilies { try subject.checkFamily(in: schema) }
    try change(&schema)
    if traits.completesInverses { schema.completeInverses() }
  }
}

extension Schema {
  /// The operations that make it of nothing.
  package var creation: [MigrationOperation] {
    canonical.parentsFirst.map { .createEntity(written($0)) } + rawObjects.map { .createRawObject($0) }
  }
}
