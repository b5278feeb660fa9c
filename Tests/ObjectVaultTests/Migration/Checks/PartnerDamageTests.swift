// Steps over a one-to-one whose ends said different things before.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing

@Suite struct PartnerDamage {
  private static let pairs =
    Partners.teams + "\n" + Partners.pair + """

      add relationship Team.coach -> User inverse User.trains
      add relationship User.trains -> Team inverse Team.coach
      """
  /// Three teams whose captain leads nobody, which is damage; and one that is whole.
  private static let damaged =
    Partners.rows + [
      "UPDATE Team SET captain_id = 1 WHERE id < 3", "UPDATE Team SET coach_id = 4 WHERE id = 3",
      "UPDATE User SET trains_id = 3 WHERE id = 4",
    ]

  @Test
  func `damage that was there is let be under its new name, and damage that is dropped makes room for none`()
    async throws
  {
    // Of what stays the number is known by its new name.
    let kept = try await DowngradeLab(
      [Self.pairs, "rename relationship Team.captain -> head\nadd attribute Team.n int optional"], at: 1,
      fill: Self.damaged)
    #expect(try await Store.migrate(at: kept.url, key: testKey, migrations: kept.set).steps == [2])
    // What goes is no reason to let as much go wrong elsewhere.
    let said = try await Partners.refusal(
      [
        Self.pairs,
        """
        allow: lossy:Team.captain lossy:User.leads
        [up]
        drop relationship Team.captain
        drop relationship User.leads
        rename relationship Team.coach -> trainer
        transform sql { UPDATE $Team SET $Team.trainer = 2 WHERE $Team.id = 1 }
        """,
      ], at: 1, fill: Self.damaged)
    #expect(said.contains("1 of 2 values of Team.trainer is not returned by User.trains: row 1"), "\(said)")
  }

  @Test(arguments: [("", nil), (", (2, 'l', 2)", "2 of 4 values of League.head")])
  func `damage that one merge brought along is let be behind the next one, and no more than it`(
    _ more: String, _ refusal: String?
  ) async throws {
    // Two teams are led by one user: the one pair that there is says so of one of them.
    let fill =
      Partners.rows + [
        "UPDATE Team SET captain_id = 1 WHERE id < 3", "UPDATE User SET leads_id = 1 WHERE id = 1",
        "INSERT INTO Club(id, name, chief_id) VALUES (1, 'k', 2)" + more,
      ]
    let steps = [
      Partners.teams + "\n" + Partners.pair + """

        create entity Club {
         attribute name string
         relationship chief -> User
        }
        create entity League {
         attribute name string
         relationship head -> User
        }
        """,
      "drop relationship User.leads\nmerge entity Team into Club with Team.captain -> Club.chief",
      "merge entity Club into League with Club.chief -> League.head",
      "add relationship User.leads -> League inverse League.head",
    ]
    let lab = try await DowngradeLab(steps, at: 1, fill: fill)
    do {
      let outcome = try await Store.migrate(
        at: lab.url, key: testKey, migrations: lab.set, allowing: ["lossy:User.leads", "User.leads"])
      #expect(outcome.steps == [2, 3, 4] && refusal == nil)
    } catch StoreError.rowsRefused(4, _, _, let reason) {
      #expect(reason.contains(refusal ?? "nothing"), "\(reason)")
    }
  }

  @Test func `what one pair is mended by is no room for damage in another one`() async throws {
    let other = """
      add relationship Team.coach -> User inverse User.coaches
      add relationship User.coaches -> Team inverse Team.coach
      """
    let damaged = Partners.rows + ["UPDATE Team SET captain_id = 1 WHERE id = 1"]
    let swap =
      "transform sql { UPDATE $Team SET $Team.captain = NULL; UPDATE $Team SET $Team.coach = 2 WHERE $Team.id = 2 }"
    let said = try await Partners.refusal(
      [Partners.teams + "\n" + Partners.pair + "\n" + other, swap], fill: damaged)
    #expect(said.contains("Team.coach"), "\(said)")
  }

  @Test func `damage that was there before blocks no step, but more of it does`() async throws {
    let damaged = Partners.rows + ["UPDATE Team SET captain_id = 1 WHERE id = 1"]
    let steps = [
      Partners.teams + "\n" + Partners.pair,
      "rename relationship Team.captain -> boss\ntransform sql { UPDATE $Team SET $Team.name = 'n' }",
    ]
    let lab = try await DowngradeLab(steps, fill: damaged)
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set).steps == [2])
    let more = "transform sql { UPDATE $Team SET $Team.captain = 2 WHERE $Team.id = 2 }"
    #expect(try await Partners.refusal([steps[0], more], fill: damaged).contains("Team.captain"))
  }
}
