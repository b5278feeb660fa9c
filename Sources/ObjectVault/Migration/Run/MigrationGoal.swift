// The goal of a run, and the work that follows from the goal and a store's history: steps to roll back, the
// last first, and steps to run. MigrationRunner performs the work.

internal import CipherSQLite

/// The goal of a run.
package enum MigrationGoal: Sendable, Hashable {
  /// Run the steps that the store lacks.
  case latest
  /// Roll back the steps above a version.
  case back(to: Int)
  /// Roll back this number of steps, beginning with the last, and run them again.
  case again(Int)

  var isAgain: Bool { if case .again = self { true } else { false } }
}

/// The work of a run on one store.
struct MigrationWork {
  /// The model of the store before the run.
  let model: Schema
  /// The rollbacks, the last step's first: each has the number and the name of the step that it undoes.
  var back: [CompiledStep] = []
  /// The steps that run, in order.
  var ahead: [CompiledStep] = []
  /// The version after the run.
  let version: Int
  /// The lowest version of steps that may open the store afterwards.
  let minimumReader: Int

  var steps: [CompiledStep] { back + ahead }
  var isNothing: Bool { back.isEmpty && ahead.isEmpty }
}

extension StoreHistory {
  /// Returns the work for a goal, after comparing the history with the steps.
  /// - Parameters:
  ///   - set: The steps at hand. Steps to roll back may be missing: the store carries their rollback.
  ///   - file: The name of the store in errors.
  func work(_ goal: MigrationGoal, with set: MigrationSet, file: String) throws -> MigrationWork {
    switch goal {
    case .latest:
      try check(against: set, file: file)
      try set.requireReach(from: version)
      if set.version >= version { try set.requireModel(try model(), at: version) }
      return MigrationWork(
        model: try set.version < version ? model() : set.model(at: version),
        ahead: try set.compiled(after: version), version: max(version, set.version),
        minimumReader: set.minimumReader)
    case .back(let target):
      return try workBack(to: max(0, target), with: set, file: file)
    case .again(let count):
      guard set.version >= version else { throw newer(than: set, file: file) }
      let target = max(0, version - max(0, count))
      try set.requireRepeatable(after: target, of: version)
      var work = try workBack(to: target, with: set, file: file)
      // If the text of a fold was edited, the steps would continue from a model that no store has.
      try set.requireModel(work.back.last?.model ?? work.model, at: target)
      // An edited step is rolled back as it ran, and runs again as it is now.
      let again = set.prefix(version)
      work.ahead = try again.compiled(after: target)
      return MigrationWork(
        model: work.model, back: work.back, ahead: work.ahead, version: version,
        minimumReader: again.minimumReader)
    }
  }

  private func workBack(to target: Int, with set: MigrationSet, file: String) throws -> MigrationWork {
    try requireKnownFormat(file: file)
    // A step that is rolled back may differ from the one at hand; a step that stays may not.
    let staying = set.prefix(target)
    try checkSteps(against: staying)
    guard target < version else {
      return MigrationWork(model: try model(), version: version, minimumReader: minimumReader)
    }
    let chain = try steps(with: set, file: file)
    var models = [Schema()]
    for step in chain.steps { models.append(try step.applied(to: models[models.count - 1])) }
    var work = MigrationWork(
      model: models[models.count - 1], version: target,
      // The store carries no `reader` of single steps, only the highest of all, which is the bound for
      // steps that are not at hand. A folded step has lost its `reader` as well.
      minimumReader: staying.version == target && staying.steps.last?.isPlaceholder != true
        ? staying.minimumReader : min(target, minimumReader))
    for step in chain.steps.dropFirst(target).reversed() {
      switch try step.rollback(from: models[step.number - 1], to: models[step.number]) {
      case .none(let reason):
        throw StoreError.cannotRollBack(
          step: step.number, name: step.name, reason: reason + (Self.advice(step, of: set) ?? ""))
      case .operations(let operations):
        work.back.append(
          try step.takenBack(by: operations).compiled(from: models[step.number], engine: .current))
      }
    }
    return work
  }

