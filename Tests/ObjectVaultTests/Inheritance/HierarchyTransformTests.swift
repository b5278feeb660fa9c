// Functions of the app on the objects of an entity that shares its table, inside a step.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HierarchyTransforms {
  @Test func `a function is called with the objects of an entity and its subentities, and no others`()
    async throws
  {
    let step = """
      add attribute Employee.title string default ""
      transform swift title on Employee reads Person.name writes Employee.title batch 1
      """
    let titling = MigrationTransform.objects("title") { object, _ in
      object["title"] = "\(object.entityName) \(object["name"] as String)"
    }
    let lab = try await FunctionLab([HierarchyStore.base, step], [titling], fill: HierarchyStore.fill)
    #expect(try await lab.up().steps == [2])
    #expect(
      try lab.rows("SELECT id, title FROM Person WHERE title NOT NULL ORDER BY id")
        == [[2, "Employee Bob"], [3, "Employee Cid"], [4, "Boss Dan"]])
    #expect(try lab.isSound())
  }

  @Test func `a function can insert and delete objects of a hierarchy, and references stay valid`()
    async throws
  {
    let moving = MigrationTransform.objects("move") { object, context in
      if object["name"] as String == "Bob" {
        let boss = try context.insert(entity: "Boss") {
          ($0["name"], $0["salary"]) = ("New", 1)
        }
        object[toOne: "boss"] = boss
      } else if object.entityName == "Guest" {
        context.delete(object)
      }
    }
    let lab = try await FunctionLab(
      [HierarchyStore.base, "transform swift move on Person"], [moving], fill: HierarchyStore.fill)
    try await lab.up()
    #expect(
      try lab.rows("SELECT id, _entity, boss_id FROM Person ORDER BY id") == [
        [1, "Person", .null], [2, "Employee", 6], [3, "Employee", .null], [4, "Boss", .null],
        [6, "Boss", .null],
      ])
    #expect(try lab.rows("SELECT Person_id, friends_id FROM Person_friends") == [[2, 3]])
    #expect(try lab.rows("SELECT about_id FROM Note ORDER BY id") == [[1], [.null], [4]])
    #expect(try lab.isSound())
  }

  @Test func `a function may write a declared property in objects of subentities, too`() async throws {
    let writing = MigrationTransform.objects("f") { object, context in
      object["name"] = "\(object["name"] as String)!"
    }
    let lab = try await FunctionLab(
      [HierarchyStore.base, "transform swift f on Person writes Person.name"], [writing],
      fill: HierarchyStore.fill)
    try await lab.up()
    #expect(try lab.rows("SELECT count(*) FROM Person WHERE name LIKE '%!'") == [[5]])
  }
}
