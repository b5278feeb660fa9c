// The step that the opening of a store makes for a program without its own steps: from the store's model
// to that of the classes. It is made only if nothing is lost and nothing has to be guessed.

internal import CipherSQLite

extension Schema {
  /// Checks that the hints of the classes are unambiguous, as if the store already had the model of the
  /// classes. This runs before a file is read, because the result must not depend on the store's history.
  /// - Throws: ``StoreError/notAutomatic(file:reasons:lines:)`` if a former name is still in use and has
  ///   a former name itself, as in an exchange of two names.
  func requireNoRenamingDoubt(file: String) throws {
    let doubts = renamingDoubts(from: self)
    guard doubts.isEmpty else {
      throw StoreError.notAutomatic(
        file: file,
        reasons: doubts.map { $0.reason(of: $0.renaming.isOfEntity ? "the schema has" : "the class has") },
        lines: [])
    }
  }
}

extension StoreHistory {
  /// Returns the steps that the store carries, and one more if the classes have another model.
  /// - Throws: ``StoreError/notAutomatic(file:reasons:lines:)`` if that step would lose data, could not
  ///   be rolled back, or needs the decision of a person;
  ///   ``StoreError/otherFormat(file:found:supported:)`` for a file of another format; the errors of
  ///   ``MigrationSet/proposal(for:renaming:)``.
  func automaticSteps(for schema: Schema, file: String) throws -> MigrationSet {
    try requireKnownFormat(file: file)
    let carried = try carriedSteps(in: file)
    let model = try model()
    guard model != schema else { return carried }
    let proposal = try carried.proposal(for: schema)
    let step = MigrationStep(number: version + 1, name: "automatic", operations: proposal.operations)
    // If something is lost, a rollback is impossible anyway, and needs no reason.
    let reasons = try (proposal.losses.isEmpty ? step.obstacle(from: model) : []) + proposal.obstacles
    guard reasons.isEmpty else {
      throw StoreError.notAutomatic(file: file, reasons: reasons, lines: proposal.lines)
    }
    return try MigrationSet(carried.steps + [step])
  }

  /// Returns the steps that ran on the store, each with its rollback.
  func carriedSteps(in file: String) throws -> MigrationSet {
    let carried = try steps(with: MigrationSet([]), file: file)
    return try folded(in: carried).map { try MigrationSet([$0] + carried.steps.dropFirst($0.number)) }
      ?? carried
  }

  /// Returns the step that replaced folded ones and created the store; nil for a store that the folded
  /// steps themselves created. The row of such a step has its text; the rows of the folded steps have
  /// only checksums.
  private func folded(in carried: MigrationSet) throws -> MigrationStep? {
    let empty = MigrationStep(number: 1, name: "empty", operations: []).checksum
    // A row without a text belongs to a folded step, or to a step without operations that ran itself. If
    // any of these rows has a checksum other than that of a step without operations, steps were folded.
    let placeholders = steps.prefix { $0.text.isEmpty }
    guard placeholders.contains(where: { $0.checksum != empty }), placeholders.count < carried.version else {
      return nil
    }
    let last = carried.steps[placeholders.count]
    let folds = steps.prefix(placeholders.count + 1).map {
      FoldedStep(number: $0.number, name: $0.name, checksum: $0.checksum, release: nil)
    }
    return MigrationStep(
      folding: folds, into: last, operations: last.operations, reader: last.reader, allowed: last.allowed)
  }
}

extension MigrationProposal {
  /// The reasons why a person has to confirm the proposal.
  fileprivate var obstacles: [String] {
    losses.map { "\($0) would be lost" }
      + doubts.map(\.obstacle) + remarks + doneHints.map { $0.reason(of: "the store has") }
  }
}

extension MigrationRenaming {
  /// The possible renaming, and where to state it.
  fileprivate var obstacle: String {
    switch self {
    case .entity(let name, let new):
      "\(self) may be a renaming; if it is, write in the schema Entity(\(new).self).renamed(from: "
        + "\"\(name)\")"
    case .property(let entity, let name, let new):
      "\(self) may be a renaming; if it is, give \(entity).\(new) the option .renamed(from: \"\(name)\")"
    }
  }
}

extension MigrationStep {
  /// Returns why the step cannot be rolled back; empty if it can be, or if it does not fit the model.
  fileprivate func obstacle(from model: Schema) throws -> [String] {
    guard (try? applied(to: model)) != nil else { return [] }
    if case .none(let reason) = try rollback(from: model) {
      return ["the step could not be rolled back: \(reason)"]
    }
    return []
  }
}
