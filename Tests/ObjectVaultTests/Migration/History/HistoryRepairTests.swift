// Repair: an edited step is recorded as it is now, if the model stays the same. Nothing else changes.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HistoryRepairs {
  static let steps = [
    "create entity A {\n attribute n string\n}",
    "add attribute A.m int default 0\ntransform sql { UPDATE $A SET $A.m = 1 }", "add index A(n)",
  ]
  /// The same steps, with another transform in the second one.
  static let edited = [
    steps[0], "add attribute A.m int default 0\ntransform sql { UPDATE $A SET $A.m = 2 }", steps[2],
  ]

  private func content(_ lab: DowngradeLab) throws -> [[SQLValue]] {
    try lab.rows("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'vault_%' ORDER BY name")
      + lab.rows("SELECT * FROM A")
      + lab.rows("SELECT key, value FROM vault_meta WHERE key <> 'standing' ORDER BY key")
  }

  @Test func `repair records an edited step as it is now, and keeps the former record`() async throws {
    let lab = try await DowngradeLab(Self.steps, at: 3, fill: ["INSERT INTO A(id, n, m) VALUES (4, 'x', 7)"])
    let set = try DowngradeLab.set(Self.edited)
    await #expect(throws: StoreError.self) {
      try await Store.plan(at: lab.url, key: testKey, migrations: set)
    }
    let before = try content(lab)
    let plan = try await Store.planRepair(at: lab.url, key: testKey, steps: [1, 2, 2], migrations: set)
    #expect(
      plan.steps.map(\.number) == [2] && plan.steps[0].difference.count == 2
        && plan.steps[0].formerChecksum == lab.set.steps[1].checksum
        && plan.steps[0].checksum == set.steps[1].checksum, "\(plan)")
    #expect(try await Store.history(at: lab.url, key: testKey).count == 3)
    let done = try await Store.repair(at: lab.url, key: testKey, steps: [1, 2, 2], migrations: set)
    #expect(done == plan)
    #expect(try content(lab) == before)
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: set).isUpToDate)
    // Now the former file counts as edited.
    await #expect(throws: StoreError.self) {
      try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    }
    let events = try await Store.history(at: lab.url, key: testKey)
    #expect(
      events.map { "\($0.kind) \($0.number)" } == ["created 1", "created 2", "created 3", "repaired 2"])
    #expect(
      events[1].checksum == lab.set.steps[1].checksum && events[3].checksum == set.steps[1].checksum
        && events[3].date.hasSuffix("Z"))
    #expect(try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: set).steps.isEmpty)
  }

  @Test func `the history lists repairs in order, between ups and downs`() async throws {
    let lab = try await DowngradeLab(Self.steps, at: 2)
    let other = try DowngradeLab.set(Self.edited)
    try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: other)
    try await Store.migrate(at: lab.url, key: testKey, migrations: other)
    try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: lab.set)
    try await lab.down(2)
    try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: other)
    try await Store.migrate(at: lab.url, key: testKey, migrations: other)
    let events = try await Store.history(at: lab.url, key: testKey)
    #expect(
      events.map { "\($0.kind) \($0.number)" } == [
        "created 1", "created 2", "repaired 2", "up 3", "repaired 2", "down 3", "repaired 2", "up 3",
      ])
    let (first, second) = (lab.set.steps[1].checksum, other.steps[1].checksum)
    #expect(events.filter { $0.number == 2 }.map(\.checksum) == [first, second, first, second])
  }

  @Test func `repair refuses steps that result in another model, and reports the difference`() async throws {
    let lab = try await DowngradeLab(Self.steps, at: 3)
    let other = try DowngradeLab.set(
      [Self.steps[0].replacing("n string", with: "n string optional"), Self.steps[1], Self.steps[2]])
    let bytes = try Data(contentsOf: lab.url)
    await #expect {
      try await Store.repair(at: lab.url, key: testKey, steps: [1], migrations: other)
    } throws: { error in
      guard case StoreError.repairRefused(_, step: 1, let reason) = error else { return false }
      return reason.contains("A.n is \"n string optional indexed\"")
    }
    let broken = try DowngradeLab.set([
      Self.steps[0].replacing("n string", with: "k string"), Self.steps[1], Self.steps[2],
    ])
    await #expect {
      try await Store.repair(at: lab.url, key: testKey, steps: [1], migrations: broken)
    } throws: { "\($0)".contains("does not fit any more") }
    #expect(try Data(contentsOf: lab.url) == bytes)
  }

  @Test func `repair refuses steps that did not run or are missing, and edited steps not requested`()
    async throws
  {
    let lab = try await DowngradeLab(Self.steps, at: 2)
    let both = try DowngradeLab.set([
      Self.steps[0] + "\nrequire \"x\" { SELECT 1 }", Self.edited[1], Self.steps[2],
    ])
    for (numbers, set) in [([3], lab.set), ([0], lab.set), ([2], try lab.set.upTo(1))] {
      await #expect {
        try await Store.repair(at: lab.url, key: testKey, steps: numbers, migrations: set)
      } throws: { if case StoreError.repairRefused = $0 { true } else { false } }
    }
    await #expect {
      try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: both)
    } throws: {
      if case StoreError.historyConflict(.edited(number: 1, _, _, _, _)) = $0 { true } else { false }
    }
    try await Store.repair(at: lab.url, key: testKey, steps: [2, 1], migrations: both)
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: both).steps.map(\.number) == [3])
  }

  @Test func `a repaired step is rolled back in its repaired form`() async throws {
    let lab = try await DowngradeLab(
      [
        "create entity A {\n attribute n string\n}",
        "add attribute A.m int optional\n[down]\nirreversible \"no\"",
      ]
      .map { $0.contains("[down]") ? "[up]\n\($0)" : $0 }, at: 2)
    let set = try DowngradeLab.set([
      Self.steps[0], "[up]\nadd attribute A.m int optional\nrequire \"so\" { SELECT 1 }",
    ])
    try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: set)
    // Without files, because the store carries the rollback.
    try await Store.downgrade(
      at: lab.url, key: testKey, to: 1, migrations: MigrationSet([]), makesBackups: false, allowing: ["A.m"])
    #expect(try await Store.history(at: lab.url, key: testKey).map { "\($0.kind)" }.last == "down")
  }
}
