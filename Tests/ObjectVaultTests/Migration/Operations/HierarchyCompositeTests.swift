// Composite operations on entities that share a table: whose rows they change, and what is refused.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct HierarchyComposites {
  // MARK: Attributes

  static let homes =
    "create entity Home {\n attribute street string optional\n}\nadd relationship Person.home -> Home\n"
  static let offices = """
    create entity Place {
        attribute size int default 7
    }
    create entity Office : Place {
        attribute desks int default 3
        relationship user -> Employee
    }
    add relationship Employee.office -> Office inverse Office.user on delete cascade

    """
  static let moves: [(step: String, query: String, rows: [[SQLValue]])] = [
    (
      homes
        + "transform sql { INSERT INTO $Home(id) VALUES (1); UPDATE $Person SET $Person.home = 1 WHERE id < 3 }\n"
        + "move attribute Employee.salary -> Home.pay by Employee.home",
      "SELECT p.id, h.pay FROM Person p LEFT JOIN Home h ON h.id = p.home_id ORDER BY p.id",
      [[1, 20], [2, 20], [3, 30], [4, 40], [5, .null]]
    ),
    (
      offices
        + "move attribute Employee.salary, Employee.badge -> Office.cost, Office.sign by Employee.office",
      "SELECT id, _entity, size, desks, cost, sign, user_id FROM Place ORDER BY id",
      [
        [2, "Office", 7, 3, 20, "b", 2], [3, "Office", 7, 3, 30, .null, 3], [4, "Office", 7, 3, 40, "d", 4],
      ]
    ),
    (
      "transform sql { UPDATE $Employee SET $Employee.badge = NULL WHERE id = 4 }\n"
        + "move attribute Employee.badge -> Boss.badge by Employee.boss",
      "SELECT badge FROM Person ORDER BY id", [[.null], [.null], [.null], ["b"], [.null]]
    ),
    (
      "move attribute Boss.level -> Employee.level by Employee.boss", "SELECT level FROM Person ORDER BY id",
      [[.null], [1], [.null], [.null], [.null]]
    ),
    (
      "make Note.text optional\ntransform sql { UPDATE $Note SET $Note.text = NULL WHERE id < 3 }\n"
        + "move attribute Note.text -> Employee.memo by Note.about",
      "SELECT memo FROM Person ORDER BY id", [[.null], [.null], [.null], ["c"], [.null]]
    ),
  ]

  @Test(arguments: moves.indices)
  func `attributes move along a to-one that an entity declares or inherits`(_ index: Int) async throws {
    let (step, query, rows) = Self.moves[index]
    let lab = try await HierarchyStore.lab()
    try await lab.migrate(step)
    #expect(try lab.rows(query) == rows)
    #expect(try lab.isWhole())
  }

  @Test func `a split of an entity with children is rolled back with all rows`() async throws {
    for part in [
      Self.homes + "move attribute Person.name -> Home.name by Person.home",
      Self.offices
        + "move attribute Employee.salary, Employee.badge -> Office.cost, Office.sign by Employee.office",
    ] {
      let lab = try await DowngradeLab([HierarchyStore.base, part], fill: HierarchyStore.fill)
      let before = try lab.image
      #expect(try lab.set.losses(ofStep: 2).isEmpty)
      try await lab.up()
      #expect(
        try await DowngradeLab([HierarchyStore.base, part], at: 2).image.physicalHash
          == lab.image.physicalHash)
      #expect(try await lab.down(1).takenBack == [2])
      #expect(try lab.image == before)
    }
  }

  @Test(arguments: [
    ("move attribute Employee.name -> Note.name by Note.by", "Employee inherits name; write Person.name"),
    (
      "move attribute Person.name -> Note.name by Note.by",
      "Note.by is not a to-one between Person and Note, which the move needs"
    ),
    (
      "move attribute Note.text -> Employee.memo by Note.about",
      "2 objects of Note have values, but their about is not an object of Employee"
    ),
    (
      "move attribute Employee.badge -> Boss.badge by Employee.boss",
      "1 object of Employee has no boss, and none can be created for them: Boss.name is required"
    ),
    ("move attribute Note.text -> Boss.host by Note.about", "Guest.host already exists"),
  ])
  func `a move that does not fit a hierarchy is refused with the reason`(_ step: String, _ reason: String)
    async throws
  {
    let lab = try await HierarchyStore.lab()
    let found = try await lab.refusal(step)?.reason ?? "nothing"
    #expect(found.contains(reason), "\(found)")
  }

  // MARK: Links

  static let records = """
    \(HierarchyStore.base)
    create entity Record {
        attribute made int default 1
    }
    create entity Membership : Record {
        attribute since int default 0
        relationship who -> Employee inverse Employee.memberships
        relationship what -> Note
    }
    create entity Honour : Membership {
        attribute rank int optional
    }
    add relationship Employee.memberships -> Membership many inverse Membership.who
    create entity Log {
        relationship about -> Record
    }
    """
  static let recordRows =
    HierarchyStore.fill + [
      "INSERT INTO Record(id, _entity, since, who_id, what_id, rank) VALUES "
        + "(1, 'Record', NULL, NULL, NULL, NULL), (2, 'Membership', 3, 2, 1, NULL), (5, 'Honour', 4, 4, 3, 9)",
      "INSERT INTO Log(id, about_id) VALUES (1, 1), (2, 2), (3, 5)",
    ]
  static let join = "make entity Membership a relationship Person.works -> Note inverse Note.workers"

  @Test func `objects of an entity and its children become links, and other rows of the table stay`()
    async throws
  {
    let lab = try await MigrationLab(Self.records, fill: Self.recordRows)
    #expect(
      try Set(lab.set([Self.records, Self.join]).losses(ofStep: 2)) == [
        "Membership.made", "Membership.since", "Honour", "Honour.rank", "Log.about",
      ])
    try await lab.migrate(Self.join)
    #expect(try lab.rows("SELECT Person_id, Note_id FROM Note_workers ORDER BY 1") == [[2, 1], [4, 3]])
    #expect(try lab.rows("SELECT * FROM Record") == [[1, 1, 1]])
    #expect(try lab.rows("SELECT about_id FROM Log ORDER BY id") == [[1], [.null], [.null]])
    #expect(try lab.isWhole())
    let set = try lab.set([Self.records, Self.join])
    guard case .none = try set.steps[1].rollback(from: set.model(at: 1)) else {
      Issue.record("it has a rollback")
      return
    }
  }

  @Test func `an inherited to-one can be an end of the links, and stays with its declaring entity`()
    async throws
  {
    let base = """
      \(HierarchyStore.base)
      create entity Record {
          relationship who -> Person inverse Person.records
      }
      create entity Membership : Record {
          relationship what -> Note
      }
      add relationship Person.records -> Record many ordered inverse Record.who
      """
    let lab = try await MigrationLab(
      base,
      fill: HierarchyStore.fill + [
        "INSERT INTO Record(id, _entity, who_id, what_id) VALUES (1, 'Record', 1, NULL), (2, 'Membership', 5, 2)"
      ])
    try await lab.migrate("make entity Membership a relationship Person.works -> Note")
    #expect(try lab.rows("SELECT Person_id, Note_id FROM Person_works") == [[5, 2]])
    #expect(try lab.rows("SELECT id, who_id FROM Record") == [[1, 1]])
    #expect(try lab.set([base]).model(at: 1).entity(named: "Person")?.relationship(named: "records") != nil)
    #expect(try lab.isWhole())
  }

  @Test(arguments: [
    (
      "add relationship Record.notes -> Note many\n\(join)",
      "Membership inherits Record.notes, which refers to many objects, but a link has only two ends; first "
        + "write: set parent of Membership to none"
    ),
    (
      "add relationship Honour.by -> Note\n\(join)",
      "Honour.by refers to another object, but a link has only two ends; drop it first"
    ),
    (
      "make entity Membership a relationship Boss.works -> Note",
      "Membership is not a link between Boss and Note"
    ),
    ("add relationship Log.best -> Honour\n\(join)", "Log.best still refers to it; drop it first"),
    (
      "transform sql { UPDATE $Membership SET $Membership.what = NULL WHERE id = 5 }\n\(join)",
      "1 object of Membership lacks one end of the link"
    ),
    (
      "make relationship Employee.friends an entity F (a, b)",
      "Employee inherits friends; write Person.friends"
    ),
  ])
  func `objects of a hierarchy that cannot become links are refused with the reason`(
    _ step: String, _ reason: String
  ) async throws {
    let lab = try await MigrationLab(Self.records, fill: Self.recordRows)
    let found = try await lab.refusal(step)?.reason ?? "nothing"
    #expect(found.contains(reason), "\(found)")
  }

  @Test(arguments: [
    "make relationship Person.friends an entity Friendship (a, b)",
    "make relationship Person.friends an entity Friendship (a, b) inverse Person.made, Person.met",
    "make relationship Boss.watched an entity Watch (who, whom)",
    "make relationship Employee.watchers an entity Watch (whom, who) inverse Employee.ins, Boss.outs",
  ])
  func `links of a hierarchy become objects, and become links again in a rollback`(_ step: String)
    async throws
  {
    let base = """
      \(HierarchyStore.base)
      add relationship Boss.watched -> Employee many inverse Employee.watchers
      add relationship Employee.watchers -> Boss many inverse Boss.watched
      """
    let lab = try await DowngradeLab(
      [base, step],
      fill: HierarchyStore.fill + ["INSERT INTO Boss_watched(Boss_id, Employee_id) VALUES (4, 2), (4, 4)"])
    let before = try lab.image
    #expect(try lab.set.losses(ofStep: 2).isEmpty)
    try await lab.up()
    let name = step.contains("Watch") ? "Watch" : "Friendship"
    #expect(try lab.rows("SELECT count(*) FROM \(name)") == (name == "Watch" ? [[2]] : [[3]]))
    #expect(try await DowngradeLab([base, step], at: 2).image.physicalHash == lab.image.physicalHash)
    #expect(try await lab.down(1).takenBack == [2])
    #expect(try lab.image == before)
  }
}
