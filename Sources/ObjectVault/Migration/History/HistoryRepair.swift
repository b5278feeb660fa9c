// Repairs the record of a step that was edited after it ran and has an unchanged effect: the record
// becomes that of the file. Neither rows nor tables are changed, and no SQL of a step runs.

internal import CipherSQLite

/// The steps whose records in a store are replaced by the steps in the files.
public struct HistoryRepair: Sendable, Hashable, Codable {
  /// A step that was edited after it ran.
  public struct Step: Sendable, Hashable, Codable {
    /// The step's number.
    public let number: Int
    /// The present name of the file.
    public let name: String
    /// The name when the step ran.
    public let formerName: String
    /// The checksum of the file.
    public let checksum: String
    /// The checksum of the text that ran.
    public let formerChecksum: String
    /// The lines that differ: lines of the text that ran with `-`, lines of the file with `+`.
    public let difference: [String]
  }

  /// The repaired steps; empty if all files are what ran.
  public let steps: [Step]
}

/// The records that a repair writes.
struct RepairWork {
  let repair: HistoryRepair
  /// The new records, and the hashes of the models after the steps. Later steps are included, because the
  /// rollback of a step depends on the models before and after it.
  private let records: [(step: AppliedStep, modelHash: String)]
  private let history: StoreHistory

  /// Prepares the repair.
  /// - Throws: ``StoreError/repairRefused(file:step:reason:)``; ``StoreError/historyConflict(_:)`` if a
  ///   step that is not named was edited as well.
  init(_ numbers: [Int], of history: StoreHistory, as set: MigrationSet, file: String) throws {
    try history.requireKnownFormat(file: file)
    try Self.requireRepairable(numbers, of: history, as: set, file: file)
    let wanted = Set(numbers).filter { !set.steps[$0 - 1].isRecorded(as: history.steps[$0 - 1].checksum) }
      .sorted()
    repair = HistoryRepair(
      steps: wanted.map { HistoryRepair.Step(history.steps[$0 - 1], set.steps[$0 - 1]) })
    self.history = history
    guard let first = wanted.first else {
      records = []
      return
    }
    let steps = history.steps.map { step in
      wanted.contains(step.number) ? step.recorded(as: set.steps[step.number - 1]) : step
    }
    let repaired = StoreHistory(
      steps: steps, version: history.version, modelJSON: history.modelJSON,
      minimumReader: history.minimumReader,
      generation: history.generation, format: history.format, storeID: history.storeID)
    try repaired.checkSteps(against: set)
    let (models, ways) = try Self.ways(of: repaired.steps(with: set, file: file), first, file)
    let (model, reached) = (try history.model(), models[models.count - 1])
    guard reached.meaningHash == model.meaningHash else {
      let lines = SchemaDifference.lines(
        reached, against: model, found: "the present steps", expected: "the store")
      throw StoreError.repairRefused(
        file: file, step: first,
        reason:
          "the present steps make a model that differs from the store's. "
          + "\(lines.joined(separator: "; ")). Undo the edit, and put the change into a new step")
    }
    records = steps.dropFirst(first - 1).map { step in
      (step.leading(back: ways[step.number - 1]), models[step.number].meaningHash)
    }
  }

  /// Checks that the named steps ran on the store, and that their files exist.
  private static func requireRepairable(
    _ numbers: [Int], of history: StoreHistory, as set: MigrationSet, file: String
  ) throws {
    for number in numbers {
      let reason =
        !(1...max(1, history.version)).contains(number) || history.version == 0
        ? "the step has not run on this store, which is at version \(history.version), so it has no record"
        : number > set.version
          ? "the available steps end at \(numbered(set.version))"
          : set.steps[number - 1].isFolded
            ? "its file no longer exists, because it was folded into a later step" : nil
      if let reason { throw StoreError.repairRefused(file: file, step: number, reason: reason) }
    }
  }

  /// Returns the models before the first step and after each step, and the text of each rollback for the
  /// store.
  /// - Parameter first: The first repaired step, for errors.
  private static func ways(of set: MigrationSet, _ first: Int, _ file: String) throws -> (
    models: [Schema], ways: [String]
  ) {
    var (models, ways): ([Schema], [String]) = ([Schema()], [])
    for step in set.steps {
      do {
        models.append(try step.applied(to: models[step.number - 1]))
        let back = try step.rollback(from: models[step.number - 1], to: models[step.number])
        ways.append(step.backup.carrying(back.text))
      } catch StoreError.migrationFailed(let number, let name, let operation, let reason) {
        throw StoreError.repairRefused(
          file: file, step: first,
          reason: "with this edit, \(numbered(number)) \(name) does not fit any more, at \"\(operation)\": "
            + "\(reason)")
      }
    }
    return (models, ways)
  }

  /// Writes the records; the caller begins and ends the transaction.
  func write(to connection: Connection) throws {
    guard !repair.steps.isEmpty else { return }
    let tables = OwnTables(connection)
    try tables.repaired.createIfMissing()
    let undone = try tables.undone.count()
    for step in repair.steps {
      try tables.repaired.append(
        RepairedStep(
          former: history.steps[step.number - 1], name: step.name, checksum: step.checksum,
          storeVersion: history.version, undoneCount: undone, at: StoreHistory.now(),
          app: StoreHistory.program,
          engine: "\(Engine.current)"), tool: "ObjectVault")
    }
    for (step, modelHash) in records { try tables.history.rewrite(step.number, step, modelHash: modelHash) }
    let storeState = try StateDigest(of: tables.history, model: history.model())
    try tables.meta.write([(.storeState, .text(storeState.text(generation: history.generation)))])
  }
}

extension HistoryRepair.Step {
  fileprivate init(_ applied: AppliedStep, _ step: MigrationStep) {
    (number, name, formerName) = (step.number, step.name, applied.name)
    (checksum, formerChecksum) = (step.checksum, applied.checksum)
    difference = lineDifference(from: applied.text, to: step.canonicalText)
  }
}

extension AppliedStep {
  /// Returns the record with the name, checksum and text of a file.
  fileprivate func recorded(as step: MigrationStep) -> AppliedStep {
    AppliedStep(
      number: number, name: step.name, kind: kind, checksum: step.checksum, appliedAt: appliedAt,
      milliseconds: milliseconds, app: app, engine: engine, text: step.canonicalText, down: down)
  }

  /// Returns the record with another rollback.
  fileprivate func leading(back: String?) -> AppliedStep {
    AppliedStep(
      number: number, name: name, kind: kind, checksum: checksum, appliedAt: appliedAt,
      milliseconds: milliseconds, app: app, engine: engine, text: text, down: back)
  }
}
