// Random pairs of models with made-up objects: the proposed step, written and read back, runs in a store, keeps what it
// does not say it loses, makes the tables of a new store, and goes back where it can; or it refuses, and changes nothing.

import CipherSQLite
import Foundation
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

@Suite struct RandomSteps {
  /// What became of the pairs, so that a test sees that each of it happened.
  struct Tally {
    var migrated = 0
    var refused = 0
    var back = 0
  }

  @Test func `a random step keeps the objects or refuses to run`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 1919)
    let count = environment["VAULT_PAIRS"].flatMap { Int($0) } ?? 40
    var random = SeededGenerator(seed: seed)
    var tally = Tally()
    for round in 0..<count {
      let old = RandomSchemas.schema(&random)
      let new = RandomSchemas.changed(old, &random)
      guard old != new else { continue }
      do { try await Self.check(old, new, &tally) } catch {
        Issue.record("seed \(seed), round \(round): \(error)\n\(old.json)\n\(new.json)")
        return
      }
    }
    #expect(tally.migrated > count / 3 && tally.refused > 0 && tally.back > 0, "\(tally)")
  }

  @Test func `a random step of entities with parents keeps the objects or refuses to run`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 1222)
    let count = environment["VAULT_PAIRS"].flatMap { Int($0) } ?? 40
    var random = SeededGenerator(seed: seed)
    var tally = Tally()
    for round in 0..<count {
      let old = RandomSchemas.families(&random)
      let new = RandomSchemas.changedFamilies(old, &random)
      guard old != new, old.hasFamilies || new.hasFamilies else { continue }
      do { try await Self.check(old, new, &tally) } catch {
        Issue.record("seed \(seed), round \(round): \(error)\n\(old.json)\n\(new.json)")
        return
      }
    }
    #expect(tally.migrated > count / 8 && tally.refused > 0 && tally.back > 0, "\(tally)")
  }

  @Test(arguments: [false, true])
  func `a random operation that stands for others keeps the objects or refuses to run`(_ hasParents: Bool)
    async throws
  {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 2024)
    let count = environment["VAULT_PAIRS"].flatMap { Int($0) } ?? 42
    var random = SeededGenerator(seed: seed)
    var tally = Tally()
    for round in 0..<count {
      let schema = hasParents ? RandomSchemas.families(&random) : RandomSchemas.schema(&random)
      let lines = RandomOperations.lines(schema, round, &random)
      guard !lines.isEmpty else { continue }
      let first = try MigrationSet.creating(schema)
      // What does not fit the model is refused before anything runs.
      guard let step = try? Self.step(lines, first) else { continue }
      do { try await Self.check(schema, first, step, &tally) } catch {
        Issue.record(
          "seed \(seed), round \(round): \(error)\n\(lines.joined(separator: "\n"))\n\(schema.json)")
        return
      }
    }
    #expect(tally.migrated > count / (hasParents ? 8 : 5) && tally.back > 0, "\(tally)")
  }

  private static func step(_ lines: [String], _ first: MigrationSet) throws -> MigrationStep {
    let draft = try MigrationStep(
      number: 2, name: "change", text: "format: 1\n[up]\n\(lines.joined(separator: "\n"))\n")
    let losses = try MigrationSet(first.steps + [draft]).losses(ofStep: 2)
    let allowed = losses.isEmpty ? "" : "allow: \(losses.map { "lossy:\($0)" }.joined(separator: ", "))\n"
    return try MigrationStep(
      number: 2, name: "change", text: "format: 1\n\(allowed)[up]\n\(lines.joined(separator: "\n"))\n")
  }

  private static func check(_ old: Schema, _ new: Schema, _ tally: inout Tally) async throws {
    let first = try MigrationSet.creating(old)
    let proposal = try first.proposal(for: new)
    let allowed =
      proposal.losses.isEmpty
      ? "" : "allow: \(proposal.losses.map { "lossy:\($0)" }.joined(separator: ", "))\n"
    let step = try MigrationStep(
      number: 2, name: "change",
      text: "format: 1\n\(allowed)[up]\n\(proposal.lines.joined(separator: "\n"))\n")
    try await check(old, first, step, &tally)
  }

  static func check(
    _ old: Schema, _ first: MigrationSet, _ step: MigrationStep, _ tally: inout Tally
  ) async throws {
    let lab = try MigrationLab(MigrationSet(first.steps + [step]))
    let store = try await lab.filledStore(at: 1)
    let before = try store.content()
    do {
      let migrated = try await store.migrate()
      tally.migrated += 1
      #expect(try migrated.content().version == 2)
    } catch StoreError.rowsRefused {
      // What a unique index or a required property does not take; the file is as it was.
      tally.refused += 1
      #expect(try store.content() == before)
      return
    } catch StoreError.migrationFailed(_, _, let operation, let reason) where operation.contains("retype") {
      // A draft of an expression, which a person would have looked at.
      #expect((reason.contains("are no ") || reason.contains("is no ")), "\(reason)")
      tally.refused += 1
      return
    }
    try await lab.checkPath(from: 1)
    try await lab.checkCreatedEqualsMigrated()
    guard case .operations = try step.wayBack(from: old) else { return }
    do { try await lab.checkUpDownUp() } catch let failure as CheckFailure
      where "\(failure)".contains("retype ") && "\(failure)".contains(" are no ")
    {
      // Made up for the wider type, numbers need not fit the one that it was before.
      tally.refused += 1
      return
    }
    tally.back += 1
  }
}
