// The history of a store: every step that ran and every rollback, in order.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Histories {
  static let steps = ["create entity A {\n attribute n string\n}", "add index A(n)", "make A.n optional"]

  private func events(_ lab: DowngradeLab) async throws -> [String] {
    try await Store.history(at: lab.url, key: testKey).map { "\($0.kind) \($0.number)" }
  }

  @Test func `the history lists ups and downs in order`() async throws {
    let lab = try await DowngradeLab(Self.steps, at: 2)
    #expect(try await events(lab) == ["created 1", "created 2"])
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name = 'vault_undone'") == [[0]])
    try await lab.up()
    try await lab.down(1)
    try await lab.up(2)
    try await lab.down(1)
    try await lab.up()
    #expect(
      try await events(lab) == [
        "created 1", "created 2", "up 3", "down 3", "down 2", "up 2", "down 2", "up 2", "up 3",
      ])
    let event = try #require(try await Store.history(at: lab.url, key: testKey)[3...].first)
    #expect(event.name == "s3" && event.checksum == lab.set.steps[2].checksum && event.milliseconds >= 0)
    #expect(event.date.hasSuffix("Z") && !event.app.isEmpty && event.engine == "\(Engine.current)")
    // The history of a plan has only the steps that the store has now.
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(
      plan.history.map(\.number) == [1, 2, 3]
        && plan.history.map(\.kind) == ["created", "migration", "migration"])
  }

  /// Compares the history with a log of the ups and downs.
  @Test(arguments: 1...6)
  func `the history of random ups and downs is complete and in order`(_ seed: UInt64) async throws {
    var state = seed
    func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    let lab = try await DowngradeLab(Self.steps)
    var (expected, version) = (["created 1"], 1)
    for _ in 0..<8 {
      let target = next(4)
      if target > version {
        try await lab.up(target)
        expected += (version + 1...target).map { "up \($0)" }
      } else if target < version {
        try await lab.down(target)
        expected += (target + 1...version).reversed().map { "down \($0)" }
      }
      version = target
    }
    #expect(try await events(lab) == expected)
  }

  @Test func `redo rolls back the last steps and runs them again, in one transaction`() async throws {
    let lab = try await DowngradeLab(Self.steps, at: 3, fill: ["INSERT INTO A(id, n) VALUES (3, 'x')"])
    let before = try lab.image
    let generation = try lab.rows("SELECT value FROM vault_meta WHERE key = 'generation'")
    let outcome = try await Store.redo(at: lab.url, key: testKey, last: 2, migrations: lab.set)
    #expect(outcome.takenBack == [3, 2] && outcome.steps == [2, 3])
    #expect(try lab.image == before)
    #expect(
      try lab.rows("SELECT value FROM vault_meta WHERE key = 'generation'")[0][0].int64
        == (generation[0][0].int64 ?? 0) + 1)
    #expect(
      try await events(lab) == ["created 1", "created 2", "created 3", "down 3", "down 2", "up 2", "up 3"])
  }

  @Test func `redo rolls back an edited step as it ran, and runs it as it is now`() async throws {
    let lab = try await DowngradeLab(
      [Self.steps[0], "add attribute A.city string optional"], at: 2,
      fill: ["INSERT INTO A(id, n, city) VALUES (3, 'x', 'Bonn')"])
    let edited = try DowngradeLab.set([Self.steps[0], "add attribute A.town string default \"?\""])
    await #expect(throws: StoreError.self) {
      try await Store.migrate(at: lab.url, key: testKey, migrations: edited)
    }
    let plan = try await Store.planDowngrade(at: lab.url, key: testKey, to: 1, migrations: edited)
    #expect(plan.unallowedLosses == ["A.city"])
    try await Store.redo(at: lab.url, key: testKey, migrations: edited, allowing: ["A.city"])
    #expect(try lab.rows("SELECT n, town FROM A") == [["x", "?"]])
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: edited).isUpToDate)
    // A step that stays must not be edited.
    let other = try DowngradeLab.set(["create entity A {\n attribute m string\n}", Self.steps[1]])
    await #expect {
      try await Store.redo(at: lab.url, key: testKey, migrations: other, allowing: ["A.town"])
    } throws: { error in
      guard case StoreError.historyConflict(.edited(1, _, _, _, _)) = error else { return false }
      return true
    }
  }

  @Test func `a redo whose second half fails leaves the store unchanged`() async throws {
    let lab = try await DowngradeLab(
      Self.steps, at: 2, fill: ["INSERT INTO A(id, n) VALUES (1, 'x'), (2, 'x')"])
    let before = try lab.image
    let edited = try DowngradeLab.set([Self.steps[0], "add index A(n) unique"])
    await #expect(throws: StoreError.self) {
      try await Store.redo(at: lab.url, key: testKey, migrations: edited)
    }
    #expect(try lab.image == before && lab.version == 2)
    #expect(try await events(lab) == ["created 1", "created 2"])
  }

  @Test func `redo needs the steps that the store has run`() async throws {
    let lab = try await DowngradeLab(Self.steps, at: 3)
    await #expect {
      try await Store.redo(at: lab.url, key: testKey, migrations: lab.set.upTo(2))
    } throws: { error in
      guard case StoreError.storeIsNewer(_, 3, 2, _, canDowngrade: true) = error else { return false }
      return true
    }
  }
}
