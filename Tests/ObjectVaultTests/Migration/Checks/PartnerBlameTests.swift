// Which step, and which of its operations, is named where the ends of a one-to-one would say different things.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing

@Suite struct PartnerBlame {
  @Test
  func
    `the step that pairs is blamed also where a later step changes something else`()
    async throws
  {
    let steps = [
      Partners.teams + "\nadd relationship Team.captain -> User",
      "add relationship User.leads -> Team inverse Team.captain", "add attribute User.n int optional",
    ]
    let lab = try await DowngradeLab(
      steps, at: 1, fill: Partners.rows + ["UPDATE Team SET captain_id = 4 WHERE id < 3"])
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation.hasPrefix("add relationship User.leads")
        && reason.contains("let one of them lead there before")
    }
    // What takes the other end away may be what parts them.
    let gone = try MigrationSet(
      lab.set.steps + [
        MigrationStep(
          number: 4, name: "s4",
          text: "format: 1\nallow: lossy:User.leads\n[up]\ndrop relationship User.leads\n")
      ])
    #expect(try await Store.rehearse(at: lab.url, key: testKey, migrations: gone).failure == nil)
  }

  @Test(arguments: [
    "rename relationship Team.captain -> head", "rename entity Team -> Crew",
    "transform sql { UPDATE $User SET $User.name = upper($User.name) }",
  ])
  func `a later step that only renames an end, or writes something else, is not blamed for a pair`(
    _ later: String
  ) async throws {
    let lab = try await DowngradeLab(
      [
        Partners.teams + "\nadd relationship Team.captain -> User",
        "add relationship User.leads -> Team inverse Team.captain", later,
      ], at: 1, fill: Partners.rows + ["UPDATE Team SET captain_id = 4 WHERE id < 3"])
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, _) = error else { return false }
      return operation.hasPrefix("add relationship User.leads")
    }
  }

  @Test func `a later block that writes an end is blamed for what it wrote`() async throws {
    let lab = try await DowngradeLab(
      [
        Partners.teams + "\nadd relationship Team.captain -> User",
        "add relationship User.leads -> Team inverse Team.captain",
        "transform sql { UPDATE $Team SET $Team.captain = 2 WHERE $Team.id = 3 }",
      ], at: 1, fill: Partners.rows)
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
    } throws: { error in
      guard case StoreError.migrationFailed(3, _, "transform sql", let reason) = error else { return false }
      return reason.contains("write both, as in")
    }
  }

  @Test func `within a step the block is blamed that writes behind the pairing, and not one before it`()
    async throws
  {
    let pairing = "add relationship User.leads -> Team inverse Team.captain"
    let writing = "transform sql { UPDATE $Team SET $Team.captain = 4 WHERE $Team.id < 3 }"
    let teams = Partners.teams + "\nadd relationship Team.captain -> User"
    // Two lead to one before there is a pair: rows that the pairing does not take.
    let before = try await DowngradeLab([teams, writing + "\n" + pairing], at: 1, fill: Partners.rows)
    await #expect {
      _ = try await Store.migrate(at: before.url, key: testKey, migrations: before.set)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation.hasPrefix("add relationship User.leads")
        && reason.contains("let one of them lead there before")
    }
    let behind = try await DowngradeLab([teams, pairing + "\n" + writing], at: 1, fill: Partners.rows)
    await #expect {
      _ = try await Store.migrate(at: behind.url, key: testKey, migrations: behind.set)
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, "transform sql", let reason) = error else { return false }
      return reason.contains("write both, as in")
    }
  }

  @Test func `on the way back the step that makes the pair is blamed, and not one that ran before it`()
    async throws
  {
    let back =
      "drop relationship User.leads\n[down]\nadd relationship User.leads -> Team inverse Team.captain"
    let late =
      "add attribute User.n int optional\n[down]\ntransform sql { UPDATE $Team SET $Team.captain = 4 }\ndrop attribute User.n"
    let lab = try await DowngradeLab(
      [
        Partners.teams
          + "\nadd relationship Team.captain -> User\nadd relationship User.leads -> Team inverse Team.captain",
        "\(back)", late,
      ], at: 3, fill: Partners.rows)
    await #expect {
      _ = try await Store.downgrade(
        at: lab.url, key: testKey, to: 1, migrations: lab.set, allowing: ["User.n"])
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.contains("no object is led to by two")
    }
  }
}
