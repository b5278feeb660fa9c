// Checks single steps: the rows that refer to a rebuilt table, and the rollback.

internal import Foundation
private import CipherSQLite
internal import ObjectVault

extension MigrationLab {
  /// Checks, for each step that rebuilds a table, that the rows which refer to the table still exist, and
  /// refer to the same rows.
  ///
  /// Rebuilding a table drops it. Unless that is prevented, the drop also deletes the rows whose reference
  /// to the table cascades; an empty store does not show that. In this check, each relationship that can
  /// have a target has one.
  /// - Throws: ``CheckFailure`` with the step and the missing rows.
  public func checkCascades() async throws {
    for step in migrations.steps.dropFirst(versions.lowerBound) {
      let place = "step \(step.number) \(step.name)"
      try await run("checkCascades", at: place) {
        let old = try await filledStore(at: .number(step.number - 1), links: .all)
        let plan = try await Store.plan(at: old.url, key: key, migrations: migrations.upTo(step.number))
        let rebuilt = plan.steps.flatMap(\.rebuiltTables)
        guard !rebuilt.isEmpty else { return }
        let new = try await old.migrate(to: .number(step.number))
        do {
          try await requireKept(before: old.content(), after: new.content(), by: "checkCascades") {
            try await old.copiedFile()
          }
        } catch let error as CheckFailure {
          throw CheckFailure(
            error.check, at: error.place, findings: error.findings,
            advice: (["The step rebuilds \(rebuilt.joined(separator: ", "))."]
              + [error.advice].compactMap { $0 })
              .joined(separator: " "))
        }
      }
    }
  }

  /// Runs each reversible step up, down and up again, with generated objects. The content after the
  /// rollback has to equal that before the step, and the content after the second run that after the
  /// first run. The rollback must also keep objects that were made after the step.
  ///
  /// If SQL or Swift of a step's author computes values, those that the step writes are not compared; all
  /// others are. Irreversible steps are skipped. A rollback that rejects rows made after the step is not
  /// a finding.
  /// - Throws: ``CheckFailure`` with the step.
  public func checkUpDownUp() async throws {
    for step in migrations.steps.dropFirst(versions.lowerBound) {
      let model = try migrations.model(at: step.number - 1)
      guard case .operations(let back) = try step.rollback(from: model) else { continue }
      try await run("checkUpDownUp", at: "step \(step.number) \(step.name)") {
        try await checkRoundTrip(step, isComputed: (step.operations + back).contains(where: \.writesRows))
        try await checkRollbackOfNewObjects(step)
      }
    }
  }

  private func checkRoundTrip(_ step: MigrationStep, isComputed: Bool) async throws {
    let before = try await filledStore(at: .number(step.number - 1))
    let up = try await before.migrate(to: .number(step.number))
    let down = try await up.migrate(to: .number(step.number - 1))
    let again = try await down.migrate(to: .number(step.number))
    let advice = Self.advice(onRollbackOf: step)
    guard isComputed else {
      try require(
        down.content().differences(from: before.content()), by: "checkUpDownUp", at: "down", advice: advice)
      return try require(
        again.content().differences(from: up.content()), by: "checkUpDownUp", at: "up again", advice: advice)
    }
    // Values that the step does not write are unchanged, whatever the rollback computes, and no row is
    // missing.
    let kept = try NameHistory(migrations, from: step.number - 1, to: step.number).keptByRoundTrip
    let comparison = try ContentComparison(
      from: before.content(), to: down.content(), names: kept, mayLose: mayLoseRows)
    let lost = try down.content().lostRows(of: before.content(), but: mayLoseRows)
    let others = comparison.differences.filter { !lost.contains($0) }
    try require(lost + others, by: "checkUpDownUp", at: "down", advice: advice)
    try await requireKept(
      before: before.content(), after: again.content(), by: "checkUpDownUp", at: "up again"
    ) {
      try await before.copiedFile()
    }
  }

  private static func advice(onRollbackOf step: MigrationStep) -> String {
    "The [down] of \(step.fileName) must undo its [up]; without [down], the rollback is derived from the "
      + "operations. If it deletes rows on purpose, allow that with lab.mayLoseRows."
  }

  /// Checks the rollback of objects that were made after the step.
  private func checkRollbackOfNewObjects(_ step: MigrationStep) async throws {
    let later = try await filledStore(at: .number(step.number))
    let down: LabStore
    do { down = try await later.migrate(to: .number(step.number - 1)) } catch StoreError.rowsRefused {
      return
    }
    let names = try NameHistory(migrations, from: step.number - 1, to: step.number)
    let (before, after) = (try later.content(), try down.content())
    let lost = names.entities.sorted { $0.key < $1.key }.compactMap { former, name -> String? in
      let (was, remained) = (before.objects[name] ?? [:], after.objects[former] ?? [:])
      guard was.count != remained.count, mayLoseRows.isDisjoint(with: [name, former]) else { return nil }
      let gone = was.keys.filter { remained[$0] == nil }
      return
        "\(former): \(remained.count) of \(was.count) rows that were created after the step remain"
        + (gone.isEmpty ? "" : "; \(StoreContent.listed(gone)) \(gone.count == 1 ? "is" : "are") missing")
    }
    try require(
      lost, by: "checkUpDownUp", at: "down, with objects created after the step",
      advice: Self.advice(onRollbackOf: step))
  }
}

extension MigrationOperation {
  /// Whether SQL or Swift of the step's author writes rows, or the operation creates objects, which get
  /// other ids in a second run.
  fileprivate var writesRows: Bool {
    switch self {
    case .transform, .transformSwift, .seed, .retype(_, _, _, using: _?), .retypeBySwift,
      .makeRequired(_, _, filling: _?),
      .makeOne(_, _, picking: _?), .moveAttributes, .mergeEntities, .makeEntityRelationship,
      .makeRelationshipEntity:
      true
    default: false
    }
  }
}

extension StoreContent {
  /// Returns a finding for each entity that has lost objects.
  fileprivate func lostRows(of before: StoreContent, but mayLose: Set<String>) -> [String] {
    before.objects.sorted { $0.key < $1.key }.compactMap { entity, rows in
      if mayLose.contains(entity) { return nil }
      let gone = rows.keys.filter { objects[entity]?[$0] == nil }
      return gone.isEmpty
        ? nil
        : "\(entity): \(gone.count) of \(counted(rows.count, "row")) \(gone.count == 1 ? "is" : "are") "
          + "missing (\(Self.listed(gone)))"
    }
  }
}
