// Operations on entities that share a table, with rows of all of them: which rows change, as SQL shows
// them.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// A store with a hierarchy of four: `Person`, its children `Employee` and `Guest`, and `Boss`, a child of
/// `Employee`.
enum HierarchyStore {
  static let base = """
    create entity Person {
        attribute name string
        relationship notes -> Note many inverse Note.about
        relationship friends -> Person many
    }
    create entity Employee : Person {
        attribute salary int
        attribute badge string optional unique
        relationship boss -> Boss inverse Boss.reports
    }
    create entity Boss : Employee {
        attribute level int optional
        relationship reports -> Employee many inverse Employee.boss
    }
    create entity Guest : Person {
        attribute host string optional
    }
    create entity Note {
        attribute text string
        relationship about -> Person inverse Person.notes
        relationship by -> Employee
    }
    """
  static let fill = [
    """
    INSERT INTO Person(id, _entity, name, salary, badge, boss_id, level, host) VALUES
    (1, 'Person', 'Ann', NULL, NULL, NULL, NULL, NULL), (2, 'Employee', 'Bob', 20, 'b', 4, NULL, NULL),
    (3, 'Employee', 'Cid', 30, NULL, NULL, NULL, NULL), (4, 'Boss', 'Dan', 40, 'd', NULL, 1, NULL),
    (5, 'Guest', 'Eve', NULL, NULL, NULL, NULL, 'Ann')
    """,
    "INSERT INTO Note(id, text, about_id, by_id) VALUES (1, 'a', 1, 2), (2, 'b', 5, 4), (3, 'c', 4, NULL)",
    "INSERT INTO Person_friends(Person_id, friends_id) VALUES (1, 5), (5, 2), (2, 3)",
  ]

  static func lab() async throws -> MigrationLab { try await MigrationLab(base, fill: fill) }
}

