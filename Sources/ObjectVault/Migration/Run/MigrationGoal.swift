// What a run is to do with a store, and what that comes to for the history that it finds: steps to take back, the last
// first, and steps to run. Whatever it is, one runner runs it (MigrationRunner).

internal import CipherSQLite

/// What a run is to do.
package enum MigrationGoal: Sendable, Hashable {
  /// Run the steps that the store lacks.
  case latest
  /// Take back the steps above a version.
  case back(to: Int)
  /// Take back the last so many steps, and run them again.
  case again(Int)

  var isAgain: Bool { if case .again = self { true } else { false } }
}

/// What a run does with one store.
struct MigrationWork {
  /// The model that the store has before it.
  let model: Schema
  /// What takes steps back, the last one first: each with the number and the name of the step that it takes back.
  var back: [CompiledStep] = []
  /// The steps that run, in order.
  var ahead: [CompiledStep] = []
  /// The version after it.
  let version: Int
  /// The lowest version of steps that may open the store afterwards.
  let minimumReader: Int

  var steps: [CompiledStep] { back + ahead }
  var isNothing: Bool { back.isEmpty && ahead.isEmpty }
}

extension StoreHistory {
  /// What a goal comes to, after the history was compared with the steps.
  /// - Parameters:
  ///   - set: The steps at hand. Those that are taken back may be missing among them: the store carries their way back.
  ///   - file: How errors call the store.
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
      // Behind a fold whose text was edited the steps would go on from a model that no store has.
      try set.requireModel(work.back.last?.model ?? work.model, at: target)
      // An edited step is taken back as it was and runs as it is.
      let again = set.prefix(version)
      work.ahead = try again.compiled(after: target)
      return MigrationWork(
        model: work.model, back: work.back, ahead: work.ahead, version: version,
        minimumReader: again.minimumReader)
    }
  }

  private func workBack(to target: Int, with set: MigrationSet, file: String) throws -> MigrationWork {
    try requireKnownFormat(file: file)
    // What is taken back may be another step than the one at hand; what stays may not.
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
      // What steps that are not at hand say of readers is not carried, but none says more than all of them together.
      // Nor does a folded step say any more what it said.
      minimumReader: staying.version == target && staying.steps.last?.isPlaceholder != true
        ? staying.minimumReader : min(target, minimumReader))
    for step in chain.steps.dropFirst(target).reversed() {
      switch try step.wayBack(from: models[step.number - 1], to: models[step.number]) {
      case .none(let reason):
        throw StoreError.noWayBack(
          step: step.number, name: step.name, reason: reason + (Self.advice(step, of: set) ?? ""))
      case .operations(let operations):
        work.back.append(
          try step.takenBack(by: operations).compiled(from: models[step.number], engine: .current))
      }
    }
    return work
  }

  /// What the author of a step without a way back can do: nothing who wrote that there is none, nor who has not got the file.
  private static func advice(_ step: MigrationStep, of set: MigrationSet) -> String? {
    guard step.irreversible == nil, set.steps.contains(step) else { return nil }
    return step.down == nil
      ? "; what does take it back can be written into its file, behind [down]"
      : "; correct it in its file, which stays the same step"
  }

  /// The steps behind the store: those at hand where they are what ran, else as the store carries them.
  func steps(with set: MigrationSet, file: String) throws -> MigrationSet {
    try MigrationSet(
      steps.map { applied in
        if applied.number <= set.version {
          let step = set.steps[applied.number - 1]
          // What was folded later ran as it was, which the store carries.
          if !step.isFolded, step.isRecorded(as: applied.checksum) { return step }
        }
        return try applied.carried(in: file)
      })
  }

  /// Why nothing takes a step back, by the step's number: of those behind the store, and of those that it lacks.
  func irreversible(with set: MigrationSet, file: String) throws -> [Int: String] {
    var (reasons, model): ([Int: String], Schema) = ([:], Schema())
    for step in try steps(with: set, file: file).steps + set.steps.dropFirst(version) {
      let after = try step.applied(to: model)
      if case .none(let reason) = try step.wayBack(from: model, to: after) { reasons[step.number] = reason }
      model = after
    }
    return reasons
  }
}

extension AppliedStep {
  /// Why a store that an earlier release migrated has no way back of its own.
  private static let notCarried =
    "the store does not carry its way back, because an earlier release ran it; take it back with the files of the steps"

  /// The step as the store carries it: what it did, and what leads back.
  /// - Throws: ``StoreError/bookkeepingDamaged(file:place:reason:)`` when that cannot be read.
  fileprivate func carried(in file: String) throws -> MigrationStep {
    let (rule, back) = BackupRule.carried(in: down ?? MigrationWayBack.none(reason: Self.notCarried).text)
    do {
      var step = try MigrationStep(
        number: number, name: name,
        text: "format: 1\nbackup: \(rule.rawValue)\n[up]\n\(text)\n[down]\n\(back)\n")
      if step.checksum != checksum { step.recordedChecksum = checksum }
      return step
    } catch StoreError.migrationSyntax(let error) {
      // What was written down is what the store says was written down: it is not damaged, but of a language that has
      // grown since.
      let isRead = (try? MigrationStep(number: number, name: name, text: "format: 1\n[up]\n\(text)\n")) != nil
      guard isRead || checksum != "s1:" + sha256(Array(text.utf8)) else {
        throw StoreError.noWayBack(
          step: number, name: name,
          reason:
            "this release cannot read what the store carries of it (\(error.reason)); take it back with the "
            + "release that ran it (\(app)), or a later one")
      }
      throw StoreError.bookkeepingDamaged(
        file: file, place: "\(HistoryTable.name), row \(number),", reason: "holds no step: \(error.reason)")
    }
  }
}

extension BackupRule {
  // In a comment, which releases that do not know it skip.
  private static let mark = "# backup: "

  /// A way back as the store carries it.
  func carrying(_ back: String) -> String { self == .auto ? back : Self.mark + rawValue + "\n" + back }

  /// What a way back says of copies, and the rest of it.
  fileprivate static func carried(in back: String) -> (rule: BackupRule, back: String) {
    guard back.hasPrefix(mark), let line = back.split(separator: "\n").first,
      let rule = BackupRule(rawValue: String(line.dropFirst(mark.count)))
    else { return (.auto, back) }
    return (rule, String(back.dropFirst(line.count)))
  }
}

extension MigrationStep {
  /// What takes this step back, as a step of the same number and name. What its author allowed it to lose, it may lose on
  /// the way there alone; and that it needs no copy was said of that way, too.
  func takenBack(by operations: [MigrationOperation]) -> MigrationStep {
    MigrationStep(
      number: number, name: name, operations: operations, backup: backup == .never ? .auto : backup)
  }
}
