// What is wrong with steps beyond what their text says: what `check` asks, without a store.

internal import CipherSQLite

extension MigrationSet {
  /// What is wrong with the steps beyond their model, and what they lose: what `check` asks, in one walk.
  package struct Review {
    /// What does not fit the model that it meets, a sentence for each step.
    package var faults: [String] = []
    /// What is wrong with the ways back that authors wrote; not asked where there are ``faults``.
    package var wayBackFaults: [String] = []
    /// What steps lose without their authors' `allow`; not asked where there are ``faults``.
    package var losses: [Losses] = []
  }

  /// What a step loses without its author's `allow`.
  package struct Losses {
    package let step: MigrationStep
    /// By the names that allow them, such as `User.city`.
    package let names: [String]
    /// As a person reads them, each with what it takes along under another name.
    package let texts: [String]

    fileprivate init(_ compiled: CompiledStep) {
      (step, names) = (compiled.step, compiled.unallowedLosses)
      texts = names.map { lossText($0, compiled.emptied) }
    }
  }

  /// Compiles every step, as a store that lacks them all would, has the engine read the SQL in it, and tries the ways back
  /// that authors wrote.
  /// - Parameter models: Those of ``models()``.
  /// - Throws: As ``model(at:)``.
  package func review(_ models: [Schema]) throws -> Review {
    var review = Review()
    let (trial, trialBack) = (SQLTrial(self), SQLTrial(self))
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
      review.wayBackFaults += try step.wayBackFaults(from: before, to: models[index], trialBack)
    }
    if !review.faults.isEmpty { (review.wayBackFaults, review.losses) = ([], []) }
    return review
  }

  /// Compiles every step, as a store that lacks them all would.
  /// - Returns: What does not fit the model that it meets, a sentence for each step.
  package func compileFaults() throws -> [String] { try review(models()).faults }
}

extension MigrationStep {
  /// What is wrong with the way back that its author wrote, a sentence each.
  fileprivate func wayBackFaults(from before: Schema, to after: Schema, _ trial: SQLTrial) throws -> [String]
  {
    guard down != nil else { return [] }
    switch try wayBack(from: before, to: after) {
    case .none(let reason): return ["\(fileName): \(ended(reason))"]
    case .operations(let operations):
      do {
        try trial.run(takenBack(by: operations).compiled(from: after, engine: .current))
        return []
      } catch StoreError.migrationFailed(_, _, let operation, let reason) {
        return ["\(place(ofWayBack: operation)), [down], \"\(operation)\": \(ended(reason))"]
      }
    }
  }
}