@Suite(.tags(.slow)) struct HierarchySteps {
  let lab: MigrationLab
  init() async throws { lab = try await HierarchyStore.lab() }

  @Test func `create entity with a parent has one canonical text`() throws {
    let step = try lab.set(["create entity B : A {\n}\ncreate entity C:A{\n}"]).steps[0]
    #expect(step.canonicalText == "create entity B : A {\n}\ncreate entity C : A {\n}")
    #expect(throws: StoreError.self) { try lab.set(["create entity B : {\n}"]) }
  }

  @Test func `a new store with a hierarchy passes all checks`() async throws {
    #expect(try lab.isSound())
    let connection = try lab.open()
    #expect(try StoreInfo(connection).valueFindings(connection).isEmpty)
    #expect(try StoreInfo(connection).referenceFindings(connection).isEmpty)
  }

  // MARK: Attributes

  @Test func `a new attribute of a child has its default in the child's rows and NULL in others`()
    async throws
  {
    try await lab.migrate(
      "add attribute Employee.grade int default 3\nadd attribute Guest.room string default \"x\"")
    #expect(
      try lab.rows("SELECT grade, room FROM Person ORDER BY id") == [
        [.null, .null], [3, .null], [3, .null], [3, .null], [.null, "x"],
      ])
    #expect(try lab.isSound())
  }

  @Test func `a new required attribute without a value is refused with the number of the child's rows`()
    async throws
  {
    let stopped = try await lab.refusal("add attribute Employee.grade int")
    #expect(stopped?.reason.contains("3 objects of Employee would have no grade") == true)
    #expect(stopped?.operation == "add attribute Employee.grade int")
    // A child without rows lacks no value.
    try await lab.migrate(
      "transform sql { DELETE FROM $Guest WHERE _entity = 'Guest'; DELETE FROM $Person.friends; UPDATE $Note SET $Note.about = NULL }\n"
        + "add attribute Guest.age int")
    #expect(try lab.isSound())
  }

  static let changes: [(String, String, [SQLValue])] = [
    ("make Employee.salary optional", "SELECT salary FROM Person ORDER BY id", [.null, 20, 30, 40, .null]),
    (
      "make Boss.level required filling 9", "SELECT level FROM Person ORDER BY id",
      [.null, .null, .null, 1, .null]
    ),
    (
      "make Guest.host required filling \"none\"", "SELECT host FROM Person ORDER BY id",
      [.null, .null, .null, .null, "Ann"]
    ),
    (
      "retype Employee.salary to string using (ifnull('n' || $Employee.salary, 'nothing'))",
      "SELECT salary FROM Person ORDER BY id", [.null, "n20", "n30", "n40", .null]
    ),
    (
      "retype Employee.salary to double using ($Employee.salary)", "SELECT salary FROM Person ORDER BY id",
      [.null, 20.0, 30.0, 40.0, .null]
    ),
    (
      "rename attribute Employee.salary -> wage", "SELECT wage FROM Person ORDER BY id",
      [.null, 20, 30, 40, .null]
    ),
    (
      "drop index Employee(badge)\nmake Employee.badge required filling \"none\"",
      "SELECT badge FROM Person ORDER BY id", [.null, "b", "none", "d", .null]
    ),
    ("drop attribute Employee.badge", "SELECT salary FROM Person ORDER BY id", [.null, 20, 30, 40, .null]),
    (
      "rename attribute Person.name -> called", "SELECT called FROM Person ORDER BY id",
      ["Ann", "Bob", "Cid", "Dan", "Eve"]
    ),
    (
      "set default of Employee.salary to 5", "SELECT salary FROM Person ORDER BY id",
      [.null, 20, 30, 40, .null]
    ),
  ]

  @Test(arguments: changes.indices)
  func `an operation on a hierarchy changes only the rows of its entity`(_ index: Int) async throws {
    let (step, query, expected) = Self.changes[index]
    try await lab.migrate(step)
    #expect(try lab.rows(query).map { $0[0] } == expected)
    #expect(try lab.isSound())
    let connection = try lab.open()
    #expect(try StoreInfo(connection).valueFindings(connection).isEmpty)
  }

  @Test func `a requirement of a child is checked only for the child's rows`() async throws {
    let stopped = try await lab.refusal("make Employee.badge required")
    #expect(stopped?.reason.hasSuffix("(row 3)") == true)
    try await lab.migrate("make Boss.level required")
    #expect(try lab.isSound())
  }

  @Test func `inherited properties change at their own entity, and names are unique in a hierarchy`()
    async throws
  {
    #expect(
      try await lab.refusal("rename attribute Employee.name -> called")?.reason
        == "Employee inherits name; write Person.name")
    #expect(
      try await lab.refusal("add attribute Guest.Salary int optional")?.reason.contains(
        "Employee.salary already exists")
        == true)
    #expect(
      try await lab.refusal("rename attribute Guest.host -> level")?.reason.contains(
        "Boss.level already exists")
        == true)
  }

  // MARK: Entities

  @Test func `creating the first child writes the parent's name into the parent's rows`() async throws {
    try await lab.migrate("create entity Long : Note {\n attribute pages int\n}")
    #expect(
      try lab.rows("SELECT id, _entity, pages FROM Note ORDER BY id") == [
        [1, "Note", .null], [2, "Note", .null], [3, "Note", .null],
      ])
    #expect(try lab.isSound())
  }

  @Test func `renaming entities changes the names in their rows, also in a cycle`() async throws {
    try await lab.migrate(
      "rename entity Guest -> Passing\nrename entity Boss -> Guest\nrename entity Passing -> Boss\n"
        + "rename entity Person -> Human")
    #expect(
      try lab.rows("SELECT id, _entity FROM Human ORDER BY id") == [
        [1, "Human"], [2, "Employee"], [3, "Employee"], [4, "Guest"], [5, "Boss"],
      ])
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Human'") == [[5]])
    #expect(try lab.isSound())
    let names = try lab.rows(
      "SELECT name FROM sqlite_master WHERE tbl_name = 'Human' AND type = 'index' ORDER BY 1")
    #expect(names == [["ix_Employee_boss"], ["ix_Human__entity"], ["ux_Employee_badge"]])
  }

  @Test func `dropping a child deletes its rows, and nulls references to them through its parent`()
    async throws
  {
    try await lab.migrate("drop entity Guest")
    #expect(try lab.rows("SELECT id FROM Person ORDER BY id") == [[1], [2], [3], [4]])
    #expect(try lab.rows("SELECT id, about_id FROM Note ORDER BY id") == [[1, 1], [2, .null], [3, 4]])
    #expect(try lab.rows("SELECT friends_id FROM Person_friends") == [[3]])
    #expect(try lab.isSound())
  }

  @Test func `an entity with children or with required references to it cannot be dropped`() async throws {
    #expect(
      try await lab.refusal("drop entity Employee")?.reason.contains("Boss inherits from it; drop Boss first")
        == true)
    let stopped = try await lab.refusal(
      "set delete rule of Person.notes to cascade\ntransform sql { UPDATE $Note SET $Note.about = 5 }\nmake Note.about required\ndrop entity Guest"
    )
    #expect(stopped?.reason.contains("3 objects of Note refer through about, which is required") == true)
    #expect(stopped?.operation == "drop entity Guest")
  }

  @Test func `dropping the last child removes the column with the names of entities`() async throws {
    try await lab.migrate(
      "drop relationship Employee.boss\ndrop relationship Boss.reports\ndrop entity Boss\n"
        + "drop relationship Note.by\ndrop entity Employee\ndrop entity Guest")
    #expect(try lab.rows("PRAGMA table_info(Person)").map { $0[1] } == ["id", "_version", "name"])
    #expect(try lab.rows("SELECT name FROM Person") == [["Ann"]])
    #expect(try lab.isSound())
  }

  // MARK: Relationships

  @Test func `a to-one to a child becomes to-many with its links`() async throws {
    try await lab.migrate("make Note.by many")
    #expect(try lab.rows("SELECT Note_id, Employee_id FROM Note_by ORDER BY 1") == [[1, 2], [2, 4]])
    #expect(try lab.isSound())
  }

  @Test func `a to-one of a child becomes many-to-many together with its inverse`() async throws {
    try await lab.migrate("make Employee.boss many")
    #expect(try lab.rows("SELECT Boss_id, Employee_id FROM Boss_reports") == [[4, 2]])
    #expect(try lab.isSound())
  }

  @Test func `a reference to a child must name a row of that child`() async throws {
    let stopped = try await lab.refusal("transform sql { UPDATE $Note SET $Note.by = 1 WHERE id = 1 }")
    #expect(stopped?.reason.contains("Note.by (row 1)") == true)
    let connection = try lab.open()
    try connection.execute(sql: "UPDATE Note SET by_id = 5 WHERE id = 1")
    #expect(
      try StoreInfo(connection).referenceFindings(connection) == [
        "1 reference of Note.by refers to Person 5, not to objects of the entity Employee; correct it"
      ])
  }

  @Test func `valueFindings reports foreign values, missing required values and unknown entities`() throws {
    let connection = try lab.open()
    try connection.execute(sql: "UPDATE Person SET salary = 3 WHERE id = 5")
    try connection.execute(sql: "UPDATE Person SET salary = NULL WHERE id = 4")
    try connection.execute(sql: "UPDATE Person SET _entity = 'Nobody' WHERE id = 1")
    #expect(
      try StoreInfo(connection).valueFindings(connection) == [
        "1 of 3 objects of Employee has no Employee.salary, which is required: row 4",
        "1 of 2 rows of other entities has a value in Employee.salary; set it to NULL, or correct _entity: row 5",
        "1 of 5 values of Person._entity is invalid (expected: name of Person or of an entity below it): row 1",
      ])
  }

  @Test func `rows inserted without an entity are of the root, and rows of a child must be complete`()
    async throws
  {
    let stopped = try await lab.refusal(
      "transform sql { INSERT INTO $Employee (name, _entity) VALUES ('Fay', 'Employee') }")
    #expect(stopped?.reason.contains("Employee.salary") == true)
    try await lab.migrate("transform sql { INSERT INTO $Person ($Person.name) VALUES ('Fay') }")
    #expect(try lab.rows("SELECT id, _entity FROM Person WHERE name = 'Fay'") == [[6, "Person"]])
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Person'") == [[6]])
    #expect(try lab.rows("SELECT count(*) FROM vault_ids WHERE entity = 'Employee'") == [[0]])
  }
}
