// Random pairs of models with generated objects: the proposed step, written and parsed again, runs in a
// store. It keeps what it does not declare as lost, makes the tables of a new store, and is rolled back
// where it can be. Or it refuses, and changes nothing. Renamings that the diff is given keep everything
// under the new names. VAULT_PAIRS makes the tests longer.

import CipherSQLite
import Foundation
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

@Suite(.tags(.random, .slow)) struct RandomSteps {
  /// The outcomes of the pairs, so that a test can require each of them.
  struct Tally {
    var migrated = 0
    var refused = 0
    var back = 0
  }

  @Test func `a random step keeps the objects or refuses to run`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 1919)
    let count = pairCount(short: 20)
    var random = SeededGenerator(seed: seed)
    var tally = Tally()
    for round in 0..<count {
      let old = RandomSchemas.schema(&random)
      let new = RandomSchemas.changed(old, &random)
      guard old != new else { continue }
      do { try await Self.check(from: old, to: new, &tally) } catch {
        Issue.record("seed \(seed), round \(round): \(error)\n\(old.json)\n\(new.json)")
        return
      }
    }
    #expect(tally.migrated > count / 3 && tally.refused > 0 && tally.back > 0, "\(tally)")
  }

  @Test func `a random step of entities with parents keeps the objects or refuses to run`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 1222)
    let count = pairCount(short: 12)
    var random = SeededGenerator(seed: seed)
    var tally = Tally()
    for round in 0..<count {
      let old = RandomSchemas.hierarchies(&random)
      let new = RandomSchemas.changedHierarchies(old, &random)
      guard old != new, old.hasHierarchies || new.hasHierarchies else { continue }
      do { try await Self.check(from: old, to: new, &tally) } catch {
        Issue.record("seed \(seed), round \(round): \(error)\n\(old.json)\n\(new.json)")
        return
      }
    }
    #expect(tally.migrated > count / 8 && tally.refused > 0 && tally.back > 0, "\(tally)")
  }

  @Test(arguments: [false, true])
  func `a random operation that replaces several keeps the objects or refuses to run`(_ hasParents: Bool)
    async throws
  {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 2024)
    let count = pairCount(short: 14)
    var random = SeededGenerator(seed: seed)
    var tally = Tally()
    for round in 0..<count {
      let schema = hasParents ? RandomSchemas.hierarchies(&random) : RandomSchemas.schema(&random)
      let lines = RandomOperations.lines(schema, round, &random)
      guard !lines.isEmpty else { continue }
      let first = try MigrationSet.creating(schema)
      // Operations that do not fit the model are refused before anything runs.
      guard let step = try? Self.step(lines, first) else { continue }
      do { try await Self.check(schema, first, step, &tally) } catch {
        Issue.record(
          "seed \(seed), round \(round): \(error)\n\(lines.joined(separator: "\n"))\n\(schema.json)")
        return
      }
    }
    #expect(tally.migrated > count / (hasParents ? 8 : 5) && tally.back > 0, "\(tally)")
  }

  @Test(arguments: [false, true])
  func `a random renaming that the diff is given keeps everything under the new names`(_ hasParents: Bool)
    async throws
  {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 3107)
    let count = pairCount(short: 10)
    var random = SeededGenerator(seed: seed)
    var (tally, kinds) = (Tally(), Set<RandomRenaming.Kind>())
    // As many as necessary until each kind of renaming occurred.
    let hasAll = { hasParents || kinds == Set(RandomRenaming.Kind.allCases) }
    for round in 0..<max(count, 24) where round < count || !hasAll() || tally.back == 0 {
      let schema = hasParents ? RandomSchemas.hierarchies(&random) : RandomSchemas.schema(&random)
      let change = RandomRenaming(schema, &random)
      guard change.old != change.new else { continue }
      kinds.formUnion(change.kinds)
      do {
        let first = try MigrationSet.creating(change.old)
        let proposal = try first.proposal(for: change.new, renaming: change.renaming)
        // Without removals there are no losses.
        #expect(!change.gone.isEmpty || proposal.losses == [], "\(proposal.lines)")
        let step = try Self.step(proposal)
        let set = try MigrationSet(first.steps + [step])
        #expect(try set.proposal(for: change.new).lines == [])
        try await Self.check(change.old, first, step, &tally)
        try await Self.checkNames(change, set)
      } catch {
        Issue.record(
          "seed \(seed), round \(round): \(error)\n\(change.old.json)\n\(change.new.json)\n\(change.renaming)"
        )
        return
      }
    }
    // Renamings are never refused because of rows.
    #expect(tally.migrated > count / 2 && tally.refused == 0 && tally.back > 0, "\(tally)")
    #expect(hasAll(), "\(kinds)")
  }

  /// Checks that all values and links are under the new names: read by SQL, and as objects.
  static func checkNames(_ change: RandomRenaming, _ set: MigrationSet) async throws {
    let (lab, old) = (try MigrationLab(set), change.old)
    let former = try await lab.filledStore(at: 1)
    let migrated = try await former.migrate()
    let (before, after) = (try former.content(), try migrated.content())
    for entity in old.entities {
      let (name, names) = (change.entityNames[entity.name] ?? "", change.propertyNames(of: entity.name))
      // Descendants have what an entity declares.
      for owner in [entity] + old.descendants(of: entity) {
        let (rows, now) = (
          before.objects[owner.name] ?? [:], after.objects[change.entityNames[owner.name] ?? ""] ?? [:]
        )
        #expect(rows.keys.sorted() == now.keys.sorted(), "\(owner.name)")
        for attribute in entity.attributes {
          let new = try #require(names[attribute.name])
          #expect(
            rows.mapValues { $0[attribute.name] } == now.mapValues { $0[new] }, "\(entity.name).\(new)")
        }
      }
      let (objects, found) = (try former.objects(entity.name), try migrated.objects(name))
      for relationship in entity.relationships
      where !change.gone.contains("\(entity.name).\(relationship.name)")
        && !liesElsewhere(relationship, change)
      {
        let new = try #require(names[relationship.name])
        let (were, are) = (
          try members(relationship.name, of: objects), try members(new, of: found)
        )
        #expect(
          were == are,
          "\(entity.name).\(relationship.name), now \(new): \(were) and \(are) by\n\(set.steps[1].text)\n\(old.json)"
        )
      }
    }
  }

  /// Whether the links of a to-many were the values of its inverse to-one, which is removed: that loss
  /// includes them.
  private static func liesElsewhere(_ relationship: RelationshipDescription, _ change: RandomRenaming) -> Bool
  {
    guard relationship.isToMany, let inverse = relationship.inverse else { return false }
    let other = change.old.entity(named: relationship.destination)?.relationship(named: inverse)
    return other?.isToMany == false && change.gone.contains("\(relationship.destination).\(inverse)")
  }

  /// The ids of the objects to which a relationship refers, by the ids of their owners.
  private static func members(_ name: String, of objects: [LabObject]) throws -> [Int64: [Int64]] {
    try objects.reduce(into: [:]) { members, object in
      let isToMany = object.object.entityDescription?.relationship(named: name)?.isToMany
      members[object.id.rowID] =
        try isToMany == true
        ? object[toMany: name].map(\.id.rowID) : [object[toOne: name]?.id.rowID].compactMap { $0 }
    }
  }

  private static func step(_ proposal: MigrationProposal) throws -> MigrationStep {
    let allowed =
      proposal.losses.isEmpty
      ? "" : "allow: \(proposal.losses.map { "lossy:\($0)" }.joined(separator: ", "))\n"
    return try MigrationStep(
      number: 2, name: "change",
      text: "format: 1\n\(allowed)[up]\n\(proposal.lines.joined(separator: "\n"))\n")
  }

  private static func step(_ lines: [String], _ first: MigrationSet) throws -> MigrationStep {
    let draft = try MigrationStep(
      number: 2, name: "change", text: "format: 1\n[up]\n\(lines.joined(separator: "\n"))\n")
    let losses = try MigrationSet(first.steps + [draft]).losses(ofStep: 2)
    let allowed = losses.isEmpty ? "" : "allow: \(losses.map { "lossy:\($0)" }.joined(separator: ", "))\n"
    return try MigrationStep(
      number: 2, name: "change", text: "format: 1\n\(allowed)[up]\n\(lines.joined(separator: "\n"))\n")
  }

  private static func check(from old: Schema, to new: Schema, _ tally: inout Tally) async throws {
    let first = try MigrationSet.creating(old)
    try await check(old, first, step(first.proposal(for: new)), &tally)
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
      // A unique index or a required property rejects rows. The file is unchanged.
      tally.refused += 1
      #expect(try store.content() == before)
      return
    } catch StoreError.migrationFailed(_, _, let operation, let reason) where operation.contains("retype") {
      // A draft of an expression, which a person would review.
      #expect(reason.contains(" invalid (expected: "), "\(reason)")
      tally.refused += 1
      #expect(try store.content() == before)
      return
    }
    try await lab.checkPath(from: 1)
    try await lab.checkCreatedEqualsMigrated()
    guard case .operations = try step.rollback(from: old) else { return }
    do { try await lab.checkUpDownUp() } catch let failure as CheckFailure
      where "\(failure)".contains("retype ") && "\(failure)".contains(" invalid (expected: ")
    {
      // Numbers that were generated for the wider type need not fit the former one.
      tally.refused += 1
      return
    }
    tally.back += 1
  }
}
