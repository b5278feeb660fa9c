// The step that opening makes by itself, for programs without steps of their own: from the model that a store has to that
// of the classes, where nothing is lost by it and nothing has to be guessed.

internal import CipherSQLite

extension Schema {
  /// Checks that a model like that of the classes could be nothing but theirs. Asked before a file is looked at: whether such
  /// classes open a store must not follow from what has been done to it.
  /// - Throws: ``StoreError/notAutomatic(file:reasons:lines:)`` where a class hands one of its names on to another one.
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
  /// The steps behind the store as it carries them, and one more where the classes are another model.
  /// - Throws: ``StoreError/notAutomatic(file:reasons:lines:)``;
  ///   ``StoreError/otherFormat(file:found:supported:)`` for a file of another format.
  func automaticSteps(for schema: Schema, file: String) throws -> MigrationSet {
    try requireKnownFormat(file: file)
    let carried = try carriedSteps(in: file)
    let model = try model()
    guard model != schema else { return carried }
    let proposal = try carried.proposal(for: schema)
    let step = MigrationStep(number: version + 1, name: "automatic", operations: proposal.operations)
    // Where something is lost it goes without saying that nothing leads back.
    let reasons = try (proposal.losses.isEmpty ? step.obstacle(from: model) : []) + proposal.obstacles
    guard reasons.isEmpty else {
      throw StoreError.notAutomatic(file: file, reasons: reasons, lines: proposal.lines)
    }
    return try MigrationSet(carried.steps + [step])
  }

  /// The steps behind the store, with what takes each back.
  func carriedSteps(in file: String) throws -> MigrationSet {
    let carried = try steps(with: MigrationSet([]), file: file)
    return try folded(in: carried).map { try MigrationSet([$0] + carried.steps.dropFirst($0.number)) }
      ?? carried
  }

  /// The step that others were folded into, where the store was made by it: its row holds what it did, and theirs hold nothing
  /// but what they are known by. Nil in a store that was made by the steps themselves.
  private func folded(in carried: MigrationSet) throws -> MigrationStep? {
    let empty = MigrationStep(number: 1, name: "empty", operations: []).checksum
    // Among steps that were folded there may be empty ones; empty ones alone are what ran.
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
  /// Why nobody but a person can say that this is what was meant, a reason each.
  fileprivate var obstacles: [String] {
    losses.map { "\($0) would be lost" }
      + doubts.map(\.obstacle) + remarks + servedHints.map { $0.reason(of: "the store has") }
  }
}

extension MigrationRenaming {
  /// That it may be meant, and where that is said.
  fileprivate var obstacle: String {
    switch self {
    case .entity(let name, let new):
      "\(self) may be a renaming: where it is one, write in the schema Entity(\(new).self).renamed(from: \"\(name)\")"
    case .property(let entity, let name, let new):
      "\(self) may be a renaming: where it is one, give \(entity).\(new) the option .renamed(from: \"\(name)\")"
    }
  }
}

extension MigrationStep {
  /// That nothing leads back, where nothing is lost and some value is another one afterwards.
  fileprivate func obstacle(from model: Schema) throws -> [String] {
    guard (try? applied(to: model)) != nil else { return [] }
    if case .none(let reason) = try wayBack(from: model) { return ["nothing leads back: \(reason)"] }
    return []
  }
}
