// How a set stands with steps that were folded into one.

extension MigrationSet {
  /// The number of the last step that stands for several; 0 without one. A store of a lower version than that, and above
  /// 0, is refused.
  public var foldedVersion: Int { steps.last { !$0.folds.isEmpty }?.number ?? 0 }

  /// The steps, with one for each that was folded: numbers go on from 1, and histories are compared one by one.
  /// - Throws: ``StoreError/historyConflict(_:)`` where a file has the number of a step that was folded, and is another.
  static func unfolded(_ steps: [MigrationStep]) throws -> [MigrationStep] {
    guard let fold = steps.last(where: { !$0.folds.isEmpty }) else { return steps }
    for step in steps where (1...fold.number).contains(step.number) && step != fold {
      // Whoever was stopped while folding has left files beside, which are what was folded.
      guard step.number < fold.number, fold.folds[step.number - 1].checksum == step.checksum else {
        throw StoreError.historyConflict(
          .duplicate(number: step.number, files: [step.fileName, fold.fileName]))
      }
    }
    // One that is numbered from below 1 is refused with the numbers of all.
    return fold.folds.dropLast().map { MigrationStep($0) }
      + steps.filter { $0.number >= fold.number || $0.number < 1 }
  }

  /// - Throws: ``StoreError/historyConflict(_:)`` where nothing leads on from a version, as what did was folded.
  func requireReach(from version: Int) throws {
    guard version > 0, let fold = steps.last(where: { !$0.folds.isEmpty }), version < fold.number else {
      return
    }
    throw StoreError.historyConflict(
      .folded(version: version, into: fold.number, name: fold.name, release: fold.folds[version].release))
  }

  /// That steps can run anew behind a version which a store is taken back to: what was folded runs as a whole.
  /// - Throws: ``StoreError/noWayBack(step:name:reason:)`` with the numbers of steps that can be repeated.
  func requireRepeatable(after target: Int, of version: Int) throws {
    guard target > 0, let fold = steps.last(where: { !$0.folds.isEmpty }), target < fold.number else {
      return
    }
    let least = version > fold.number ? ", or no more than the last \(version - fold.number)" : ""
    throw StoreError.noWayBack(
      step: target + 1, name: steps[target].name,
      reason: "the steps up to \(numbered(fold.number)) \(fold.name) are folded into it and run as a whole; "
        + "repeat all \(version) steps\(least)")
  }

  /// That the steps make the model which a store has at a version. Each step at hand has the checksum of what ran; what was
  /// folded has one for what it stands for, and a text of its own.
  /// - Throws: ``StoreError/historyConflict(_:)``.
  func requireModel(_ model: Schema, at version: Int) throws {
    guard let fold = steps.last(where: { !$0.folds.isEmpty }), version >= fold.number else { return }
    let made = try self.model(at: version)
    guard made.meaningHash != model.meaningHash else { return }
    throw StoreError.historyConflict(
      .foldEdited(
        number: fold.number, name: fold.name,
        difference: SchemaDifference.lines(
          made, model, found: "what the steps make now", expected: "the store")))
  }
}
