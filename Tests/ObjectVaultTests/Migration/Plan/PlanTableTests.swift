// What a plan reports of tables: a check depends only on the tables that its query names, and each rebuilt
// table is listed once.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PlanTables {
  static let base = """
    create entity Team {
        attribute title string
        relationship lead -> Person
    }
    create entity Being {
        attribute born int optional
    }
    create entity Person {
        attribute name string
    }
    create entity Place {
        attribute team string optional
    }
    """

  @Test func `a column with the name of a changed table does not prevent a check`() async throws {
    let lab = try await MigrationLab(
      Self.base, fill: ["INSERT INTO Place(id, team) VALUES (1, 'red'), (2, NULL)"])
    let steps = [Self.base, "rename attribute Team.title -> name", "make Place.team required"]
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set(steps))
    #expect(
      plan.steps.allSatisfy(\.unasked.isEmpty) && plan.refusals.map(\.rows) == [[2]],
      "\(plan.steps.flatMap(\.unasked))")
  }

  @Test func `a table that a step rebuilds twice is listed once`() async throws {
    let lab = try await MigrationLab(Self.base)
    let step = """
      retype Team.title to data using (CAST($Team.title AS BLOB))
      transform sql { UPDATE $Team SET $Team.title = x'00' }
      retype Team.title to string using (CAST($Team.title AS TEXT))
      """
    let set = try lab.set([Self.base, step])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.steps[0].rebuiltTables == ["Team"])
    let inspection = try Inspection(path: lab.url.path, key: testKey)
    let preview = try MigrationPreview(plan, of: inspection, with: set)
    #expect(preview.rebuilds.map { $0.map(\.table) } == [["Team"]])
    #expect(preview.rebuilds[0][0].operations.count == 2, "\(preview.rebuilds)")
  }

  @Test(arguments: [
    (
      "set delete rule of Team.users to cascade\nadd attribute User.x int optional", "User",
      ["set delete rule of Team.users to cascade"]
    ),
    (
      "make User.nick required filling \"\"\nadd attribute Team.x int optional", "User",
      ["make User.nick required filling \"\""]
    ),
    ("rename entity Team -> Club\nadd attribute Tag.x int optional", "User", ["rename entity Team -> Club"]),
    (
      "rename relationship Tag.teams -> clubs\nadd attribute Team.x int optional", "Tag_teams",
      ["rename relationship Tag.teams -> clubs"]
    ),
    (
      "drop relationship Tag.teams\nadd attribute User.x int optional", "Tag_teams",
      ["drop relationship Tag.teams"]
    ),
    (
      "make Tag.teams ordered\nmake Tag.teams unordered\nmake User.nick required filling \"\"", "User",
      ["make User.nick required filling \"\""]
    ),
  ])
  func `a rebuild is listed with the operations on the table or on the tables that it references`(
    _ step: String, _ table: String, _ operations: [String]
  ) async throws {
    let base = """
      create entity Team {
          relationship users -> User many inverse User.team
          relationship tags -> Tag many inverse Tag.teams
      }
      create entity User {
          attribute nick string optional
          relationship team -> Team inverse Team.users
      }
      create entity Tag {
          relationship teams -> Team many inverse Team.tags
      }
      """
    let lab = try await MigrationLab(base)
    let set = try lab.set([base, step])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    let inspection = try Inspection(path: lab.url.path, key: testKey)
    let rebuilds = try MigrationPreview(plan, of: inspection, with: set).rebuilds[0]
    #expect(rebuilds.map(\.table).contains(table), "\(rebuilds)")
    #expect(rebuilds.first { $0.table == table }?.operations == operations, "\(rebuilds)")
  }
}
