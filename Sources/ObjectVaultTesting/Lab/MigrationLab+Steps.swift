// Step by step: what a rebuilt table does to the rows that refer to it, and there and back again.

internal import Foundation
internal import ObjectVault

extension MigrationLab {
  /// For each step that writes a table anew: the rows that refer to it are there afterwards, and refer to the same ones.
  ///
  /// A table is written anew by dropping it, and dropping it deletes what cascades from it unless somebody sees to that; in
  /// an empty store nobody notices. Here each relationship leads somewhere that can.
  /// - Throws: ``CheckFailure`` with the step and the rows that are gone.
  public func checkCascades() async throws {
    for step in migrations.steps.dropFirst() {
      let place = "step \(step.number) \(step.name)"
      try await run("checkCascades", place) {
        let old = try await filledStore(at: .number(step.number - 1), links: .all)
        let plan = try await Store.plan(at: old.url, key: key, migrations: steps(upTo: step.number))
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

  /// For each step that has a way back: up, back and up again, with made-up objects. What was there is there after the way
  /// back, and after the second time up what was there after the first.
  ///
  /// Of a way back that its author wrote with SQL, rows are compared and not values, as these are what the author
  /// makes of them. Irreversible steps are left out.
  /// - Throws: ``CheckFailure`` with the step.
  public func checkUpDownUp() async throws {
    for step in migrations.steps.dropFirst() {
      let model = try migrations.model(at: step.number - 1)
      guard case .operations(let back) = try step.wayBack(from: model) else { continue }
      let place = "step \(step.number) \(step.name)"
      try await run("checkUpDownUp", place) {
        let before = try await filledStore(at: .number(step.number - 1))
        let up = try await before.migrate(to: .number(step.number))
        let chain = try rounds(step, back)
        let down = try await roundTrip(up, chain, to: step.number + 1)
        let isComputed = back.contains { if case .transform = $0 { true } else { false } }
        try require(
          down.kept(since: before.content(), comparesValues: !isComputed), "checkUpDownUp", "\(place), back")
        let again = try await roundTrip(up, chain, to: step.number + 2)
        try require(
          again.kept(since: up.content(), comparesValues: !isComputed), "checkUpDownUp",
          "\(place), up again")
      }
    }
  }

  /// The steps, then the way back of the last and the last again, as steps of their own.
  private func rounds(_ step: MigrationStep, _ back: [MigrationOperation]) throws -> MigrationSet {
    var steps = Array(migrations.steps.prefix(step.number))
    for operations in [back, step.operations] {
      let number = steps.count + 1
      func made(allowing losses: [String]) throws -> MigrationStep {
        let allow = losses.isEmpty ? "" : "allow: \(losses.map { "lossy:\($0)" }.joined(separator: ", "))\n"
        return try MigrationStep(
          number: number, name: "round_\(number)",
          text: "format: 1\n\(allow)\n[up]\n" + operations.map(\.description).joined(separator: "\n") + "\n")
      }
      let losses = try MigrationSet(steps + [made(allowing: [])]).losses(ofStep: number)
      steps.append(try made(allowing: losses))
    }
    return try MigrationSet(steps)
  }

  private func roundTrip(_ store: LabStore, _ chain: MigrationSet, to version: Int) async throws
    -> StoreContent
  {
    let copy = try await store.copied()
    let file = copy.file(LabStore.fileName)
    _ = try await Store.migrate(
      at: file, key: key, migrations: MigrationSet(Array(chain.steps.prefix(version))), makesBackups: false)
    return try StoreContent(at: file, key: key)
  }
}

extension StoreContent {
  /// What of the objects before is not as it was.
  fileprivate func kept(since before: StoreContent, comparesValues: Bool) -> [String] {
    if comparesValues { return differences(from: before) }
    return before.objects.sorted { $0.key < $1.key }.compactMap { entity, rows in
      let gone = rows.keys.filter { objects[entity]?[$0] == nil }
      return gone.isEmpty ? nil : "\(entity): \(gone.count) of \(rows.count) rows are gone"
    }
  }
}
