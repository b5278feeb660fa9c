// Merges of entities that share their tables with others: ids, references, children, losses and refusals.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct HierarchyMerges {
  // MARK: Within a table

  @Test func `a child that is merged into its parent keeps its ids`() async throws {
    let lab = try await HierarchyStore.lab()
    let step =
      "add attribute Person.pay int default 0\nmerge entity Employee into Person with Employee.salary -> Person.pay"
    #expect(
      try Set(lab.set([HierarchyStore.base, step]).losses(ofStep: 2)) == ["Employee.badge", "Employee.boss"])
    try await lab.migrate(step)
    #expect(
      try lab.rows("SELECT id, _entity, name, pay, level FROM Person ORDER BY id") == [
        [1, "Person", "Ann", 0, .null], [2, "Person", "Bob", 20, .null], [3, "Person", "Cid", 30, .null],
        [4, "Boss", "Dan", 40, 1], [5, "Guest", "Eve", 0, .null],
      ])
    #expect(
      try lab.rows("SELECT id, about_id, by_id FROM Note ORDER BY id") == [
        [1, 1, 2], [2, 5, 4], [3, 4, .null],
      ])
    #expect(try lab.rows("SELECT count(*) FROM Person_friends") == [[3]])
    let model = try lab.set([HierarchyStore.base, step]).model(at: 2)
    #expect(model.entity(named: "Boss")?.parent == "Person")
    // Its inverse `Employee.boss` has no counterpart in Person.
    #expect(model.entity(named: "Boss")?.relationships == [])
    #expect(model.entity(named: "Note")?.relationship(named: "by")?.destination == "Person")
    #expect(try lab.isWhole())
  }

  @Test func `a required to-one to a child that the merge removes does not prevent the merge`() async throws {
    let lab = try await HierarchyStore.lab()
    let step =
      "add relationship Employee.mentor -> Employee\n"
      + "transform sql { UPDATE $Employee SET $Employee.mentor = 4 WHERE _entity IN ('Employee', 'Boss') }\n"
      + "make Employee.mentor required\nmerge entity Employee into Person"
    try await lab.migrate(step)
    #expect(
      try lab.rows("SELECT _entity FROM Person ORDER BY id")
        == [["Person"], ["Person"], ["Person"], ["Boss"], ["Guest"]])
    #expect(try lab.isWhole())
  }

  @Test func `a merge refuses to overwrite an existing value`() async throws {
    let lab = try await HierarchyStore.lab()
    let number = try await lab.refusal("merge entity Boss into Person with Boss.level -> Person.name")
    #expect(
      number?.reason.contains("1 object of Boss has both level and name, which become one") == true,
      "\(String(describing: number))")
    let merge = "merge entity Guest into Person with Guest.host -> Person.name"
    let found = try await lab.refusal(merge)
    #expect(found?.reason.contains("1 object of Guest has both host and name, which become one") == true)
    try await lab.migrate(
      "transform sql { UPDATE $Guest SET $Guest.host = $Guest.name WHERE id = 5 }\n\(merge)")
    #expect(try lab.rows("SELECT _entity, name FROM Person WHERE id = 5") == [["Person", "Eve"]])
  }

  @Test func `merging siblings moves the rows, and nulls references that no longer fit`() async throws {
    let lab = try await HierarchyStore.lab()
    let step = "merge entity Boss into Guest with Boss.badge -> Guest.host"
    #expect(
      try Set(lab.set([HierarchyStore.base, step]).losses(ofStep: 2))
        == ["Boss.salary", "Boss.boss", "Boss.level", "Note.by"])
    try await lab.migrate(step)
    #expect(
      try lab.rows("SELECT id, _entity, name, salary, badge, boss_id, host FROM Person ORDER BY id") == [
        [1, "Person", "Ann", .null, .null, .null, .null], [2, "Employee", "Bob", 20, "b", 4, .null],
        [3, "Employee", "Cid", 30, .null, .null, .null], [4, "Guest", "Dan", .null, .null, .null, "d"],
        [5, "Guest", "Eve", .null, .null, .null, "Ann"],
      ])
    #expect(try lab.rows("SELECT id, by_id FROM Note ORDER BY id") == [[1, 2], [2, .null], [3, .null]])
    #expect(try lab.isWhole())
  }

  @Test func `a required value comes from a pair of the merge, and is refused where it is missing`()
    async throws
  {
    let lab = try await HierarchyStore.lab()
    let step = "merge entity Guest into Employee with Guest.age -> Employee.salary"
    let add = "add attribute Guest.age int optional\n"
    let found = try await lab.refusal(add + step)
    #expect(found?.reason.contains("1 object of Guest has no age, but Employee requires it") == true)
    #expect(found?.operation == step)
    try await lab.migrate("\(add)transform sql { UPDATE $Guest SET $Guest.age = 7 WHERE id = 5 }\n\(step)")
    #expect(try lab.rows("SELECT _entity, salary FROM Person WHERE id = 5") == [["Employee", 7]])
    #expect(try lab.isWhole())
  }

  // MARK: Across tables

  static let firms = """
    \(HierarchyStore.base)
    create entity Firm {
        attribute title string
        attribute size int16 optional
        relationship parent -> Firm
        relationship boss -> Boss
    }
    create entity Shop : Firm {
        attribute street string optional
    }
    create entity Deal {
        attribute n int
        relationship firm -> Firm required
        relationship shop -> Shop
        index (firm, n) unique
    }
    """
  static let firmRows =
    HierarchyStore.fill + [
      "INSERT INTO Firm(id, _entity, title, size, parent_id, boss_id, street) VALUES (1, 'Firm', 'Acme', 5, NULL, 4, NULL), (3, 'Shop', 'Sub', NULL, 1, NULL, 's')",
      "INSERT INTO Deal(id, n, firm_id, shop_id) VALUES (1, 1, 1, NULL), (2, 1, 3, 3)",
    ]

  @Test func `an entity with children can be merged into the table of another entity`() async throws {
    let lab = try await MigrationLab(Self.firms, fill: Self.firmRows)
    let step =
      "merge entity Firm into Employee with Firm.title -> Employee.name, Firm.size -> Employee.salary, Firm.boss -> Employee.boss"
    #expect(try Set(lab.set([Self.firms, step]).losses(ofStep: 2)) == ["Firm.parent"])
    let missing = try await lab.refusal(step)
    #expect(
      missing?.reason.contains("1 object of Firm would have no salary, which Employee requires") == true)
    try await lab.migrate("make Firm.size required filling 3\n\(step)")
    #expect(
      try lab.rows("SELECT id, _entity, name, salary, boss_id, street FROM Person WHERE id > 5") == [
        [6, "Employee", "Acme", 5, 4, .null], [8, "Shop", "Sub", 3, .null, "s"],
      ])
    #expect(try lab.rows("SELECT id, firm_id, shop_id FROM Deal") == [[1, 6, .null], [2, 8, 8]])
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Person'") == [[8]])
    let model = try lab.set([Self.firms, "make Firm.size required filling 3\n\(step)"]).model(at: 2)
    #expect(model.entity(named: "Shop")?.parent == "Employee")
    let deal = try #require(model.entity(named: "Deal"))
    #expect(
      deal.relationship(named: "firm")
        == RelationshipDescription(name: "firm", destination: "Employee", isRequired: true))
    #expect(deal.indexes == [IndexDescription(properties: ["firm", "n"], isUnique: true)])
    #expect(try lab.isWhole())
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name LIKE '\\_mig%' ESCAPE '\\'") == [[0]])
  }

  @Test func `merging a child into another table nulls references to it as its former parent`() async throws {
    let lab = try await MigrationLab(Self.firms, fill: Self.firmRows)
    let step = "merge entity Guest into Firm with Guest.name -> Firm.title"
    let losses = try lab.set([Self.firms, step]).losses(ofStep: 2)
    #expect(Set(losses) == ["Guest.host", "Note.about", "Person.friends"], "\(losses)")
    try await lab.migrate(step)
    #expect(
      try lab.rows("SELECT id, _entity, title FROM Firm ORDER BY id")
        == [[1, "Firm", "Acme"], [3, "Shop", "Sub"], [10, "Firm", "Eve"]])
    #expect(try lab.rows("SELECT id, about_id FROM Note ORDER BY id") == [[1, 1], [2, .null], [3, 4]])
    #expect(try lab.isWhole())
  }

  // MARK: Refusals

  @Test(arguments: [
    (
      "merge entity Person into Employee",
      "write: merge entity Employee into Person, then rename entity Person -> Employee"
    ),
    ("merge entity Employee into Employee", "cannot be merged into itself"),
    ("merge entity Guest into Employee", "Employee.salary is required, but no property of Guest becomes it"),
    (
      "merge entity Guest into Employee with Guest.name -> Employee.badge",
      "Guest and Employee both inherit name, which does not change; remove it from the list"
    ),
    (
      "merge entity Guest into Firm with Guest.friends -> Firm.parent",
      "Guest inherits Person.friends, whose links stay with Person; remove it from the list"
    ),
    (
      "merge entity Boss into Guest with Boss.boss -> Guest.host", "of another kind or has another target"
    ),
    (
      "add index Boss(salary, level)\nmerge entity Employee into Person",
      "the index Boss(salary, level) uses salary, which has no place in Person; drop the index first"
    ),
    (
      "create raw view Staff { SELECT $Person.id FROM $Person WHERE _entity = 'Guest' }\nmerge entity Guest into Person",
      "the view Staff compares with 'Guest'"
    ),
    (
      "create raw view Sites { SELECT $Shop.street FROM $Shop }\nmerge entity Firm into Person with Firm.title -> Person.name",
      "the view Sites uses $Shop"
    ),
    (
      "add attribute Boss.street string optional\nmerge entity Firm into Person with Firm.title -> Person.name",
      "street would share a column"
    ),
  ])
  func `a merge that does not fit the hierarchies is refused with the reason`(
    _ step: String, _ reason: String
  ) throws {
    let set = try DowngradeLab.set([Self.firms, step])
    for body in [{ _ = try set.model(at: 2) }, { _ = try set.losses(ofStep: 2) }] {
      #expect {
        try body()
      } throws: { error in
        guard case StoreError.migrationFailed(2, _, let operation, let found) = error else { return false }
        return step.hasSuffix(operation) && found.contains(reason)
      }
    }
  }

  @Test func `a merge refuses duplicates of a unique attribute in a hierarchy`() async throws {
    let lab = try await MigrationLab(
      Self.firms, fill: Self.firmRows)
    let found = try await lab.refusal(
      "make Firm.size required filling 3\nadd attribute Firm.label string default \"x\"\n"
        + "transform sql { UPDATE $Firm SET $Firm.title = 'b' WHERE id = 1 }\n"
        + "merge entity Firm into Employee with Firm.title -> Employee.badge, Firm.size -> Employee.salary, "
        + "Firm.label -> Employee.name")
    #expect(
      found?.reason.contains("Employee(badge)") == true && found?.reason.contains("more than once") == true,
      "\(String(describing: found))")
  }

  @Test func `the index of a child and the name history follow a merge`() async throws {
    let lab = try await HierarchyStore.lab()
    let step =
      "add attribute Person.pay int optional\nadd index Boss(salary, level)\n"
      + "merge entity Employee into Person with Employee.salary -> Person.pay"
    try await lab.migrate(step)
    let set = try lab.set([HierarchyStore.base, step])
    #expect(
      try set.model(at: 2).entity(named: "Boss")?.indexes == [IndexDescription(properties: ["pay", "level"])])
    #expect(try lab.isWhole())
    let trail = try NameHistory(set, from: 1, to: 2)
    #expect(trail.entities["Employee"] == nil && trail.entities["Boss"] == "Boss")
    #expect(trail.keptProperties(of: "Boss")["level"] == "level")
    let across = try NameHistory(
      lab.set([Self.firms, "merge entity Firm into Person with Firm.title -> Person.name"]), from: 1, to: 2)
    #expect(across.entities["Shop"] == nil)
  }
}
