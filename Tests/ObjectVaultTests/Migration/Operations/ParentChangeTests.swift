// `set parent of E to …`: rows move to another table, get a table of their own, or stay with other values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ParentChanges {
  /// `Person` beside a hierarchy of `Employee` and its child `Boss`, with all kinds of relationships to
  /// these.
  static let apart = """
    create entity Person {
        attribute name string
        attribute code int default 7
        relationship friend -> Person
    }
    create entity Employee {
        attribute name string indexed
        attribute salary int
        attribute badge string optional unique
        relationship boss -> Boss inverse Boss.reports
        relationship tags -> Tag many inverse Tag.employees
        index (name, salary)
    }
    create entity Boss : Employee {
        attribute level int optional
        relationship reports -> Employee many ordered inverse Employee.boss
    }
    create entity Tag {
        attribute text string
        relationship employees -> Employee many ordered inverse Employee.tags
    }
    create entity Note {
        relationship by -> Employee required
        relationship about -> Boss
    }
    """
  static let fillApart = [
    "INSERT INTO Person(id, name, friend_id) VALUES (1, 'Ann', 9), (9, 'Zoe', NULL)",
    "DELETE FROM Person WHERE id = 9",
    "UPDATE Person SET friend_id = NULL",
    """
    INSERT INTO Employee(id, _version, _entity, name, salary, badge, boss_id, _boss_position, level) VALUES
    (1, 4, 'Employee', 'Bob', 20, 'b', 3, 2, NULL), (2, 1, 'Employee', 'Cid', 30, NULL, 3, 1, NULL),
    (3, 1, 'Boss', 'Dan', 40, 'd', NULL, NULL, 1)
    """,
    "INSERT INTO Tag(id, text) VALUES (1, 'x'), (2, 'y')",
    "INSERT INTO Employee_tags(Employee_id, Tag_id, Tag_employees_position) VALUES (1, 1, 2), (3, 1, 1), (2, 2, 1)",
    "INSERT INTO Note(id, by_id, about_id) VALUES (1, 1, 3), (2, 3, NULL)",
    "INSERT OR REPLACE INTO vault_ids(entity, last) VALUES ('Person', 9), ('Employee', 3)",
  ]

  private static func apartLab() async throws -> MigrationLab {
    try await MigrationLab(apart, fill: fillApart)
  }

  // MARK: Into another table

  @Test func `a root moves to another table above that table's last id, and references follow`() async throws
  {
    let lab = try await Self.apartLab()
    try await lab.migrate("set parent of Employee to Person")
    #expect(
      try lab.rows(
        "SELECT id, _version, _entity, name, code, salary, badge, boss_id, _boss_position, level FROM Person ORDER BY id"
      )
        == [
          [1, 1, "Person", "Ann", 7, .null, .null, .null, .null, .null],
          [10, 4, "Employee", "Bob", 7, 20, "b", 12, 2, .null],
          [11, 1, "Employee", "Cid", 7, 30, .null, 12, 1, .null],
          [12, 1, "Boss", "Dan", 7, 40, "d", .null, .null, 1],
        ])
    #expect(
      try lab.rows("SELECT Employee_id, Tag_id, Tag_employees_position FROM Employee_tags ORDER BY 1")
        == [[10, 1, 2], [11, 2, 1], [12, 1, 1]])
    #expect(try lab.rows("SELECT by_id, about_id FROM Note ORDER BY id") == [[10, 12], [12, .null]])
    #expect(try lab.rows("SELECT name FROM sqlite_master WHERE name IN ('Employee', '_mig-moved')") == [])
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Person'") == [[12]])
    #expect(try lab.isWhole())
  }

  @Test func `an entity without rows takes its ids along to the table of its parent`() async throws {
    let lab = try await MigrationLab(
      Self.apart,
      fill: ["INSERT OR REPLACE INTO vault_ids(entity, last) VALUES ('Person', 9), ('Employee', 30)"])
    try await lab.migrate("set parent of Employee to Person")
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Person'") == [[30]])
  }

  @Test func `set parent refuses missing required values, different types and cycles`() async throws {
    let lab = try await Self.apartLab()
    let missing = try await lab.refusal(
      "add attribute Person.town string default \"x\"\nset default of Person.town to none\nset parent of Employee to Person"
    )
    #expect(
      missing?.reason.contains("3 objects of Employee would have no town, which Person requires") == true)
    #expect(missing?.operation == "set parent of Employee to Person")
    let type = try await lab.refusal(
      "retype Employee.name to int using (length($Employee.name))\nset parent of Employee to Person")
    #expect(type?.reason.contains("Employee.name is int and Person.name is string") == true)
    let circle = try await lab.refusal("set parent of Employee to Boss")
    #expect(circle?.reason.contains("Boss inherits from Employee; first give Boss another parent") == true)
    #expect(
      try await lab.refusal("set parent of Boss to Person")?.reason.contains("set parent of Boss to none")
        == true)
    #expect(try await lab.refusal("set parent of Tag to none")?.reason == "Tag has no parent")
  }

  @Test func `a view of rows that move must be dropped first`() async throws {
    let lab = try await Self.apartLab()
    let stopped = try await lab.refusal(
      "create raw view Rich { SELECT $Employee.id FROM $Employee }\nset parent of Employee to Person")
    #expect(stopped?.reason.contains("the view Rich uses $Employee") == true)
  }

  @Test func `triggers do not fire for rows that move, and still exist afterwards`() async throws {
    let lab = try await Self.apartLab()
    try await lab.migrate(
      "create raw trigger Log { AFTER INSERT ON $Person BEGIN UPDATE $Tag SET $Tag.text = NEW.$Person.name; END }\n"
        + "set parent of Employee to Person")
    #expect(try lab.rows("SELECT text FROM Tag ORDER BY id") == [["x"], ["y"]])
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name = 'Log'") == [[1]])
    #expect(try lab.isWhole())
  }

  // MARK: Out of a table

  @Test func `an entity gets a table of its own with its ids and the values that it inherited`() async throws
  {
    let lab = try await MigrationLab(
      HierarchyStore.base,
      fill: HierarchyStore.fill + ["UPDATE Note SET by_id = 4, about_id = 2 WHERE id = 3"])
    #expect(
      try lab.set([HierarchyStore.base, "set parent of Employee to none"]).losses(ofStep: 2)
        == ["Note.about", "Person.friends"])
    try await lab.migrate("set parent of Employee to none")
    #expect(
      try lab.rows("SELECT id, _entity, name, salary, badge, boss_id, level FROM Employee ORDER BY id") == [
        [2, "Employee", "Bob", 20, "b", 4, .null], [3, "Employee", "Cid", 30, .null, .null, .null],
        [4, "Boss", "Dan", 40, "d", .null, 1],
      ])
    #expect(
      try lab.rows("SELECT id, _entity, name, host FROM Person ORDER BY id") == [
        [1, "Person", "Ann", .null], [5, "Guest", "Eve", "Ann"],
      ])
    // References to them as persons become null. References to them as employees follow.
    #expect(try lab.rows("SELECT about_id, by_id FROM Note ORDER BY id") == [[1, 2], [5, 4], [.null, 4]])
    #expect(try lab.rows("SELECT Person_id, friends_id FROM Person_friends") == [[1, 5]])
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Employee'") == [[5]])
    #expect(try lab.isWhole())
  }

  @Test func `moving the last child out of a table removes the column with the names of entities`()
    async throws
  {
    let lab = try await MigrationLab(
      "create entity P {\n attribute a int\n relationship up -> P\n}\ncreate entity Q : P {\n attribute b int indexed\n}",
      fill: [
        "INSERT INTO P(id, _entity, a, b, up_id) VALUES (1, 'P', 1, NULL, NULL), (2, 'Q', 2, 3, 1), (3, 'Q', 4, 5, 2)"
      ])
    try await lab.migrate("set parent of Q to none")
    #expect(try lab.rows("SELECT id, a, b, up_id FROM Q ORDER BY id") == [[2, 2, 3, 1], [3, 4, 5, .null]])
    #expect(try lab.rows("PRAGMA table_info(P)").map { $0[1] } == ["id", "_version", "a", "up_id"])
    #expect(try lab.rows("SELECT id, a FROM P") == [[1, 1]])
    #expect(try lab.isWhole())
  }

  // MARK: Within the table

  @Test func `a child that moves within its table loses values that it no longer inherits`() async throws {
    let lab = try await HierarchyStore.lab()
    try await lab.migrate("add attribute Guest.room int default 3\nset parent of Boss to Guest")
    #expect(
      try lab.rows("SELECT id, _entity, salary, badge, level, room FROM Person WHERE id > 2 ORDER BY id") == [
        [3, "Employee", 30, .null, .null, .null], [4, "Boss", .null, .null, 1, 3],
        [5, "Guest", .null, .null, .null, 3],
      ])
    #expect(try lab.rows("SELECT by_id FROM Note ORDER BY id") == [[2], [.null], [.null]])
    #expect(
      try lab.set([HierarchyStore.base, "set parent of Boss to Guest"]).losses(ofStep: 2)
        == ["Boss.salary", "Boss.badge", "Boss.boss", "Note.by"])
    #expect(try lab.isWhole())
  }

  @Test func `an entity can be put between two others, and a rollback removes it`() async throws {
    let lab = try await HierarchyStore.lab()
    let between =
      "create entity Member : Person {\n attribute since int default 1\n}\nset parent of Employee to Member"
    let set = try lab.set([HierarchyStore.base, between])
    #expect(
      try set.steps[1].rollback(from: set.model(at: 1))
        == .operations([.setParent("Employee", to: "Person"), .dropEntity("Member")]))
    try await lab.migrate(between)
    #expect(try lab.rows("SELECT since FROM Person ORDER BY id") == [[.null], [1], [1], [1], [.null]])
    #expect(try lab.isWhole())
  }

  // MARK: Ids

  @Test func `a created store issues the ids of a store that ran the steps one by one`() async throws {
    let steps = [
      """
      create entity Person {
          attribute name string
      }
      create entity Employee {
          attribute name string
      }
      seed {
          INSERT INTO $Person($Person.name) VALUES ('Ann'), ('Bob'), ('Cid');
          INSERT INTO $Employee($Employee.name) VALUES ('Dan'), ('Eve')
      }
      """,
      "set parent of Employee to Person", "set parent of Employee to none",
      "seed { INSERT INTO $Person($Person.name) VALUES ('new') }",
      "transform sql { DELETE FROM $Employee WHERE $Employee.name = 'Eve' }",
      "seed { INSERT INTO $Employee($Employee.name) VALUES ('new') }",
    ]
    let (created, migrated) = (
      try await DowngradeLab(steps, at: steps.count), try await DowngradeLab(steps, at: 1)
    )
    for version in 2...steps.count { try await migrated.up(version) }
    let together = try await DowngradeLab(steps, at: 1)
    try await together.up()
    // The ids of the employees were issued among persons for a while.
    #expect(try migrated.rows("SELECT id FROM Person ORDER BY id") == [[1], [2], [3], [6]])
    #expect(try migrated.rows("SELECT id, name FROM Employee ORDER BY id") == [[4, "Dan"], [6, "new"]])
    for lab in [created, together] {
      for query in [
        "SELECT id, name FROM Person ORDER BY id", "SELECT id, name FROM Employee ORDER BY id",
        "SELECT entity, last FROM vault_ids ORDER BY entity",
      ] { #expect(try lab.rows(query) == migrated.rows(query), "\(query)") }
    }
  }
}
