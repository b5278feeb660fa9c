// Step by step: what a rebuilt table does to the rows that refer to it, and there and back again.

internal import Foundation
private import CipherSQLite
internal import ObjectVault

extension MigrationLab {
  /// For each step that writes a table anew: the rows that refer to it are there afterwards, and refer to the same ones.
  ///
  /// A table is written anew by dropping it, and dropping it deletes what cascades from it unless somebody sees to that; in
  /// an empty store nobody notices. Here each relationship leads somewhere that can.
  /// - Throws: ``CheckFailure`` with the step and the rows that are gone.
  public func checkCascades() async throws {
    for step in migrations.steps.dropFirst(versions.lowerBound) {
      let place = "step \(step.number) \(step.name)"
      try await run("checkCascades", place) {
        let old = try await filledStore(at: .number(step.number - 1), links: .all)
        let plan = try await Store.plan(at: old.url, key: key, migrations: migrations.upTo(step.number))
        let rebuilt = plan.steps.flatMap(\.rebuiltTables)
        guard !rebuilt.isEmpty else { return }
        let new = try await old.migrate(to: .number(step.number))
        do {
          try await requireKept(old.content(), new.content(), "checkCascades") { try await old.copiedFile() }
        } catch let error as CheckFailure {
          throw CheckFailure(
            error.check, error.place, error.findings,
            advice: (["The step writes \(rebuilt.joined(separator: ", ")) anew."]
              + [error.advice].compactMap { $0 })
              .joined(separator: " "))
        }
      }
    }
  }

  /// For each step that can be taken back: up, back and up again, with made-up objects. What was there is there after the
  /// way back, and after the second time up what was there after the first; objects that were made after the step are not
  /// lost on the way back either.
  ///
  /// Where SQL or Swift of a step's author computes values, those that the step writes are not compared, as they are what the
  /// author makes of them; all others are. Irreversible steps are left out, and rows that a way back refuses are no finding.
  /// - Throws: ``CheckFailure`` with the step.
  public func checkUpDownUp() async throws {
    for step in migrations.steps.dropFirst(versions.lowerBound) {
      let model = try migrations.model(at: step.number - 1)
      guard case .operations(let back) = try step.wayBack(from: model) else { continue }
      try await run("checkUpDownUp", "step \(step.number) \(step.name)") {
        try await checkRound(step, isComputed: (step.operations + back).contains(where: \.writesRows))
        try await checkEntered(step)
      }
    }
  }

  private func checkRound(_ step: MigrationStep, isComputed: Bool) async throws {
    let before = try await filledStore(at: .number(step.number - 1))
    let up = try await before.migrate(to: .number(step.number))
    let down = try await up.migrate(to: .number(step.number - 1))
    let again = try await down.migrate(to: .number(step.number))
    let advice = Self.advice(onWayBackOf: step)
    guard isComputed else {
      try require(
        down.content().differences(from: before.content()), "checkUpDownUp", "back", advice: advice)
      return try require(
        again.content().differences(from: up.content()), "checkUpDownUp", "up again", advice: advice)
    }
    // What the step has left alone is what it was, whatever the way back computes; rows are there all the same.
    let kept = try NameTrail(migrations, from: step.number - 1, to: step.number).thereAndBack
    let comparison = try ContentComparison(
      before.content(), down.content(), names: kept, mayLose: mayLoseRows)
    let lost = try down.content().lostRows(of: before.content(), but: mayLoseRows)
    let others = comparison.differences.filter { !lost.contains($0) }
    try require(lost + others, "checkUpDownUp", "back", advice: advice)
    try await requireKept(before.content(), again.content(), "checkUpDownUp", "up again") {
      try await before.copiedFile()
    }
  }

  private static func advice(onWayBackOf step: MigrationStep) -> String {
    "What [up] of \(step.fileName) does, its [down] has to undo; without a [down] the way back follows from the operations. "
      + "What it deletes on purpose is allowed by lab.mayLoseRows."
  }

  /// Objects of the later model, on their way back.
  private func checkEntered(_ step: MigrationStep) async throws {
    let later = try await filledStore(at: .number(step.number))
    let down: LabStore
    do { down = try await later.migrate(to: .number(step.number - 1)) } catch StoreError.rowsRefused {
      return
    }
    let names = try NameTrail(migrations, from: step.number - 1, to: step.number)
    let (before, after) = (try later.content(), try down.content())
    let lost = names.entities.sorted { $0.key < $1.key }.compactMap { former, name -> String? in
      let (was, remained) = (before.objects[name] ?? [:], after.objects[former] ?? [:])
      guard was.count != remained.count, mayLoseRows.isDisjoint(with: [name, former]) else { return nil }
      let gone = was.keys.filter { remained[$0] == nil }
      return
        "\(former): \(remained.count) of \(was.count) rows are left that were made after the step"
        + (gone.isEmpty ? "" : "; \(StoreContent.listed(gone)) \(gone.count == 1 ? "is" : "are") gone")
    }
    try require(
      lost, "checkUpDownUp", "back, with objects made after the step",
      advice: Self.advice(onWayBackOf: step))
  }
}

extension MigrationOperation {
  /// Whether its author's SQL or Swift writes rows, or it makes objects, which get other ids the second time.
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
  /// The entities of which objects are gone.
  fileprivate func lostRows(of before: StoreContent, but mayLose: Set<String>) -> [String] {
    before.objects.sorted { $0.key < $1.key }.compactMap { entity, rows in
      if mayLose.contains(entity) { return nil }
      let gone = rows.keys.filter { objects[entity]?[$0] == nil }
      return gone.isEmpty
        ? nil
        : "\(entity): \(gone.count) of \(counted(rows.count, "row")) \(gone.count == 1 ? "is" : "are") gone "
          + "(\(Self.listed(gone)))"
    }
  }
}
