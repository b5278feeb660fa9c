// Rows of entities that share a table: ids that are not issued again, checks of rows, references to rows,
// and raw SQL that names entities.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HierarchyRows {
  private static let pair = """
    create entity Person {
        attribute name string optional
    }
    create entity Employee {
        attribute salary int optional
    }
    """
  private static let child = "create entity Employee : Person {\n attribute salary int optional\n}"

  // MARK: Ids

  @Test func `rows that move to another table get ids that their own entity never issued either`()
    async throws
  {
    let lab = try await MigrationLab(
      Self.pair,
      fill: [
        "INSERT INTO Person(id) VALUES (1), (4)", "INSERT INTO Employee(id, salary) VALUES (1, 1), (5, 5)",
        "INSERT OR REPLACE INTO vault_ids(entity, last) VALUES ('Person', 4), ('Employee', 9)",
      ])
    try await lab.migrate("set parent of Employee to Person")
    #expect(
      try lab.rows("SELECT id, salary FROM Person ORDER BY id")
        == [[1, .null], [4, .null], [10, 1], [14, 5]])
    #expect(try lab.isSound())
  }

  @Test func `a root's name that is used again for a child issues ids above those of both`() async throws {
    let lab = try await MigrationLab(
      Self.pair,
      fill: ["INSERT OR REPLACE INTO vault_ids(entity, last) VALUES ('Person', 4), ('Employee', 100)"])
    try await lab.migrate(
      "drop entity Employee\n\(Self.child)\n"
        + "transform sql { INSERT INTO $Employee (_entity, $Employee.salary) VALUES ('Employee', 1) }")
    #expect(try lab.rows("SELECT id FROM Person") == [[101]])
  }

  @Test(arguments: [
    "drop entity Employee", "rename entity Employee -> Worker",
  ])
  func `a child's name that is used again for a root issues ids above those of both`(_ end: String)
    async throws
  {
    let lab = try await MigrationLab(
      "create entity Person {\n attribute name string optional\n}\n\(Self.child)",
      fill: [
        "INSERT INTO Person(id, _entity, salary) VALUES (7, 'Employee', 1)",
        "INSERT OR REPLACE INTO vault_ids(entity, last) VALUES ('Person', 7)",
      ])
    try await lab.migrate(
      "\(end)\ncreate entity Employee {\n attribute level int\n}\n"
        + "transform sql { INSERT INTO $Employee ($Employee.level) VALUES (1) }")
    #expect(try lab.rows("SELECT id FROM Employee") == [[8]])
  }

  // MARK: Checks

  @Test func `a row that SQL turns into another entity is checked against that entity`() async throws {
    let lab = try await HierarchyStore.lab()
    let missing = try await lab.refusal("transform sql { UPDATE $Person SET _entity = 'Boss' WHERE id = 1 }")
    #expect(missing?.reason.contains("has no Employee.salary, which is required: row 1") == true)
    let foreign = try await lab.refusal(
      "transform sql { UPDATE $Person SET _entity = 'Person' WHERE id = 3 }")
    #expect(foreign?.reason.contains("rows of other entities has a value in Employee.salary") == true)
  }

  @Test func `rows of a dropped child are not checked by later operations of the step`() async throws {
    let lab = try await MigrationLab(
      "create entity Person {\n attribute mail string optional\n}\n\(Self.child)",
      fill: ["INSERT INTO Person(id, _entity, mail) VALUES (1, 'Person', 'x'), (2, 'Employee', NULL)"])
    let set = try lab.set([
      "create entity Person {\n attribute mail string optional\n}\n\(Self.child)",
      "drop entity Employee\nmake Person.mail required",
    ])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.refusals.isEmpty)
    try await lab.migrate("drop entity Employee\nmake Person.mail required")
    #expect(try lab.rows("SELECT id, mail FROM Person") == [[1, "x"]])
    #expect(try lab.isSound())
  }

  @Test func `duplicates of an inherited unique attribute are refused before rows move`() async throws {
    let lab = try await MigrationLab(
      """
      create entity Person {
          attribute mail string optional unique
      }
      create entity Employee {
          attribute mail string optional
      }
      """,
      fill: [
        "INSERT INTO Person(id, mail) VALUES (1, 'x'), (2, NULL)",
        "INSERT INTO Employee(id, mail) VALUES (1, 'x'), (2, NULL), (3, NULL), (4, 'y'), (5, 'y')",
      ])
    let stopped = try await lab.refusal("set parent of Employee to Person")
    #expect(stopped?.reason.contains("2 values of Person(mail) would occur more than once") == true)
    try await lab.migrate(
      "transform sql { UPDATE $Employee SET $Employee.mail = id || $Employee.mail }\nset parent of Employee to Person"
    )
    #expect(try lab.rows("SELECT count(DISTINCT mail) FROM Person") == [[4]])
    #expect(try lab.isSound())
  }

  // MARK: References

  @Test func `a move works in a model with a hierarchy, after a data block of the same step`() async throws {
    let plain =
      "create entity User {\n attribute city string optional\n relationship home -> Home\n}\n"
      + "create entity Home {\n attribute name string optional\n}"
    let lab = try await MigrationLab(
      "\(HierarchyStore.base)\n\(plain)",
      fill: HierarchyStore.fill + ["INSERT INTO User(id, city) VALUES (1, 'Bonn')"])
    try await lab.migrate(
      "transform sql { UPDATE $User SET $User.city = 'Köln' }\nmove attribute User.city -> Home.city by User.home"
    )
    #expect(try lab.rows("SELECT city FROM Home") == [["Köln"]])
    #expect(try lab.isSound())
  }

  @Test func `a merge redirects references of a child in another table`() async throws {
    let lab = try await MigrationLab(
      """
      create entity Person {
          attribute name string optional
      }
      create entity Employee : Person {
          relationship team -> Team
      }
      create entity Team {
          attribute title string
      }
      create entity Group {
          attribute title string
      }
      """,
      fill: [
        "INSERT INTO Team(id, title) VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO \"Group\"(id, title) VALUES (1, 'c')",
        "INSERT INTO Person(id, _entity, team_id) VALUES (1, 'Person', NULL), (2, 'Employee', 2)",
      ])
    try await lab.migrate("merge entity Team into Group")
    #expect(
      try lab.rows("SELECT p.id, g.title FROM Person p JOIN \"Group\" g ON g.id = p.team_id") == [[2, "b"]])
    #expect(try lab.isSound())
  }

  @Test func `a trigger does not fire when set parent nulls references`() async throws {
    let lab = try await HierarchyStore.lab()
    try await lab.migrate(
      "create raw trigger Log { AFTER UPDATE ON $Note BEGIN UPDATE $Note SET $Note.text = 'seen'; END }\n"
        + "set parent of Guest to none")
    #expect(
      try lab.rows("SELECT text, about_id FROM Note ORDER BY id") == [["a", 1], ["b", .null], ["c", 4]])
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name = 'Log'") == [[1]])
    #expect(try lab.isSound())
  }

  @Test func `references to a dropped child through its parent are listed as losses`() async throws {
    let lab = try await HierarchyStore.lab()
    #expect(
      try Set(lab.set([HierarchyStore.base, "drop entity Guest"]).losses(ofStep: 2))
        == ["Guest", "Person.friends", "Note.about"])
  }

  @Test func `positions in a relationship of the former parent are listed as losses of set parent`() throws {
    let base = """
      create entity Team {
          attribute name string
          relationship staff -> Person many ordered inverse Person.team on delete cascade
      }
      create entity Person {
          attribute name string
          relationship team -> Team inverse Team.staff
      }
      create entity Guest : Person {
          attribute host string optional
      }
      """
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "one", text: "format: 1\n[up]\n\(base)"),
      MigrationStep(number: 2, name: "two", text: "format: 1\n[up]\nset parent of Guest to none"),
    ])
    #expect(try set.losses(ofStep: 2).sorted() == ["Team.staff"])
  }

  @Test func `a raw object that names an entity must be dropped before that name changes its meaning`()
    async throws
  {
    let lab = try await HierarchyStore.lab()
    let view = "create raw view Staff { SELECT $Person.id FROM $Person WHERE _entity = 'Guest' }"
    for end in [
      "rename entity Guest -> Visitor", "drop entity Guest",
      "drop relationship Person.friends\nset parent of Guest to none",
    ] {
      let stopped = try await lab.refusal("\(view)\n\(end)")
      #expect(stopped?.reason.contains("the view Staff compares with 'Guest'") == true, "\(end)")
    }
    try await lab.migrate("\(view)\nrename entity Employee -> Worker")
    #expect(try lab.rows("SELECT id FROM Staff") == [[5]])
  }

  @Test func `a function that writes an inherited property has no rollback, with what is lost as reason`()
    throws
  {
    let steps = try ["Employee.name", "Employee.title"].map { place in
      try MigrationSet([
        MigrationStep(number: 1, name: "one", text: "format: 1\n[up]\n\(HierarchyStore.base)"),
        MigrationStep(
          number: 2, name: "two",
          text: "format: 1\n[up]\nadd attribute Employee.title string default \"\"\n"
            + "transform swift f on Employee writes \(place)"),
      ])
    }
    let ways = try steps.map { try $0.steps[1].rollback(from: $0.model(at: 1)) }
    guard case .none(let reason) = ways[0] else { return #expect(Bool(false), "\(ways[0])") }
    #expect(reason.contains("it overwrites values and does not keep them"))
    #expect(ways[1] == .operations([.dropAttribute("Employee", "title")]))
    #expect(try NameHistory(steps[0], from: 1, to: 2).keptProperties(of: "Boss")["name"] == nil)
    #expect(try NameHistory(steps[1], from: 1, to: 2).keptProperties(of: "Boss")["name"] == "name")
  }

  @Test func `the name history follows inherited properties to the entity's own table`() throws {
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "one", text: "format: 1\n[up]\n\(HierarchyStore.base)"),
      MigrationStep(number: 2, name: "two", text: "format: 1\n[up]\nset parent of Guest to none"),
      MigrationStep(number: 3, name: "three", text: "format: 1\n[up]\ndrop attribute Guest.name"),
    ])
    #expect(
      try NameHistory(set, from: 1, to: 2).keptProperties(of: "Guest") == ["name": "name", "host": "host"])
    #expect(try NameHistory(set, from: 1, to: 3).keptProperties(of: "Guest") == ["host": "host"])
  }
}