  /// The advice for the author of a step without a rollback; nil when the step declares itself
  /// irreversible or its file is not at hand.
  private static func advice(_ step: MigrationStep, of set: MigrationSet) -> String? {
    guard step.irreversible == nil, set.steps.contains(step) else { return nil }
    return step.down == nil
      ? "; a rollback can be written into the file of the step, below [down]"
      : "; correct [down] in its file, which does not change the checksum of the step"
  }

  /// The steps that the store has run. A step at hand is used if it is the step that ran; otherwise the
  /// step is read from the store.
  func steps(with set: MigrationSet, file: String) throws -> MigrationSet {
    try MigrationSet(
      steps.map { applied in
        if applied.number <= set.version {
          let step = set.steps[applied.number - 1]
          // A step that was folded later ran in its original form, which the store carries.
          if !step.isFolded, step.isRecorded(as: applied.checksum) { return step }
        }
        return try applied.carried(in: file)
      })
  }

  /// The reasons why steps cannot be rolled back, by step number: of steps that ran and of pending ones.
  func irreversible(with set: MigrationSet, file: String) throws -> [Int: String] {
    var (reasons, model): ([Int: String], Schema) = ([:], Schema())
    for step in try steps(with: set, file: file).steps + set.steps.dropFirst(version) {
      let after = try step.applied(to: model)
      if case .none(let reason) = try step.rollback(from: model, to: after) { reasons[step.number] = reason }
      model = after
    }
    return reasons
  }
}

extension AppliedStep {
  /// The reason for a store that an earlier release migrated, which carries no rollback.
  private static let notCarried =
    "the store does not carry its rollback, because an earlier release ran it; roll it back with the files "
    + "of the steps"

  /// The step as the store carries it: its operations and its rollback.
  /// - Throws: ``StoreError/bookkeepingDamaged(file:place:reason:)`` when they cannot be read.
  fileprivate func carried(in file: String) throws -> MigrationStep {
    let (rule, back) = BackupRule.carried(in: down ?? MigrationRollback.none(reason: Self.notCarried).text)
    do {
      var step = try MigrationStep(
        number: number, name: name,
        text: "format: 1\nbackup: \(rule.rawValue)\n[up]\n\(text)\n[down]\n\(back)\n")
      if step.checksum != checksum { step.recordedChecksum = checksum }
      return step
    } catch StoreError.migrationSyntax(let error) {
      // The text matches its checksum: it is not damaged, but written in a later version of the language.
      let isRead = (try? MigrationStep(number: number, name: name, text: "format: 1\n[up]\n\(text)\n")) != nil
      guard isRead || checksum != "s1:" + sha256(Array(text.utf8)) else {
        throw StoreError.cannotRollBack(
          step: number, name: name,
          reason:
            "this release cannot read the rollback that the store carries (\(error.reason)); roll it back "
            + "with the release that ran it (\(app)), or with a later one")
      }
      throw StoreError.bookkeepingDamaged(
        file: file, place: "\(HistoryTable.name), row \(number),",
        reason: "is not a valid step: \(error.reason)")
    }
  }
}

extension BackupRule {
  // Written as a comment: releases that do not support the rule skip it.
  private static let mark = "# backup: "

  /// The text of a rollback as the store carries it, with the rule for backups.
  func carrying(_ back: String) -> String { self == .auto ? back : Self.mark + rawValue + "\n" + back }

  /// Splits the text of a carried rollback into the rule for backups and the rollback.
  fileprivate static func carried(in back: String) -> (rule: BackupRule, back: String) {
    guard back.hasPrefix(mark), let line = back.split(separator: "\n").first,
      let rule = BackupRule(rawValue: String(line.dropFirst(mark.count)))
    else { return (.auto, back) }
    return (rule, String(back.dropFirst(line.count)))
  }
}

extension MigrationStep {
  /// The step that undoes this one, with its number and name. The losses that the author allowed apply to
  /// the step only and not to its rollback, and so does `backup: never`.
  func takenBack(by operations: [MigrationOperation]) -> MigrationStep {
    MigrationStep(
      number: number, name: name, operations: operations, backup: backup == .never ? .auto : backup)
  }
}
