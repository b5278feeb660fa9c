// Downgrades: the checks before them, the rollbacks that the store carries, and what is recorded.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Downgrades {
  static let first = "create entity A {\n attribute n string\n}"
  static let second = "[up]\nadd attribute A.city string default \"\"\nadd index A(n)"
  static let third = "[up]\nmake A.n optional\ncreate entity B {\n attribute n int\n}"

  private func lab(_ steps: String..., at version: Int) async throws -> DowngradeLab {
    try await DowngradeLab(steps, at: version, fill: ["INSERT INTO A(id, n) VALUES (1, 'x'), (4, 'y')"])
  }

  // MARK: Losses

  @Test func `the error for rows that a rollback rejects points to the step's [down] section`() async throws {
    let lab = try await DowngradeLab(
      ["create entity Thing {\n attribute name string\n}", "make Thing.name optional"], at: 2,
      fill: ["INSERT INTO Thing(id, name) VALUES (1, NULL)"])
    await #expect {
      try await lab.down(1)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.contains("this happened during the rollback: the step's [down] can define")
    }
  }

  @Test func `the error of a block that fails in a rollback states that direction`() async throws {
    let lab = try await lab(
      Self.first,
      "[up]\ntransform sql { UPDATE $A SET $A.n = 'z' }\n[down]\ntransform sql { UPDATE $A SET $A.n = abs(-9223372036854775807 - 1) }",
      at: 2)
    await #expect {
      try await lab.down(1)
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, "transform sql", let reason) = error else { return false }
      return reason.hasSuffix("; this happened during the rollback")
    }
    #expect(try lab.rows("SELECT n FROM A ORDER BY id") == [["x"], ["y"]])
  }

  @Test func `a lossy downgrade is refused until its losses are allowed, and makes a copy first`()
    async throws
  {
    let lab = try await lab(Self.first, Self.second, at: 2)
    try lab.run("UPDATE A SET city = 'Bonn' WHERE id = 1")
    let before = try lab.folder.bytes("lab.store")
    await #expect(throws: StoreError.rollbackLoses(step: 2, name: "s2", losses: ["A.city"])) {
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    }
    #expect(try lab.folder.bytes("lab.store") == before && lab.folder.names == ["lab.store"])
    let outcome = try await Store.downgrade(
      at: lab.url, key: testKey, to: 1, migrations: lab.set, allowing: ["A.city"])
    #expect(outcome.takenBack == [2] && outcome.steps.isEmpty)
    #expect(try lab.rows("SELECT * FROM A") == [[1, 1, "x"], [4, 1, "y"]])
    // The copy is the store of before, under its key.
    let copy = try Connection.open(#require(outcome.backup).path, key: testKey)
    #expect(try copy.rows("SELECT id, city FROM A") == [[1, "Bonn"], [4, ""]] && copy.userVersion() == 2)
  }

  @Test func `the losses that a step allows are not allowed for its rollback`() async throws {
    let lab = try await lab(
      Self.first,
      "allow: lossy:A.n\n[up]\nadd attribute A.m string default \"\"\ndrop attribute A.n\n"
        + "[down]\nadd attribute A.n string default \"\"\nset default of A.n to none\ndrop attribute A.m",
      at: 1)
    try await lab.up()
    await #expect(throws: StoreError.rollbackLoses(step: 2, name: "s2", losses: ["A.m"])) {
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    }
  }

  @Test func `a downgrade plan lists steps, losses and rejected rows, and changes no byte`() async throws {
    let lab = try await lab(Self.first, Self.second, Self.third, at: 3)
    try lab.run("UPDATE A SET n = NULL WHERE id = 4")
    let before = try lab.folder.bytes("lab.store")
    let plan = try await Store.planDowngrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    #expect(plan.steps.map(\.number) == [3, 2] && plan.steps.allSatisfy(\.isRollback))
    #expect(plan.storeVersion == 3 && plan.targetVersion == 1 && plan.makesBackup)
    #expect(plan.unallowedLosses == ["B", "A.city"])
    #expect(plan.refusals.map(\.rows) == [[4]] && plan.refusals.first?.rule == .required)
    #expect(plan.steps[1].operations == ["drop index A(n)", "drop attribute A.city"])
    #expect(try lab.folder.bytes("lab.store") == before && lab.folder.names == ["lab.store"])
    await #expect {
      try await lab.down(1)
    } throws: { error in
      guard case StoreError.rowsRefused(3, "s3", "make A.n required", let reason) = error else {
        return false
      }
      return reason.contains("row 4")
    }
    #expect(try lab.version == 3 && lab.rows("SELECT count(*) FROM vault_migrations") == [[3]])
    #expect(!lab.folder.names.contains { $0.contains("backup") })
  }

  @Test func `ids stay issued when their entity is dropped and created again`() async throws {
    let lab = try await lab(Self.first, Self.third, at: 2)
    try lab.run("INSERT INTO B(id, n) VALUES (77, 1)")
    try await lab.down(1)
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'B'") == [[77]])
    try await lab.up()
    let store = try await Store.open(at: lab.url, key: testKey)
    defer { store.close() }
    let id = try await store.write { context in
      let object = try context.insert(entity: "B") { try $0.set("n", to: 5) }
      try context.save()
      return object.id.rowID
    }
    #expect(id == 78)
  }

  // MARK: Missing rollbacks

  @Test func `an irreversible step is refused with its author's reason, from the file and from the store`()
    async throws
  {
    let lab = try await lab(
      Self.first, "[up]\nadd index A(n)\n[down]\nirreversible \"it took \\\"days\\\"\"",
      "add index A(n) unique", at: 3)
    for steps in [lab.set, try MigrationSet.empty, try lab.set.upTo(1)] {
      await #expect(throws: StoreError.cannotRollBack(step: 2, name: "s2", reason: "it took \"days\"")) {
        try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: steps)
      }
      #expect(try lab.version == 3)
    }
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.irreversible == [2: "it took \"days\""])
    // The step after it can be rolled back.
    #expect(try await lab.down(2).takenBack == [3])
    let wrong = try DowngradeLab.set([Self.first, "[up]\nadd index A(n)\n[down]\nadd attribute A.more int"])
    await #expect(
      throws: StoreError.cannotRollBack(
        step: 2, name: "s2",
        reason:
          "its [down] section does not restore the model before the step; correct [down] in its file, which "
          + "does not change the checksum of the step"
      )
    ) { try await lab.down(1, wrong) }
    // A [down] section that is added later leaves the checksum unchanged.
    let better = try DowngradeLab.set([Self.first, "[up]\nadd index A(n)\n[down]\ndrop index A(n)"])
    #expect(try await lab.down(1, better).takenBack == [2])
  }

  @Test func `without a carried rollback, a downgrade uses the rollback in the step's file`() async throws {
    let lab = try await lab(Self.first, Self.second, at: 2)
    try lab.run("UPDATE vault_migrations SET down = NULL")
    await #expect {
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set.upTo(1))
    } throws: { error in
      guard case StoreError.cannotRollBack(2, "s2", let reason) = error else { return false }
      return reason.contains("an earlier release ran it") && reason.contains("files of the steps")
    }
    #expect(try await lab.down(1).takenBack == [2])
  }

  @Test func `a carried rollback that cannot be parsed is reported as damage, with its row`() async throws {
    let lab = try await lab(Self.first, Self.second, at: 2)
    try lab.run("UPDATE vault_migrations SET down = 'drop atribute A.city' WHERE version = 2")
    await #expect {
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set.upTo(1))
    } throws: { error in
      guard case StoreError.bookkeepingDamaged(_, "vault_migrations, row 2,", let reason) = error else {
        return false
      }
      return reason.contains("is not a valid step")
    }
  }

  @Test func `a step in a later release's language is no damage, and the error names that release`()
    async throws
  {
    let lab = try await lab(Self.first, Self.second, at: 2)
    let text = "fold attribute A.city"
    try lab.run(
      "UPDATE vault_migrations SET text = '\(text)', checksum = 's1:\(sha256(Data(text.utf8)))' WHERE version = 2"
    )
    await #expect {
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set.upTo(1))
    } throws: { error in
      guard case StoreError.cannotRollBack(2, "s2", let reason) = error else { return false }
      return reason.contains("this release cannot read") && reason.contains("or with a later one")
    }
    try lab.run("UPDATE vault_migrations SET text = 'fold attribute A.ci' WHERE version = 2")
    await #expect {
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set.upTo(1))
    } throws: { error in
      guard case StoreError.bookkeepingDamaged = error else { return false }
      return true
    }
  }

  @Test func `backup: always also applies to a rollback that the store carries`() async throws {
    for (rule, isMade) in [("always", true), ("auto", false)] {
      let lab = try await lab(Self.first, "backup: \(rule)\n[up]\nadd index A(n)", at: 1)
      try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set, makesBackups: false)
      let outcome = try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set.upTo(1))
      #expect(outcome.takenBack == [2] && (outcome.backup != nil) == isMade)
    }
  }

  // MARK: Newer stores

  @Test func `a newer store is downgraded by the rollbacks that it carries, and then opens`() async throws {
    let lab = try await lab(Self.first, Self.second, Self.third, at: 2)
    try await lab.up()
    let older = try lab.set.upTo(1)
    await #expect {
      _ = try await Store.plan(at: lab.url, key: testKey, migrations: older)
    } throws: { error in
      guard case StoreError.storeIsNewer(_, 3, 1, _, canDowngrade: true) = error else { return false }
      return "\(error)".contains(
        "roll the store back to 1 with the rollback that it carries (Store.downgrade)")
    }
    #expect(try await lab.down(1, older).takenBack == [3, 2])
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: older).isUpToDate)
    #expect(try lab.rows("SELECT value FROM vault_meta WHERE key = 'minReader'") == [[1]])
    #expect(try await lab.up().steps == [2, 3])
  }

  @Test func `a newer store without a rollback is refused with the advice to update the program`()
    async throws
  {
    let lab = try await lab(Self.first, "[up]\ndrop attribute A.n", at: 1)
    try await lab.up(allowing: ["A.n"])
    await #expect {
      _ = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set.upTo(1))
    } throws: { error in
      guard case StoreError.storeIsNewer(_, 2, 1, _, canDowngrade: false) = error else { return false }
      return "\(error)".hasSuffix("Update the program.")
    }
  }

  @Test func `a downgrade respects the reader version that a remaining step declares`() async throws {
    let lab = try await lab(
      Self.first, "reader: 1\n[up]\nadd index A(n)", "[up]\nadd index A(n) unique", at: 3)
    #expect(try lab.rows("SELECT value FROM vault_meta WHERE key = 'minReader'") == [[3]])
    try await lab.down(2)
    #expect(try lab.rows("SELECT value FROM vault_meta WHERE key = 'minReader'") == [[1]])
    // Without the files that version is unknown, and the store requires more than necessary.
    let other = try await self.lab(
      Self.first, "reader: 1\n[up]\nadd index A(n)", "[up]\nadd index A(n) unique", at: 3)
    try await other.down(2, try MigrationSet.empty)
    #expect(try other.rows("SELECT value FROM vault_meta WHERE key = 'minReader'") == [[2]])
  }

  // MARK: Other processes

  @Test func `an open store reports a downgrade at its next read and at its next write`() async throws {
    let lab = try await lab(Self.first, Self.second, at: 2)
    let store = try await Store.open(at: lab.url, key: testKey)
    defer { store.close() }
    try await lab.down(1)
    await #expect(throws: StoreError.storeMigratedElsewhere(file: lab.url.path)) {
      try await store.read { try $0.fetch(entity: "A").all().count }
    }
    await #expect(throws: StoreError.storeMigratedElsewhere(file: lab.url.path)) {
      try await store.write { _ = try $0.insert(entity: "A") }
    }
  }

  @Test func `of several concurrent downgrades one rolls back the step, and the others do nothing`()
    async throws
  {
    let lab = try await lab(Self.first, Self.second, at: 2)
    let (url, set) = (lab.url, lab.set)
    let outcomes = try await withThrowingTaskGroup(of: MigrationOutcome.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await Store.downgrade(
            at: url, key: testKey, to: 1, migrations: set, busyTimeout: 600, allowing: ["A.city"])
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.map(\.takenBack).sorted { $0.count < $1.count } == [[], [], [], [2]])
    #expect(try lab.version == 1 && lab.folder.names.count { $0.hasSuffix(".backup") } == 1)
  }

  @Test func `a cancelled downgrade leaves the version unchanged`() async throws {
    let lab = try await lab(Self.first, Self.second, at: 2)
    let progress = Progress(totalUnitCount: 1)
    progress.cancel()
    await #expect(throws: CancellationError.self) {
      try await Store.downgrade(
        at: lab.url, key: testKey, to: 1, migrations: lab.set, allowing: ["A.city"], progress: progress)
    }
    #expect(try lab.version == 2 && lab.folder.names == ["lab.store"])
  }

  @Test func `upTo returns the steps up to a version, and throws for a version that does not exist`() throws {
    let set = try DowngradeLab.set([Self.first, Self.second, Self.third])
    #expect(try set.upTo(2).steps == Array(set.steps[..<2]) && set.upTo(3) == set && set.upTo(0).version == 0)
    for version in [9, -1] {
      #expect(throws: StoreError.historyConflict(.noVersion(version, last: 3))) { try set.upTo(version) }
    }
    #expect("\(HistoryConflict.noVersion(9, last: 3))" == "There is no version 9: the steps end with 3.")
  }

  @Test func `downgrade and planDowngrade refuse a version below the first`() async throws {
    let lab = try await lab(Self.first, Self.second, at: 2)
    let expected = StoreError.historyConflict(.noVersion(-1, last: 2))
    await #expect(throws: expected) {
      try await Store.downgrade(at: lab.url, key: testKey, to: -1, migrations: lab.set)
    }
    await #expect(throws: expected) {
      try await Store.planDowngrade(at: lab.url, key: testKey, to: -1, migrations: lab.set)
    }
  }
}

extension MigrationSet {
  /// No steps: the set of a program that relies on what the store carries.
  fileprivate static var empty: MigrationSet { get throws { try MigrationSet([]) } }
}
