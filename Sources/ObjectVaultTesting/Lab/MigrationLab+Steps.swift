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
        do { try requireKept(old.content(), new.content(), "checkCascades") } catch let error as CheckFailure
        {
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
    let place = "step \(step.number) \(step.name)"
    guard isComputed else {
      try require(down.content().differences(from: before.content()), "checkUpDownUp", "\(place), back")
      return try require(
        again.content().differences(from: up.content()), "checkUpDownUp", "\(place), up again")
    }
    let lost = try down.content().lostRows(of: before.content(), but: mayLoseRows)
    try require(lost, "checkUpDownUp", "\(place), back")
    // What the step has left alone is what it was, whatever the way back computes.
    let kept = try NameTrail(migrations, from: step.number - 1, to: step.number).thereAndBack
    let comparison = try ContentComparison(
      before.content(), down.content(), names: kept, mayLose: mayLoseRows)
    try require(comparison.differences, "checkUpDownUp", "\(place), back")
    try requireKept(before.content(), again.content(), "checkUpDownUp")
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
      let (was, remained) = (before.count(of: name), after.count(of: former))
      return was == remained || mayLoseRows.contains(name) || mayLoseRows.contains(former)
        ? nil : "\(former): \(remained) of \(was) rows are left that were made after the step"
    }
    try require(lost, "checkUpDownUp", "step \(step.number) \(step.name), back")
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
        : "\(entity): \(gone.count) of \(counted(rows.count, "row")) \(gone.count == 1 ? "is" : "are") gone"
    }
  }
}
