// The rollback of a step: the one that its author wrote, or else the one derived from its operations when
// they lose nothing. The rollback of a single operation is in the operation's file.

internal import CipherSQLite

extension MigrationStep {
  /// Returns the operations that undo this step: those of its `[down]` section, or else operations
  /// derived from the step.
  ///
  /// A rollback is derived only if it restores the model and every value: it drops added properties and
  /// entities, and restores names, defaults, rules and indexes. If the step drops or overwrites values,
  /// it is irreversible unless its author writes `[down]`. A rollback discards values entered after the
  /// step in properties that the step added: see ``MigrationPlan/Step/losses`` in a plan of the rollback.
  /// - Parameter model: The model before the step.
  /// - Returns: The operations, or the reason why there is no rollback.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` where the step does not fit
  ///   the model.
  public func rollback(from model: Schema) throws -> MigrationRollback {
    try rollback(from: model, to: applied(to: model))
  }

  /// Returns the rollback, for a caller that has the model after the step already.
  /// - Parameter after: The model after the step.
  func rollback(from model: Schema, to after: Schema) throws -> MigrationRollback {
    if let irreversible { return .none(reason: irreversible) }
    if let down {
      let leads: Bool
      do { leads = try Self.leads(down, from: after, to: model) } catch let error as ModelError {
        return .none(reason: "its [down] section does not fit the model after the step: \(error.reason)")
      }
      return leads
        ? .operations(down) : .none(reason: "its [down] section does not restore the model before the step")
    }
    let derived = try derivedRollback(from: model, to: after)
    // A step that drops nothing may also lose values, if a new inverse stores links elsewhere.
    if case .operations = derived, operations.contains(where: \.subject.mayGiveInverses),
      let lost = try compiled(from: model, engine: .current).losses.first
    {
      return .none(reason: "the data of \(lost) is lost")
    }
    return derived
  }

  private func derivedRollback(from before: Schema, to after: Schema) throws -> MigrationRollback {
    var (model, mapping) = (before, SegmentMapping(before))
    var back: [MigrationOperation] = []
    for operation in operations {
      switch operation.rules.rollback(from: model, mapping) {
      case .operations(let operations): back = operations + back
      case .none(let reason): return .none(reason: "\(operation.summary): \(reason)")
      }
      do { try mapping.follow(operation, model) } catch { throw failed(operation, because: error.reason) }
      try operation.apply(to: &model)
    }
    for candidate in [back, Self.droppingRelationshipsFirst(back, in: after)] {
      if (try? Self.leads(candidate, from: after, to: before)) == true { return .operations(candidate) }
    }
    return .none(reason: "the inverses of its operations do not restore the model before the step")
  }

  /// Drops the relationships of new entities first, since entities that reference each other cannot
  /// be dropped.
  private static func droppingRelationshipsFirst(
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
