// Steps whose relationships have only one end for a while, with an operation in between that needs the
// tables of that moment. Result and losses are the same as without that operation.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HalfwayModels {
  static let base = """
    create entity Animal {
        attribute name string
        attribute age int default 1
        relationship tags -> Tag many inverse Tag.animals
    }
    create entity Tag {
        attribute label string optional
        relationship animals -> Animal many inverse Animal.tags
    }
    create entity Toy {
        attribute label string optional
    }
    """
  static let fill = [
    "INSERT INTO Animal(id, name) VALUES (1, 'a'), (2, 'b')", "INSERT INTO Tag(id) VALUES (1), (2), (3)",
    "INSERT INTO Animal_tags(Animal_id, Tag_id) VALUES (1, 1), (1, 2), (2, 3)",
  ]
  /// Operations that need the tables of the lines before them.
  static let cuts = [
    "", "transform sql { UPDATE $Animal SET $Animal.age = 5 }", "require \"x\" { SELECT 1 }",
    "create entity Base {\n attribute label string optional\n}\nset parent of Toy to Base",
  ]

  private let lab: MigrationLab

  init() async throws { lab = try await MigrationLab(Self.base, fill: Self.fill) }

  private func check(_ step: String, losses: [String], links: Int) async throws {
    let set = try lab.set([Self.base, step])
    #expect(try set.losses(ofStep: 2) == losses)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.losses == losses && plan.refusals.isEmpty)
    try await lab.migrate(step)
    #expect(try lab.isSound())
    #expect(try lab.rows("SELECT count(*) FROM Animal_tags") == [[.integer(Int64(links))]])
    #expect(try lab.rows("SELECT id, name FROM Animal ORDER BY id") == [[1, "a"], [2, "b"]])
    // A store that is created from the steps has the same tables.
    let made = lab.folder.url.appendingPathComponent("made.store")
    try await Store.create(at: made, key: testKey, migrations: set)
    let connection = try Connection.open(made.path, key: testKey)
    let sql = "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
    #expect(try connection.rows(sql: sql) == lab.rows(sql))
    connection.close()
  }

  @Test(arguments: cuts)
  func `an inverse that is used before it is free gets a join table of its own`(_ cut: String) async throws {
    try await check(
      """
      create entity E1 {
          attribute label string optional
          relationship animals -> Animal many inverse Animal.tags
      }
      \(cut)
      drop relationship Animal.tags
      drop relationship Tag.animals
      add relationship Animal.tags -> E1 many inverse E1.animals
      """, losses: ["Animal.tags"], links: 0)
  }

  @Test(arguments: cuts)
  func `links are lost, whatever stands between the new end and the old ones`(_ cut: String) async throws {
    try await check(
      """
      add relationship Tag.beasts -> Animal many inverse Animal.tags
      \(cut)
      drop relationship Animal.tags
      drop relationship Tag.animals
      add relationship Animal.tags -> Tag many inverse Tag.beasts
      """, losses: ["Animal.tags"], links: 0)
  }

  @Test(arguments: cuts)
  func `a relationship that the step itself makes is no loss`(_ cut: String) async throws {
    try await check(
      """
      create entity E1 {
          relationship z -> E2 many ordered inverse E2.y
      }
      \(cut)
      create entity E2 {
          relationship y -> E1 inverse E1.z
      }
      """, losses: [], links: 3)
  }

  @Test(arguments: [
    "create entity E1 {\n relationship zs -> Animal many inverse Animal.nope\n}\n%\n"
      + "add relationship Animal.nope -> E1 many inverse E1.zs",
    "create entity E1 {\n relationship z -> E2 inverse E2.y\n}\n%\n"
      + "create entity E2 {\n relationship y -> E1 inverse E1.z\n}",
  ])
  func `a function on objects is refused while a relationship has only one end`(_ step: String) async throws {
    let call = "transform swift f on Animal batch 500"
    let set = try lab.set([Self.base, step.replacing("%", with: call)])
    let faults = try set.compileFaults()
    #expect(
      faults.count == 1 && faults[0].contains("E1.z")
        && faults[0].contains("\"\(call)\": the model is incomplete"),
      "\(faults)")
    await #expect {
      try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, call, _) = error else { return false }
      return true
    }
    // SQL may run at that point.
    let sql = step.replacing("%", with: "transform sql { UPDATE $Animal SET $Animal.age = 5 }")
    try await lab.migrate(sql)
    #expect(try lab.isSound())
  }

  @Test func `a loss that two parts of a step have is listed once`() async throws {
    let step = "drop relationship Tag.animals\nrequire \"x\" { SELECT 1 }\ndrop relationship Animal.tags"
    let losses = try lab.set([Self.base, step]).losses(ofStep: 2)
    #expect(Set(losses).count == losses.count && !losses.isEmpty, "\(losses)")
  }
}
