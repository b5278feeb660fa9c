// Checks of a set in which steps were folded into one.

extension MigrationSet {
  /// The number of the last step that replaces others; 0 if no step does. A store with a lower version
  /// other than 0 is refused.
  public var foldedVersion: Int { steps.last { !$0.folds.isEmpty }?.number ?? 0 }

  /// Returns the steps with a placeholder for each folded one, so that the numbers begin with 1 and a
  /// history can be compared step by step.
  /// - Throws: ``StoreError/historyConflict(_:)`` for a step that has the number of a folded one, but
  ///   another checksum, and for a second step with the number of the step that replaces them.
  static func unfolded(_ steps: [MigrationStep]) throws -> [MigrationStep] {
    guard let fold = steps.last(where: { !$0.folds.isEmpty }) else { return steps }
    for step in steps where (1...fold.number).contains(step.number) && step != fold {
      // An interrupted folding leaves the files of the folded steps; these files are accepted.
      guard step.number < fold.number, fold.folds[step.number - 1].checksum == step.checksum else {
        throw StoreError.historyConflict(
          .duplicate(number: step.number, files: [step.fileName, fold.fileName]))
      }
    }
    // Steps with numbers below 1 are kept; the check of all numbers refuses them.
    return fold.folds.dropLast().map { MigrationStep($0) }
      + steps.filter { $0.number >= fold.number || $0.number < 1 }
  }

  /// Checks that the steps can continue a store of a version.
  /// - Throws: ``StoreError/historyConflict(_:)`` if the next step was folded into a later one.
  func requireReach(from version: Int) throws {
    guard version > 0, let fold = steps.last(where: { !$0.folds.isEmpty }), version < fold.number else {
      return
    }
    throw StoreError.historyConflict(
      .folded(version: version, into: fold.number, name: fold.name, release: fold.folds[version].release))
  }

  /// Checks that the steps can run again after a rollback to a version. Folded steps run only together.
  /// - Throws: ``StoreError/cannotRollBack(step:name:reason:)`` with the number of steps that can be
  ///   repeated.
  func requireRepeatable(after target: Int, of version: Int) throws {
    guard target > 0, let fold = steps.last(where: { !$0.folds.isEmpty }), target < fold.number else {
      return
    }
    let least = version > fold.number ? ", or at most the last \(version - fold.number)" : ""
    throw StoreError.cannotRollBack(
      step: target + 1, name: steps[target].name,
      reason: "the steps up to \(numbered(fold.number)) \(fold.name) are folded into one and run only "
        + "together; repeat all \(version) steps\(least)")
  }

  /// Checks that the steps make the model that a store has, if one of them replaces folded steps. Such a
  /// step keeps the checksum of the original step although its text is new, so its model is compared. For
  /// other steps, the comparison of checksums is enough.
  /// - Throws: ``StoreError/historyConflict(_:)`` if the models differ.
  func requireModel(_ model: Schema, at version: Int) throws {
    guard let fold = steps.last(where: { !$0.folds.isEmpty }), version >= fold.number else { return }
    let made = try self.model(at: version)
    guard made.meaningHash != model.meaningHash else { return }
    throw StoreError.historyConflict(
      .foldEdited(
        number: fold.number, name: fold.name,
        difference: SchemaDifference.lines(
          made, against: model, found: "the present steps", expected: "the store")))
  }
}
