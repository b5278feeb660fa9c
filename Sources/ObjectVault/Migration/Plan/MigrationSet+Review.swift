// The review of steps without a store, for the command `check`: faults that parsing does not find.

internal import CipherSQLite

extension MigrationSet {
  /// The result of a review: faults, and losses that are not allowed.
  package struct Review {
    /// A sentence for each step that does not fit the model before it.
    package var faults: [String] = []
    /// The faults of `[down]` sections; empty if there are ``faults``.
    package var rollbackFaults: [String] = []
    /// What each step loses without its author's `allow`: one entry for each step, also for a step
    /// without such losses. Empty if there are ``faults``.
    package var losses: [Losses] = []
  }

  /// What a step loses without its author's `allow`.
  package struct Losses {
    package let step: MigrationStep
    /// The names that `allow` takes, such as `User.city`.
    package let names: [String]
    /// The losses as text, each with the to-manys that it empties.
    package let texts: [String]

    fileprivate init(_ compiled: CompiledStep) {
      (step, names) = (compiled.step, compiled.unallowedLosses)
      texts = names.map { lossText($0, compiled.emptied) }
    }
  }

  /// Compiles every step as for a store that has run none of them, has the engine prepare the SQL in them,
  /// and tries the `[down]` sections.
  /// - Parameter models: The result of ``models()``.
  /// - Throws: The errors of ``model(at:)``.
  package func review(_ models: [Schema]) throws -> Review {
    var review = Review()
    let (trial, rollbackTrial) = (SQLTrial(self), SQLTrial(self))
    for (index, step) in steps.enumerated() {
      let before = index == 0 ? Schema() : models[index - 1]
      do {
        let compiled = try step.compiled(from: before, engine: .current, to: models[index])
        review.losses.append(Losses(compiled))
        try trial.run(compiled)
      } catch StoreError.migrationFailed(_, _, let operation, let reason) {
        review.faults.append("\(step.place(ofOperation: operation)), \"\(operation)\": \(ended(reason))")
      }
      guard review.faults.isEmpty else { continue }
      review.rollbackFaults += try step.rollbackFaults(from: before, to: models[index], rollbackTrial)
    }
    if !review.faults.isEmpty { (review.rollbackFaults, review.losses) = ([], []) }
    return review
  }

  /// Compiles every step as for a store that has run none of them.
  /// - Returns: A sentence for each step that does not fit the model before it.
  package func compileFaults() throws -> [String] { try review(models()).faults }
}

extension MigrationStep {
  /// The faults of the step's `[down]` section, a sentence each.
  fileprivate func rollbackFaults(from before: Schema, to after: Schema, _ trial: SQLTrial) throws -> [String]
  {
    guard down != nil else { return [] }
    switch try rollback(from: before, to: after) {
    case .none(let reason): return ["\(fileName): \(ended(reason))"]
    case .operations(let operations):
      do {
        try trial.run(takenBack(by: operations).compiled(from: after, engine: .current))
        return []
      } catch StoreError.migrationFailed(_, _, let operation, let reason) {
        return ["\(place(ofDownOperation: operation)), [down], \"\(operation)\": \(ended(reason))"]
      }
    }
  }
}
