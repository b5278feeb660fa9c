// What leads back from a step: what its author wrote, or else what follows from its operations where they lose nothing. What
// takes a single operation back is in its file.

internal import CipherSQLite

extension MigrationStep {
  /// What takes this step back: its `[down]` section, or where it has none what is derived from its operations.
  ///
  /// Derived is what restores the model and every value: a property or entity that was added is dropped, a name is given
  /// back, a default, rule or index is as before. What was dropped, retyped or computed is gone, and the step
  /// is irreversible then, unless its author says how in `[down]`. What is entered after the step in properties that it
  /// added goes with them: see ``MigrationPlan/Step/losses`` of a plan that leads back.
  /// - Parameter model: The model before the step.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` where the step does not fit the model.
  public func wayBack(from model: Schema) throws -> MigrationWayBack {
    try wayBack(from: model, to: applied(to: model))
  }

  /// - Parameter after: The model after the step, where it is known already.
  func wayBack(from model: Schema, to after: Schema) throws -> MigrationWayBack {
    if let irreversible { return .none(reason: irreversible) }
    if let down {
      let leads: Bool
      do { leads = try Self.leads(down, from: after, to: model) } catch let error as ModelError {
        return .none(reason: "its [down] section does not fit the model after it: \(error.reason)")
      }
      return leads
        ? .operations(down) : .none(reason: "its [down] section does not lead to the model before it")
    }
    let derived = try derivedWayBack(from: model, to: after)
    // What is kept in another place after the step may be gone without an operation that says so.
    if case .operations = derived, operations.contains(where: \.subject.mayGiveInverses),
      let lost = try compiled(from: model, engine: .current).losses.first
    {
      return .none(reason: "what \(lost) held is gone")
    }
    return derived
  }

  private func derivedWayBack(from before: Schema, to after: Schema) throws -> MigrationWayBack {
    var (model, mapping) = (before, SegmentMapping(before))
    var back: [MigrationOperation] = []
    for operation in operations {
      switch operation.rules.wayBack(from: model, mapping) {
      case .operations(let operations): back = operations + back
      case .none(let reason): return .none(reason: "\(operation.summary): \(reason)")
      }
      do { try mapping.follow(operation, model) } catch { throw failed(operation, error.reason) }
      try operation.apply(to: &model)
    }
    for candidate in [back, Self.cuttingFirst(back, in: after)] {
      if (try? Self.leads(candidate, from: after, to: before)) == true { return .operations(candidate) }
    }
    return .none(reason: "its operations depend on each other")
  }

  /// New entities that lead to each other are dropped after their relationships.
  private static func cuttingFirst(
    _ operations: [MigrationOperation], in model: Schema
  ) -> [MigrationOperation] {
    let dropped = Set(
      operations.compactMap { if case .dropEntity(let name) = $0 { name } else { nil } })
    let cuts = model.entities.filter { dropped.contains($0.name) }.flatMap { entity in
      entity.relationships.map { MigrationOperation.dropRelationship(entity.name, $0.name) }
    }
    return cuts + operations.filter { !cuts.contains($0) }
  }

  private static func leads(
    _ operations: [MigrationOperation], from after: Schema, to before: Schema
  ) throws -> Bool {
    var model = after
    for operation in operations { try operation.apply(to: &model) }
    return model == before
  }
}
